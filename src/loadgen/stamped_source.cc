#include "loadgen/stamped_source.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/net_tstamp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <queue>
#include <thread>
#include <utility>

#include "base/text.h"
#include "loadgen/clock_map.h"
#include "loadgen/socket.h"

namespace pawl::loadgen {
namespace {

constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

std::string chunk(const std::string& event) { return fmt::format("{:x}\r\n{}\r\n", event.size(), event); }

/// The value after the last `key`, up to a delimiter.
std::string_view after(std::string_view text, std::string_view key) {
  const auto at = text.rfind(key);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + key.size());
  return trim(text.substr(0, text.find_first_of(",}\r\n")));
}

}  // namespace

class StampedSource::Loop {
 public:
  explicit Loop(const Options& options) : options_(options) {}

  Status listen() {
    listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    waker_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    // Set before accept(): the first request of a connection must not arrive before its stamps are switched on.
    const int on = 1, stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
    ::setsockopt(listener_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!listener_ || !epoll_ || !waker_ || ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_.get(), 4096) != 0 || ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return machine_error(fmt::format("cannot listen on 127.0.0.1: {}", std::strerror(errno)));
    }
    port_ = ntohs(address.sin_port);
    add(listener_.get(), &listener_);
    add(waker_.get(), &waker_);
    const std::string event =
        R"(data: {"id":"cmpl-calibrate","object":"text_completion","created":1796050000,"model":"calibrate","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null})"
        "\n\n";
    event_ = chunk(event);
    thread_ = std::thread([this] { run(); });
    return {};
  }

  [[nodiscard]] int port() const { return port_; }

  std::map<std::string, TrueTimes> stop() {
    stopping_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(waker_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
    return std::move(done_);
  }

 private:
  struct Connection {
    Descriptor socket;
    std::string in;
    std::string id;
    TrueTimes times;
    std::int64_t tokens = 0;
    bool busy = false;
  };
  struct Due {
    MonoTime at;
    Connection* connection;
    bool operator<(const Due& other) const { return other.at < at; }
  };

  void add(int fd, void* what) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = what;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  void run() {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    if (options_.core >= 0) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(options_.core), &set);
      ::sched_setaffinity(0, sizeof set, &set);
    }
    std::array<epoll_event, 256> ready;
    while (!stopping_) {
      clock_.refresh(mono_now());
      while (!due_.empty() && due_.top().at <= mono_now()) {
        const Due due = due_.top();
        due_.pop();
        emit(*due.connection, due.at);
      }
      const auto left = due_.empty() ? Nanos(Millis(100)) : std::max(Nanos(0), due_.top().at - mono_now());
      const timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
      const int n = ::epoll_pwait2(epoll_.get(), ready.data(), static_cast<int>(ready.size()), &timeout, nullptr);
      for (int i = 0; i < n; ++i) {
        void* what = ready[static_cast<std::size_t>(i)].data.ptr;
        if (what == &listener_) {
          take_all();
        } else if (what != &waker_) {
          read(*static_cast<Connection*>(what));
        }
      }
    }
  }

  void take_all() {
    for (;;) {
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) return;
      connections_.push_back(std::make_unique<Connection>());
      connections_.back()->socket = std::move(socket);
      add(connections_.back()->socket.get(), connections_.back().get());
    }
  }

  void read(Connection& c) {
    const Received got = receive(c.socket, buffer_);
    if (got.size < 0) return;
    if (got.size == 0) {
      c.socket.close();
      return;
    }
    c.in.append(buffer_.data(), static_cast<std::size_t>(got.size));
    const auto head = c.in.find("\r\n\r\n");
    if (c.busy || head == std::string::npos) return;
    const auto length = parse_int(after(std::string_view(c.in).substr(0, head), "Content-Length:"));
    if (c.in.size() < head + 4 + static_cast<std::size_t>(length.value_or(0))) return;
    c.id = after(std::string_view(c.in).substr(0, head), "X-Request-Id:");
    c.tokens = parse_int(after(std::string_view(c.in).substr(head), "\"max_tokens\":")).value_or(16);
    c.in.clear();
    c.busy = true;
    c.times = {got.kernel ? clock_.to_mono(*got.kernel) : got.user, {}};
    c.times.events.reserve(static_cast<std::size_t>(c.tokens));
    phase_ = phase_ * 6364136223846793005ull + 1442695040888963407ull;
    due_.push({c.times.arrived + options_.ttft +
                   Nanos(static_cast<std::int64_t>(static_cast<double>(options_.gap.count()) * static_cast<double>(phase_ >> 11) * 0x1p-53)),
               &c});
  }

  void emit(Connection& c, MonoTime planned) {
    if (!c.socket) return;
    const bool first = c.times.events.empty();
    out_.assign(first ? kHead : std::string_view{});
    out_ += event_;
    const bool last = static_cast<std::int64_t>(c.times.events.size()) + 1 >= c.tokens;
    c.times.events.push_back(mono_now());
    ::send(c.socket.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!last) {
      due_.push({planned + options_.gap, &c});
      return;
    }
    out_ = chunk(fmt::format(R"(data: {{"choices":[],"usage":{{"prompt_tokens":32,"completion_tokens":{}}}}})"
                             "\n\n",
                             c.tokens)) +
           chunk("data: [DONE]\n\n") + "0\r\n\r\n";
    ::send(c.socket.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    done_.emplace(std::move(c.id), std::move(c.times));
    c.busy = false;
  }

  Options options_;
  Descriptor listener_, epoll_, waker_;
  int port_ = 0;
  std::string event_, out_;
  std::vector<char> buffer_ = std::vector<char>(64 << 10);
  std::vector<std::unique_ptr<Connection>> connections_;
  std::priority_queue<Due> due_;
  std::map<std::string, TrueTimes> done_;
  std::uint64_t phase_ = 1;
  ClockMap clock_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

StampedSource::StampedSource(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
StampedSource::~StampedSource() {
  if (loop_) loop_->stop();
}

Result<std::unique_ptr<StampedSource>> StampedSource::start(const Options& options) {
  auto loop = std::make_unique<Loop>(options);
  PAWL_TRY(loop->listen());
  return std::unique_ptr<StampedSource>(new StampedSource(std::move(loop)));
}

std::string StampedSource::url() const { return fmt::format("http://127.0.0.1:{}", loop_->port()); }

std::map<std::string, TrueTimes> StampedSource::stop() { return loop_->stop(); }

}  // namespace pawl::loadgen
