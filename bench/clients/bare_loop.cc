// The floor: what a client can cost at least. A bare epoll loop that keeps N requests in flight, finds the events in what it
// reads, stamps them and does nothing else: no JSON, no metrics, no failures handled (any oddity ends it).
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "stamp_file.h"

namespace {

using pawl::stamps::Kind;
using pawl::stamps::mono_ns;
using std::string;
using std::string_view;

struct Options {
  string host = "127.0.0.1", output;
  std::uint16_t port = 0;
  std::uint32_t streams = 1, requests = 1, tokens = 128;
  bool kernel = false;
  std::int64_t gather_us = 0;
  int core = -1;
};

struct Stream {
  int fd = -1;
  std::uint32_t number = 0, request = 0, blocks = 0;
  bool after_newline = false;  ///< the last read ended in a newline
};

[[noreturn]] void die(const string& what) {
  fmt::print(stderr, "bare_loop: {}{}{}\n", what, errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  std::exit(1);
}

class Loop {
 public:
  explicit Loop(const Options& options)
      : options_(options), log_(std::size_t{options.requests} * (options.tokens + 3)), streams_(options.streams), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::uint32_t i = 0; i < options.streams; ++i) connect(streams_[i], i);
    const string body =
        fmt::format(R"({{"model":"stamp","prompt":[{}],"max_tokens":{},"stream":true,"stream_options":{{"include_usage":true}},"ignore_eos":true}})", prompt(),
                    options.tokens);
    head_ = fmt::format("POST /v1/completions HTTP/1.1\r\nhost: {}:{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-request-id: ", options.host,
                        options.port, body.size());
    body_ = "\r\n\r\n" + body;
  }

  void run() {
    wall_.refresh(mono_ns());
    for (Stream& stream : streams_) {
      if (started_ < options_.requests) start(stream);
    }
    std::array<epoll_event, 1024> ready{};
    const timespec pause{0, options_.gather_us * 1000};
    while (finished_ < options_.requests) {
      // Gathering: sleep first, then read every socket that became ready meanwhile.
      if (options_.gather_us > 0) ::nanosleep(&pause, nullptr);
      const int n = ::epoll_wait(epoll_, ready.data(), ready.size(), options_.gather_us > 0 ? 0 : -1);
      wall_.refresh(mono_ns());
      for (int i = 0; i < n; ++i) read(*static_cast<Stream*>(ready[static_cast<std::size_t>(i)].data.ptr));
      ++wakeups_;
    }
  }

  void report() {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
    const double cpu = seconds(use.ru_utime) + seconds(use.ru_stime);
    const string meta = fmt::format(
        R"({{"program":"bare_loop","stamps":"{}","gather_us":{},"streams":{},"requests":{},"tokens":{},"events":{},"reads":{},"wakeups":{},"user_stamped":{},)"
        R"("cpu_s":{:.3f},"cpu_s_per_million_events":{:.2f},"rss_mb":{:.1f}}})",
        options_.kernel ? "kernel" : "user", options_.gather_us, options_.streams, options_.requests, options_.tokens, events_, reads_, wakeups_, user_stamped_,
        cpu, cpu / static_cast<double>(events_) * 1e6, static_cast<double>(use.ru_maxrss) / 1024);
    if (!options_.output.empty() && !log_.write(options_.output, meta)) die("writing the stamps");
    fmt::print("{}\n", meta);
  }

 private:
  static string prompt() {
    string out = "100";
    for (int i = 1; i < 32; ++i) out += fmt::format(",{}", 100 + i);
    return out;
  }

  void connect(Stream& stream, std::uint32_t number) {
    stream.number = number;
    stream.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (options_.kernel) {
      const int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
      if (::setsockopt(stream.fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) != 0) die("SO_TIMESTAMPING");
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    if (::inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr) != 1) die(options_.host);
    if (::connect(stream.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("connect");
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = &stream}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, stream.fd, &event);
  }

  void start(Stream& stream) {
    stream.request = started_++;
    stream.blocks = 0;
    stream.after_newline = false;
    const string bytes = head_ + fmt::format("{}", stream.request) + body_;
    log_.add({.at_ns = mono_ns(), .request = stream.request, .kind = Kind::kSend, .value = stream.number});
    if (::send(stream.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) die("send");
  }

  void read(Stream& stream) {
    while (true) {
      std::int64_t at = 0;
      const ssize_t n = receive(stream.fd, at);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) die(fmt::format("read of stream {}", stream.number));
      ++reads_;
      take(stream, {buffer_.data(), static_cast<std::size_t>(n)}, at);
      // A short read has emptied the socket: what arrives later is a new edge.
      if (static_cast<std::size_t>(n) < buffer_.size()) return;
    }
  }

