#include "twin/front.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "http/port_owner.h"
#include "http/target.h"

namespace pawl::twin {
namespace {

namespace bh = boost::beast::http;
using Parser = bh::request_parser<bh::string_body>;

constexpr std::size_t kBodyMax = 64u << 20;
constexpr std::size_t kQueueMax = 64u << 20;

struct Connection {
  int fd = -1;
  std::uint32_t generation = 0;
  bool busy = false, begun = false, keep_alive = true, chunked = true, wants_out = false, continued = false, closing = false;
  std::string in, out;
  std::unique_ptr<Parser> parser;
};

class EpollFront final : public Front {
 public:
  EpollFront(const io::Clock& clock, int listener, std::uint16_t port) : clock_(clock), listener_(listener), port_(port) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    watch(wake_, EPOLLIN, kWake);
    watch(listener_, EPOLLIN, kListener);
  }
  ~EpollFront() override {
    for (Connection& c : connections_) {
      if (c.fd >= 0) ::close(c.fd);
    }
    for (const int fd : {listener_, wake_, epoll_}) ::close(fd);
  }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

  void poll(std::optional<MonoTime> until, FrontEvents& events) override {
    events_ = &events;
    timespec limit{};
    if (until) {
      const std::int64_t left = std::max<std::int64_t>(0, (*until - clock_.now()).count());
      limit = {left / 1'000'000'000, left % 1'000'000'000};
    }
    const int n = ::epoll_pwait2(epoll_, ready_.data(), static_cast<int>(ready_.size()), until ? &limit : nullptr, nullptr);
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = ready_[static_cast<std::size_t>(i)];
      if (event.data.u64 == kListener) {
        accept_all();
      } else if (event.data.u64 == kWake) {
        std::uint64_t count = 0;
        static_cast<void>(::read(wake_, &count, sizeof count));
      } else {
        const auto slot = static_cast<std::uint32_t>(event.data.u64);
        Connection& c = connections_[slot];
        if (c.fd < 0 || static_cast<std::uint32_t>(c.fd) != event.data.u64 >> 32) continue;
        if ((event.events & EPOLLOUT) != 0) flush(slot);
        if (connections_[slot].fd >= 0 && (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read(slot);
      }
    }
  }

  void wake() override {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one));
  }

  void answer(ExchangeId id, const http::Response& response) override {
    Connection* c = find(id);
    if (c == nullptr) return;
    std::string bytes = head(*c, response.status, response.fields);
    bytes += fmt::format("content-length: {}\r\n\r\n", response.body.size());
    bytes += response.body;
    if (put(id.slot, bytes)) done(id.slot);
  }

  void begin(ExchangeId id, int status, const http::Fields& fields) override {
    Connection* c = find(id);
    if (c == nullptr) return;
    if (!c->chunked) c->keep_alive = false;
    std::string bytes = head(*c, status, fields);
    bytes += c->chunked ? "transfer-encoding: chunked\r\n\r\n" : "\r\n";
    c->begun = true;
    put(id.slot, bytes);
  }

  bool chunk(ExchangeId id, std::string_view bytes) override {
    Connection* c = find(id);
    if (c == nullptr) return false;
    if (bytes.empty()) return true;
    if (!c->chunked) return put(id.slot, bytes);
    std::array<char, 16> length;
    const auto end = std::to_chars(length.data(), length.data() + length.size(), bytes.size(), 16);
    scratch_.assign(length.data(), end.ptr);
    scratch_ += "\r\n";
    scratch_ += bytes;
    scratch_ += "\r\n";
    return put(id.slot, scratch_);
  }

  void finish(ExchangeId id) override {
    Connection* c = find(id);
    if (c == nullptr) return;
    if (c->chunked && !put(id.slot, "0\r\n\r\n")) return;
    done(id.slot);
  }

