// The server of known truth: streams answers shaped like vLLM's on a fixed schedule and writes down when each event was
// given to the kernel and when each request had arrived. What a client reports is then compared with that (README.md).
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stamp_file.h"

namespace {

using pawl::stamps::Kind;
using pawl::stamps::mono_ns;
using std::string;
using std::string_view;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::size_t kMaxRequest = 16 << 20;

struct Options {
  std::uint16_t port = 0;
  double ttft_ms = 200, itl_ms = 25;
  std::uint32_t default_tokens = 128;
  bool one_tick = false;  ///< all streams emit on one grid, as the steps of an engine do
  int core = -1;
  string truth, cert, key, label;
  std::uint32_t check_every = 0;
  std::uint64_t seed = 1;
};

volatile std::sig_atomic_t g_stop = 0;

[[noreturn]] void die(const string& what) {
  fmt::print(stderr, "stamp_server: {}{}{}\n", what, errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  std::exit(1);
}

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// One connection and the answer that it carries, if any.
struct Connection {
  int fd = -1;
  std::uint32_t number = 0;
  std::uint32_t generation = 0;  ///< raised when the answer ends or the peer leaves: older timers are void
  std::unique_ptr<SSL, SslFree> ssl;
  string in, out;  ///< bytes not yet understood; bytes that the socket did not take
  std::int64_t last_read_ns = 0;
  bool last_read_kernel = false, wants_out = false;

  bool busy = false, chat = false, usage = false, close_after = false, stream = true;
  std::uint32_t request = 0, tokens = 0, next = 0;
  std::size_t prompt_bytes = 0, patch_at = 0;
  string event;  ///< a whole chunk; the eight characters of its text are patched from event to event
};

struct Timer {
  std::int64_t due;
  Connection* connection;
  std::uint32_t generation;
  bool operator<(const Timer& other) const { return due > other.due; }
};

/// The value after `"key":` in a body, as text up to the next delimiter. The prompt is data: the last match is taken, since
/// clients put the prompt first.
string_view json_value(string_view body, string_view key) {
  const string quoted = fmt::format("\"{}\"", key);
  std::size_t at = body.rfind(quoted);
  if (at == string_view::npos) return {};
  at = body.find_first_not_of(": \t\r\n", at + quoted.size());
  if (at == string_view::npos) return {};
  return body.substr(at, body.find_first_of(",}] \r\n", at) - at);
}

/// A header's value; `name` in lower case.
string_view header_value(string_view head, string_view name) {
  for (std::size_t at = head.find("\r\n"); at != string_view::npos; at = head.find("\r\n", at + 2)) {
    const string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (!std::equal(name.begin(), name.end(), line.begin(), [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); })) continue;
    const std::size_t value = line.find_first_not_of(" \t", name.size() + 1);
    return value == string_view::npos ? string_view{} : line.substr(value);
  }
  return {};
}

class Server {
 public:
  explicit Server(Options options) : options_(std::move(options)), phases_(options_.seed), log_(4 << 20) {
    itl_ns_ = static_cast<std::int64_t>(options_.itl_ms * kMs);
    ttft_ns_ = static_cast<std::int64_t>(options_.ttft_ms * kMs);
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // Set before accept(): a connection's first request must not arrive before its stamps are switched on.
    int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    if (options_.check_every > 0) stamps |= SOF_TIMESTAMPING_OPT_TSONLY;
    if (::setsockopt(listener_, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) != 0) die("SO_TIMESTAMPING");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(options_.port);
    socklen_t length = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0) die(fmt::format("port {}", options_.port));
    if (::listen(listener_, 8192) != 0) die("listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
    if (!options_.cert.empty()) {
      tls_ = SSL_CTX_new(TLS_server_method());
      if (SSL_CTX_use_certificate_chain_file(tls_, options_.cert.c_str()) != 1 ||
          SSL_CTX_use_PrivateKey_file(tls_, options_.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        errno = 0;
        die(fmt::format("certificate {} with key {}", options_.cert, options_.key));
      }
    }
    fmt::print("listening on {}://127.0.0.1:{}\n", tls_ != nullptr ? "https" : "http", ntohs(address.sin_port));
    std::fflush(stdout);
  }

  void run() {
    std::array<epoll_event, 256> ready{};
    while (g_stop == 0) {
      std::int64_t now = mono_ns();
      wall_.refresh(now);
      while (!timers_.empty() && timers_.top().due <= now && g_stop == 0) {
        const Timer timer = timers_.top();
        timers_.pop();
        if (timer.generation == timer.connection->generation) emit(*timer.connection, timer.due);
        now = mono_ns();
      }
      const std::int64_t left = timers_.empty() ? 100 * kMs : std::clamp<std::int64_t>(timers_.top().due - now, 0, 100 * kMs);
      const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
      const int n = ::epoll_pwait2(epoll_, ready.data(), ready.size(), &limit, nullptr);
      for (int i = 0; i < n; ++i) {
        auto* connection = static_cast<Connection*>(ready[static_cast<std::size_t>(i)].data.ptr);
        const unsigned events = ready[static_cast<std::size_t>(i)].events;
        if (connection == nullptr) {
          accept_all();
          continue;
        }
        if ((events & EPOLLOUT) != 0 && connection->fd >= 0) flush(*connection);
        if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection->fd >= 0) read(*connection);
      }
    }
  }