  ssize_t receive(int fd, std::int64_t& at) {
    if (!options_.kernel) {
      const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      at = mono_ns();
      return n;
    }
    iovec part{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control_.data();
    message.msg_controllen = control_.size();
    const ssize_t n = ::recvmsg(fd, &message, MSG_DONTWAIT);
    for (cmsghdr* item = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr; item != nullptr; item = CMSG_NXTHDR(&message, item)) {
      if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPING) continue;
      scm_timestamping stamps{};
      std::memcpy(&stamps, CMSG_DATA(item), sizeof stamps);
      if (stamps.ts[0].tv_sec != 0) at = wall_(stamps.ts[0]);
    }
    if (at == 0) {
      at = mono_ns();
      user_stamped_ += n > 0 ? 1 : 0;
    }
    return n;
  }

  /// Each event ends in an empty line; after the tokens come the usage and [DONE].
  void take(Stream& stream, string_view bytes, std::int64_t at) {
    std::size_t from = 0;
    if (stream.after_newline && bytes.front() == '\n') {
      block(stream, at);
      from = 1;
    }
    for (std::size_t end = bytes.find("\n\n", from); end != string_view::npos; end = bytes.find("\n\n", end + 2)) block(stream, at);
    stream.after_newline = bytes.back() == '\n';
    if (stream.blocks < options_.tokens + 2) return;
    if (stream.blocks > options_.tokens + 2 || !bytes.ends_with("0\r\n\r\n")) die(fmt::format("unexpected end of request {}", stream.request));
    log_.add({.at_ns = at, .request = stream.request, .kind = Kind::kFinished});
    ++finished_;
    if (started_ < options_.requests) start(stream);
  }

  void block(Stream& stream, std::int64_t at) {
    if (stream.blocks < options_.tokens) {
      log_.add({.at_ns = at, .request = stream.request, .event = stream.blocks, .kind = Kind::kReceived});
      ++events_;
    }
    ++stream.blocks;
  }

  Options options_;
  pawl::stamps::Log log_;
  pawl::stamps::WallToMono wall_;
  std::vector<Stream> streams_;
  int epoll_;
  string head_, body_;
  std::array<char, 65536> buffer_{};
  alignas(cmsghdr) std::array<char, 256> control_{};
  std::uint32_t started_ = 0, finished_ = 0;
  std::uint64_t events_ = 0, reads_ = 0, wakeups_ = 0, user_stamped_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "The cheapest client there can be, for stamp_server: N requests in flight, events stamped, nothing else.\n\n"
      "  bare_loop --port 18080 --streams 256 --requests 2048 --tokens 128 --core 1\n"
      "  bare_loop --port 18080 --streams 256 --requests 2048 --stamps kernel --gather-us 1000 --output a.records"};
  string stamps = "user";
  app.add_option("--host", options.host, "IPv4 address")->capture_default_str();
  app.add_option("--port", options.port, "Port of the server")->required();
  app.add_option("--streams", options.streams, "Requests in flight")->capture_default_str();
  app.add_option("--requests", options.requests, "Requests in all")->capture_default_str();
  app.add_option("--tokens", options.tokens, "Tokens a request")->capture_default_str();
  app.add_option("--stamps", stamps, "user: the clock, read after the call; kernel: the receive stamp of the socket")
      ->check(CLI::IsMember({"user", "kernel"}))
      ->capture_default_str();
  app.add_option("--gather-us", options.gather_us, "Sleep so long between looks at the sockets")->check(CLI::Range(0, 900'000))->capture_default_str();
  app.add_option("--core", options.core, "CPU to stay on");
  app.add_option("--output", options.output, "File for the stamps");
  CLI11_PARSE(app, argc, argv);
  options.kernel = stamps == "kernel";
  if (options.core >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(options.core), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) die("--core");
  }
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::prctl(PR_SET_TIMERSLACK, 1);
  errno = 0;
  Loop loop(options);
  loop.run();
  loop.report();
  return 0;
}