  void raw(ExchangeId id, std::string_view bytes) override {
    if (find(id) != nullptr) put(id.slot, bytes);
  }
  void cut(ExchangeId id) override {
    if (find(id) != nullptr) close(id.slot, false);
  }
  void cut_all() override {
    for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) {
      if (connections_[slot].fd >= 0) close(slot, false);
    }
  }
  void listen(bool on) override {
    if (std::exchange(listening_, on) == on) return;
    if (on) {
      listener_ = reopen();
      if (listener_ >= 0) watch(listener_, EPOLLIN, kListener);
    } else {
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &address_length_);
      ::close(std::exchange(listener_, -1));
    }
  }

 private:
  static constexpr std::uint64_t kListener = ~std::uint64_t{0}, kWake = ~std::uint64_t{1};

  int reopen() {
    const int fd = ::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address_), address_length_) != 0 || ::listen(fd, 4096) != 0) {
      ::close(fd);
      return -1;
    }
    return fd;
  }

  void watch(int fd, std::uint32_t what, std::uint64_t data) {
    epoll_event event{};
    event.events = what;
    event.data.u64 = data;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  Connection* find(ExchangeId id) {
    if (id.slot >= connections_.size()) return nullptr;
    Connection& c = connections_[id.slot];
    return c.fd >= 0 && c.busy && c.generation == id.generation ? &c : nullptr;
  }

  void accept_all() {
    while (listening_) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) ::usleep(1000);  // a level-triggered listener would spin
        return;
      }
      std::uint32_t slot = 0;
      if (free_.empty()) {
        slot = static_cast<std::uint32_t>(connections_.size());
        connections_.emplace_back();
      } else {
        slot = free_.back();
        free_.pop_back();
      }
      Connection& c = connections_[slot];
      const std::uint32_t generation = c.generation + 1;
      c = Connection{};
      c.generation = generation;
      c.fd = fd;
      watch(fd, EPOLLIN, key(slot));
    }
  }

  [[nodiscard]] std::uint64_t key(std::uint32_t slot) const { return static_cast<std::uint64_t>(connections_[slot].fd) << 32 | slot; }

  void close(std::uint32_t slot, bool tell) {
    Connection& c = connections_[slot];
    const ExchangeId id{slot, c.generation};
    const bool busy = c.busy;
    ::close(std::exchange(c.fd, -1));
    ++c.generation;
    c.busy = false;
    c.in = c.out = std::string();
    c.parser.reset();
    free_.push_back(slot);
    if (busy && tell) events_->on_gone(id);
  }

  void read(std::uint32_t slot) {
    const ssize_t n = ::recv(connections_[slot].fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return close(slot, true);
    Connection& c = connections_[slot];
    if (c.closing) return;
    c.in.append(buffer_.data(), static_cast<std::size_t>(n));
    if (c.busy && c.in.size() > kBodyMax) return close(slot, true);
    understand(slot);
  }

  void understand(std::uint32_t slot) {
    while (connections_[slot].fd >= 0 && !connections_[slot].busy && !connections_[slot].closing && !connections_[slot].in.empty()) {
      Connection& c = connections_[slot];
      if (!c.parser) {
        c.parser = std::make_unique<Parser>();
        c.parser->eager(true);
        c.parser->body_limit(kBodyMax);
        c.parser->header_limit(64u << 10);
        c.continued = false;
      }
      boost::beast::error_code error;
      const std::size_t used = c.parser->put(boost::asio::buffer(c.in), error);
      c.in.erase(0, used);
      if (error && error != bh::error::need_more) return refuse(slot, error == bh::error::body_limit ? 413 : 400, error.message());
      if (!c.parser->is_done()) {
        if (c.parser->is_header_done() && !c.continued && boost::beast::iequals(c.parser->get()[bh::field::expect], "100-continue")) {
          c.continued = true;
          if (!put(slot, "HTTP/1.1 100 Continue\r\n\r\n")) return;
        }
        if (used == 0 || c.in.empty()) return;
        continue;
      }
      auto message = c.parser->release();
      c.parser.reset();
      c.keep_alive = message.keep_alive();
      c.chunked = message.version() >= 11;
      auto target = http::parse_target(std::string_view(message.target().data(), message.target().size()));
      if (!target) return refuse(slot, 400, target.error().message);
      http::Request request;
      request.method = message.method() == bh::verb::head ? "GET" : std::string(message.method_string());
      request.path = std::move(target->path);
      request.query = std::move(target->query);
      for (const auto& field : message) request.fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
      request.body = std::move(message.body());
      c.busy = true;
      c.begun = false;
      ++c.generation;
      events_->on_request({slot, c.generation}, std::move(request));
    }
  }

  void refuse(std::uint32_t slot, int status, const std::string& why) {
    Connection& c = connections_[slot];
    c.busy = true;
    c.keep_alive = false;
    answer({slot, ++c.generation}, {status, {{"content-type", "text/plain"}}, why + "\n"});
  }

  static std::string head(const Connection& c, int status, const http::Fields& fields) {
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, std::string(bh::obsolete_reason(bh::int_to_status(static_cast<unsigned>(status)))));
    for (const auto& [name, value] : fields) text += name + ": " + value + "\r\n";
    if (!c.keep_alive) text += "connection: close\r\n";
    return text;
  }

  /// False: the connection is gone.
  bool put(std::uint32_t slot, std::string_view bytes) {
    Connection& c = connections_[slot];
    if (c.out.empty()) {
      const ssize_t n = ::send(c.fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n == static_cast<ssize_t>(bytes.size())) return true;
      if (n < 0 && errno != EAGAIN && errno != EINTR) {
        close(slot, true);
        return false;
      }
      if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (c.out.size() + bytes.size() > kQueueMax) {
      close(slot, true);
      return false;
    }
    c.out += bytes;
    want_out(slot, true);
    return true;
  }

  void want_out(std::uint32_t slot, bool on) {
    Connection& c = connections_[slot];
    if (std::exchange(c.wants_out, on) == on) return;
    epoll_event event{};
    event.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = key(slot);
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event);
  }

  void flush(std::uint32_t slot) {
    Connection& c = connections_[slot];
    while (!c.out.empty()) {
      const ssize_t n = ::send(c.fd, c.out.data(), c.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n < 0) return close(slot, true);
      c.out.erase(0, static_cast<std::size_t>(n));
    }
    want_out(slot, false);
    if (c.closing) ::shutdown(c.fd, SHUT_WR);
  }

  /// The answer is complete.
  void done(std::uint32_t slot) {
    Connection& c = connections_[slot];
    c.busy = false;
    ++c.generation;
    if (!c.keep_alive) {
      // The peer closes when it has read all; what it still sends is dropped (closing at once could reset the answer away).
      c.closing = true;
      if (c.out.empty()) ::shutdown(c.fd, SHUT_WR);
      return;
    }
    if (!c.in.empty()) understand(slot);
  }

  const io::Clock& clock_;
  int epoll_ = -1, wake_ = -1, listener_ = -1;
  const std::uint16_t port_;
  bool listening_ = true;
  sockaddr_storage address_{};
  socklen_t address_length_ = sizeof(sockaddr_storage);
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> free_;
  std::array<epoll_event, 512> ready_{};
  std::array<char, 65536> buffer_{};
  std::string scratch_;
  FrontEvents* events_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Front>> Front::open(const std::string& host, std::uint16_t port, const io::Clock& clock) {
  sockaddr_storage address{};
  socklen_t length = 0;
  const std::string text = host == "localhost" ? "127.0.0.1" : host;
  if (auto* v4 = reinterpret_cast<sockaddr_in*>(&address); ::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    length = sizeof(sockaddr_in);
  } else if (auto* v6 = reinterpret_cast<sockaddr_in6*>(&address); ::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    length = sizeof(sockaddr_in6);
  } else {
    return bad_input(fmt::format("not an address to listen on: {}", host), "give an IP address such as 127.0.0.1");
  }
  const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return machine_error(fmt::format("a socket could not be opened: {}", std::strerror(errno)));
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(fd, 4096) != 0) {
    const int why = errno;
    ::close(fd);
    if (why == EADDRINUSE) {
      const auto owner = http::find_port_owner(port);
      return machine_error(
          fmt::format("port {} on {} is in use{}", port, host, owner ? fmt::format(" by PID {} ({})", owner->pid, owner->name) : std::string()),
          "end that process or choose another port");
    }
    return machine_error(fmt::format("cannot listen on port {} of {}: {}", port, host, std::strerror(why)));
  }
  sockaddr_storage bound{};
  socklen_t bound_length = sizeof bound;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_length);
  const std::uint16_t real =
      ntohs(bound.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(bound).sin_port : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
  return std::unique_ptr<Front>(std::make_unique<EpollFront>(clock, fd, real));
}

}  // namespace pawl::twin