  [[nodiscard]] bool write_truth() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    const string meta = fmt::format(
        R"({{"program":"stamp_server","label":"{}","ttft_ms":{},"itl_ms":{},"one_tick":{},"tls":{},"requests":{},"abandoned":{},"events":{},"queued_events":{},)"
        R"("user_stamped_arrivals":{},"peak_streams":{},"cpu_s":{:.3f},"late_us":{},"send_to_wire_us":{}}})",
        options_.label, options_.ttft_ms, options_.itl_ms, options_.one_tick, tls_ != nullptr, requests_, abandoned_, events_, queued_, user_arrivals_,
        peak_streams_, seconds(use.ru_utime) + seconds(use.ru_stime), quantiles(late_ns_), quantiles(wire_ns_));
    return log_.write(options_.truth, meta);
  }

 private:
  static string quantiles(std::vector<std::int64_t>& values) {
    if (values.empty()) return "null";
    std::ranges::sort(values);
    const auto at = [&](double p) { return static_cast<double>(values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * p)]) / 1000; };
    return fmt::format(R"({{"n":{},"p50":{:.2f},"p99":{:.2f},"max":{:.2f}}})", values.size(), at(0.5), at(0.99), at(1));
  }

  // ── connections ────────────────────────────────────────────────────────────────────────────────────────────────────
  void accept_all() {
    while (true) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      auto connection = std::make_unique<Connection>();
      connection->fd = fd;
      connection->number = static_cast<std::uint32_t>(connections_.size());
      if (tls_ != nullptr) {
        connection->ssl.reset(SSL_new(tls_));
        SSL_set_bio(connection->ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(connection->ssl.get());
      }
      epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      connections_.push_back(std::move(connection));
    }
  }

  void drop(Connection& c) {
    if (c.busy) {
      ++abandoned_;
      --streams_;
    }
    c.busy = false;
    ++c.generation;
    ::close(std::exchange(c.fd, -1));
    c.ssl.reset();
    c.in = c.out = string();
  }

  void read(Connection& c) {
    iovec part{buffer_.data(), buffer_.size()};
    alignas(cmsghdr) std::array<char, 256> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(c.fd, &message, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return drop(c);
    c.last_read_ns = mono_ns();
    c.last_read_kernel = false;
    for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
      if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPING) continue;
      scm_timestamping stamps{};
      std::memcpy(&stamps, CMSG_DATA(item), sizeof stamps);
      if (stamps.ts[0].tv_sec == 0) continue;
      c.last_read_ns = wall_(stamps.ts[0]);
      c.last_read_kernel = true;
    }
    const string_view bytes(buffer_.data(), static_cast<std::size_t>(n));
    if (!c.ssl) {
      c.in.append(bytes);
    } else if (!decrypt(c, bytes)) {
      return drop(c);
    }
    understand(c);
  }

  bool decrypt(Connection& c, string_view bytes) {
    BIO_write(SSL_get_rbio(c.ssl.get()), bytes.data(), static_cast<int>(bytes.size()));
    std::array<char, 16384> plain;
    int n = 0;
    while ((n = SSL_read(c.ssl.get(), plain.data(), static_cast<int>(plain.size()))) > 0) c.in.append(plain.data(), static_cast<std::size_t>(n));
    const int error = SSL_get_error(c.ssl.get(), n);
    string handshake;
    take_encrypted(c, handshake);
    if (!handshake.empty()) put(c, handshake);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  static void take_encrypted(Connection& c, string& into) {
    BIO* bio = SSL_get_wbio(c.ssl.get());
    const auto pending = static_cast<std::size_t>(BIO_pending(bio));
    if (pending == 0) return;
    const std::size_t before = into.size();
    into.resize(before + pending);
    BIO_read(bio, into.data() + before, static_cast<int>(pending));
  }

  // ── requests ───────────────────────────────────────────────────────────────────────────────────────────────────────
  void understand(Connection& c) {
    while (!c.busy && c.fd >= 0) {
      const std::size_t head_end = c.in.find("\r\n\r\n");
      if (head_end == string::npos) {
        if (c.in.size() > kMaxRequest) drop(c);
        return;
      }
      const string_view head = string_view(c.in).substr(0, head_end);
      std::size_t length = 0;
      if (const string_view text = header_value(head, "content-length"); !text.empty()) std::from_chars(text.data(), text.data() + text.size(), length);
      if (!header_value(head, "transfer-encoding").empty() || length > kMaxRequest) return drop(c);
      if (c.in.size() < head_end + 4 + length) return;
      answer(c, head, string_view(c.in).substr(head_end + 4, length));
      if (c.fd >= 0) c.in.erase(0, head_end + 4 + length);
    }
  }

  void answer(Connection& c, string_view head, string_view body) {
    const string_view line = head.substr(0, head.find("\r\n"));
    const string_view connection = header_value(head, "connection");
    c.close_after = connection == "close" || connection == "Close";
    c.chat = line.starts_with("POST /v1/chat/completions");
    if (!c.chat && !line.starts_with("POST /v1/completions")) {
      const bool models = line.find("/v1/models") != string_view::npos;
      const bool known = models || line.find("/health") != string_view::npos || line.find("/version") != string_view::npos;
      const string_view text =
          models ? R"({"object":"list","data":[{"id":"stamp","object":"model","created":0,"owned_by":"pawl","max_model_len":32768}]})" : "{}";
      transmit(c, fmt::format("HTTP/1.1 {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}", known ? "200 OK" : "404 Not Found", text.size(),
                              text));
      if (c.close_after && c.fd >= 0) drop(c);
      return;
    }
    c.request = requests_++;
    log_.add({.at_ns = c.last_read_ns,
              .request = c.request,
              .kind = Kind::kArrival,
              .flags = c.last_read_kernel ? std::uint16_t{0} : pawl::stamps::kUserStamp,
              .value = c.number});
    if (!c.last_read_kernel) ++user_arrivals_;
    if (const string_view id = header_value(head, "x-request-id"); !id.empty() && id.size() < 512) log_.add_name(c.request, id);

    string_view limit = json_value(body, "max_completion_tokens");
    if (limit.empty()) limit = json_value(body, "max_tokens");
    c.tokens = options_.default_tokens;
    if (!limit.empty()) std::from_chars(limit.data(), limit.data() + limit.size(), c.tokens);
    c.tokens = std::clamp<std::uint32_t>(c.tokens, 1, 10'000'000);
    c.stream = json_value(body, "stream").starts_with("true");
    c.usage = json_value(body, "include_usage").starts_with("true");
    c.prompt_bytes = body.size();
    c.next = 0;
    c.busy = true;
    peak_streams_ = std::max(peak_streams_, ++streams_);

    std::int64_t due = c.last_read_ns + ttft_ns_;
    if (options_.one_tick) {
      due = (due + itl_ns_ - 1) / itl_ns_ * itl_ns_;
    } else {
      due += static_cast<std::int64_t>(phases_() % static_cast<std::uint64_t>(std::max<std::int64_t>(itl_ns_, 1)));
    }
    if (c.stream) {
      transmit(c, "HTTP/1.1 200 OK\r\nserver: stamp\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
      prepare_event(c);
    } else {
      due += itl_ns_ * (c.tokens - 1);
    }
    if (c.fd >= 0) timers_.push({due, &c, c.generation});
  }

  [[nodiscard]] string chunk(const Connection& c, string_view text, string_view finish) const {
    string data;
    if (c.chat) {
      data = fmt::format(
          R"(data: {{"id":"chatcmpl-{:032x}","object":"chat.completion.chunk","created":1796050639,"model":"stamp","choices":[{{"index":0,"delta":{{"content":"{}"}},"logprobs":null,"finish_reason":{},"token_ids":null}}]}})"
          "\n\n",
          c.request, text, finish);
    } else {
      data = fmt::format(
          R"(data: {{"id":"cmpl-{:032x}","object":"text_completion","created":1796050639,"model":"stamp","choices":[{{"index":0,"text":"{}","logprobs":null,"finish_reason":{},"stop_reason":null}}],"usage":null}})"
          "\n\n",
          c.request, text, finish);
    }
    return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
  }

  /// The text of the first token names the request, so that a client that keeps texts can be joined with the truth.
  void prepare_event(Connection& c) const {
    c.event = chunk(c, fmt::format(" q{:06}", c.request % 1'000'000), "null");
    c.patch_at = c.event.find(" q") + 1;
  }

  // ── answers ────────────────────────────────────────────────────────────────────────────────────────────────────────
  void emit(Connection& c, std::int64_t due) {
    if (!c.stream) return emit_whole(c);
    if (c.next == 1) c.event[c.patch_at] = 'w';
    if (c.next > 0) {
      std::uint32_t rest = c.next;
      for (int digit = 6; digit > 0; --digit, rest /= 10) c.event[c.patch_at + static_cast<std::size_t>(digit)] = static_cast<char>('0' + rest % 10);
    }
    const bool last = c.next + 1 == c.tokens;
    if (last) c.event = chunk(c, c.event.substr(c.patch_at - 1, 8), R"("length")");
    pawl::stamps::Record record{.request = c.request, .event = c.next, .kind = Kind::kEvent};
    transmit(c, c.event, &record);
    log_.add(record);
    late_.push(late_ns_, record.at_ns - due);
    ++events_;
    ++c.next;
    if (c.fd < 0) return;
    if (!last) {
      timers_.push({due + itl_ns_, &c, c.generation});
      return;
    }
    string tail;
    if (c.usage) {
      const string usage = fmt::format(
          "data: {{\"id\":\"{}-{:032x}\",\"object\":\"{}\",\"created\":1796050639,\"model\":\"stamp\",\"choices\":[],\"usage\":{{\"prompt_tokens\":{},"
          "\"total_tokens\":{},\"completion_tokens\":{}}}}}\n\n",
          c.chat ? "chatcmpl" : "cmpl", c.request, c.chat ? "chat.completion.chunk" : "text_completion", kPromptTokens, kPromptTokens + c.tokens, c.tokens);
      tail = fmt::format("{:x}\r\n{}\r\n", usage.size(), usage);
    }
    tail += "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    finish(c, tail);
  }

  void emit_whole(Connection& c) {
    string text;
    for (std::uint32_t i = 0; i < c.tokens; ++i) text += i == 0 ? fmt::format(" q{:06}", c.request % 1'000'000) : fmt::format(" w{:06}", i);
    const string choice = c.chat ? fmt::format(R"("message":{{"role":"assistant","content":"{}"}})", text) : fmt::format(R"("text":"{}")", text);
    const string body = fmt::format(
        R"({{"id":"cmpl-{:032x}","object":"{}","created":1796050639,"model":"stamp","choices":[{{"index":0,{},"finish_reason":"length"}}],"usage":{{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{}}}}})",
        c.request, c.chat ? "chat.completion" : "text_completion", choice, kPromptTokens, kPromptTokens + c.tokens, c.tokens);
    finish(c, fmt::format("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}", body.size(), body));
  }

  void finish(Connection& c, string_view tail) {
    pawl::stamps::Record record{.request = c.request, .kind = Kind::kDone};
    transmit(c, tail, &record);
    log_.add(record);
    if (c.fd < 0) return;
    c.busy = false;
    ++c.generation;
    --streams_;
    if (c.close_after && c.out.empty()) return drop(c);
    understand(c);  // the next request may have been read meanwhile
  }

  void transmit(Connection& c, string_view plain, pawl::stamps::Record* record = nullptr) {
    if (!c.ssl) return put(c, plain, record);
    string encrypted;
    SSL_write(c.ssl.get(), plain.data(), static_cast<int>(plain.size()));
    take_encrypted(c, encrypted);
    put(c, encrypted, record);
  }

  /// Gives bytes to the kernel; with a record, stamps it right before. What the socket does not take goes out later.
  void put(Connection& c, string_view bytes, pawl::stamps::Record* record = nullptr) {
    const bool checked = record != nullptr && options_.check_every > 0 && events_ % options_.check_every == 0 && c.out.empty();
    if (record != nullptr) record->at_ns = mono_ns();
    ssize_t n = 0;
    if (c.out.empty()) n = checked ? send_checked(c, bytes, record->at_ns) : ::send(c.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return drop(c);
    const auto taken = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    if (taken == bytes.size()) return;
    if (record != nullptr) {
      record->flags |= pawl::stamps::kQueued;
      ++queued_;
    }
    c.out.append(bytes.substr(taken));
    watch_out(c, true);
  }

  /// The kernel's own stamp of the moment at which the segment left: how far the truth is from the wire.
  ssize_t send_checked(Connection& c, string_view bytes, std::int64_t stamp) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint32_t))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SO_TIMESTAMPING;
    item->cmsg_len = CMSG_LEN(sizeof(std::uint32_t));
    const std::uint32_t flags = SOF_TIMESTAMPING_TX_SOFTWARE;
    std::memcpy(CMSG_DATA(item), &flags, sizeof flags);
    const ssize_t n = ::sendmsg(c.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    const int error = errno;
    alignas(cmsghdr) std::array<char, 512> back{};
    msghdr reply{};
    reply.msg_control = back.data();
    reply.msg_controllen = back.size();
    if (n > 0 && ::recvmsg(c.fd, &reply, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
      for (cmsghdr* got = CMSG_FIRSTHDR(&reply); got != nullptr; got = CMSG_NXTHDR(&reply, got)) {
        if (got->cmsg_level != SOL_SOCKET || got->cmsg_type != SCM_TIMESTAMPING) continue;
        scm_timestamping stamps{};
        std::memcpy(&stamps, CMSG_DATA(got), sizeof stamps);
        if (stamps.ts[0].tv_sec != 0) wire_ns_.push_back(wall_(stamps.ts[0]) - stamp);
      }
    }
    errno = error;
    return n;
  }

  void flush(Connection& c) {
    const ssize_t n = ::send(c.fd, c.out.data(), c.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return drop(c);
    if (n > 0) c.out.erase(0, static_cast<std::size_t>(n));
    if (!c.out.empty()) return;
    if (c.close_after && !c.busy) return drop(c);
    watch_out(c, false);
  }

  void watch_out(Connection& c, bool on) {
    if (std::exchange(c.wants_out, on) == on) return;
    epoll_event event{.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = {.ptr = &c}};
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event);
  }

  /// Keeps one value in 16: the lateness of the schedule is a matter of interest, not of truth.
  struct Sampled {
    std::uint32_t seen = 0;
    void push(std::vector<std::int64_t>& into, std::int64_t value) {
      if (seen++ % 16 == 0) into.push_back(value);
    }
  };

  static constexpr std::uint32_t kPromptTokens = 32;

  Options options_;
  std::mt19937_64 phases_;
  pawl::stamps::Log log_;
  pawl::stamps::WallToMono wall_;
  std::int64_t itl_ns_ = 0, ttft_ns_ = 0;
  int epoll_ = -1, listener_ = -1;
  SSL_CTX* tls_ = nullptr;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< kept when closed: timers point at them
  std::priority_queue<Timer> timers_;
  std::array<char, 65536> buffer_{};
  std::uint32_t requests_ = 0, abandoned_ = 0, user_arrivals_ = 0, streams_ = 0, peak_streams_ = 0;
  std::uint64_t events_ = 0, queued_ = 0;
  Sampled late_;
  std::vector<std::int64_t> late_ns_, wire_ns_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Streams answers on a known schedule and writes down, for each event, when it was sent.\n\n"
      "  stamp_server --port 18080 --itl-ms 25 --truth a.stamps --core 0\n"
      "  stamp_server --itl-ms 25 --one-tick --truth b.stamps\n\n"
      "It serves POST /v1/completions and /v1/chat/completions on 127.0.0.1 until SIGTERM or SIGINT, then writes the file."};
  app.add_option("--port", options.port, "Port (default: a free one, printed)");
  app.add_option("--truth", options.truth, "File for the stamps")->required();
  app.add_option("--ttft-ms", options.ttft_ms, "From a request's arrival to its first token, before the phase")->capture_default_str();
  app.add_option("--itl-ms", options.itl_ms, "From token to token; the first is late by a random part of this")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  app.add_option("--tokens", options.default_tokens, "Tokens of a request that names no limit")->capture_default_str();
  app.add_flag("--one-tick", options.one_tick, "All streams emit at the same instants, as the steps of an engine do");
  app.add_option("--core", options.core, "CPU to stay on");
  app.add_option("--label", options.label, "Written into the file");
  app.add_option("--seed", options.seed, "Of the phases")->capture_default_str();
  app.add_option("--check-every", options.check_every, "Ask the kernel when every Nth event left: the truth's own error");
  auto* cert = app.add_option("--tls-cert", options.cert, "Certificate chain (PEM): serve TLS");
  app.add_option("--tls-key", options.key, "Its key")->needs(cert);
  CLI11_PARSE(app, argc, argv);

  if (options.core >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(options.core), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) die(fmt::format("--core {}", options.core));
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::prctl(PR_SET_TIMERSLACK, 1);  // wake at the due time, not up to 50 µs later
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = 1; };
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);

  errno = 0;
  Server server(std::move(options));
  server.run();
  if (!server.write_truth()) die("writing the truth file");
  return 0;
}
