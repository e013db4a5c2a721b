// Both ends for measuring the twin (README.md): `send` is the floor, a sender that does nothing but send() one ready event
// after the other to every stream; `drain` opens streams and reads them as cheaply as it can.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double cpu_s() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

int socket_on(std::uint16_t port, bool listener) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  const bool good = listener ? ::bind(fd, plain, sizeof address) == 0 && ::listen(fd, 4096) == 0 : ::connect(fd, plain, sizeof address) == 0;
  if (!good) {
    fmt::print(stderr, "port {}: {}\n", port, std::strerror(errno));
    std::exit(1);
  }
  return fd;
}

int send_events(std::uint16_t port, int streams, double seconds) {
  const int listener = socket_on(port, true);
  fmt::print("listening\n");
  std::fflush(stdout);
  std::vector<int> peers;
  std::array<char, 65536> buffer;
  while (static_cast<int>(peers.size()) < streams) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    static_cast<void>(::recv(fd, buffer.data(), buffer.size(), 0));
    const std::string head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    static_cast<void>(::send(fd, head.data(), head.size(), MSG_NOSIGNAL));
    peers.push_back(fd);
  }
  const std::string data =
      "data: {\"id\":\"cmpl-0123456789abcdef01234567\",\"object\":\"text_completion\",\"created\":1796083200,\"model\":\"demo\",\"choices\":[{\"index\":0,"
      "\"text\":\" wheel\",\"logprobs\":null,\"finish_reason\":null}]}\n\n";
  const std::string event = fmt::format("{:x}\r\n{}\r\n", data.size(), data);
  const auto begin = Clock::now();
  const double cpu = cpu_s();
  std::int64_t sent = 0, full = 0;
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    for (const int fd : peers) {
      if (::send(fd, event.data(), event.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(event.size())) {
        ++sent;
      } else {
        ++full;
      }
    }
  }
  const double used = cpu_s() - cpu, wall = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print(R"({{"events":{},"refused":{},"wall_s":{:.3f},"cpu_s":{:.3f},"events_per_s":{:.0f},"events_per_cpu_s":{:.0f},"event_bytes":{}}})"
             "\n",
             sent, full, wall, used, static_cast<double>(sent) / wall, static_cast<double>(sent) / used, event.size());
  return 0;
}

int drain(std::uint16_t port, int streams, double seconds, const std::string& model, int tokens) {
  const int epoll = ::epoll_create1(0);
  const std::string body = fmt::format(R"({{"model":"{}","prompt":[1,2,3,4],"max_tokens":{},"ignore_eos":true,"stream":true}})", model, tokens);
  const std::string request =
      fmt::format("POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}", body.size(), body);
  for (int i = 0; i < streams; ++i) {
    const int fd = socket_on(port, false);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
  }
  std::array<epoll_event, 1024> ready;
  std::vector<char> buffer(1 << 18);
  std::int64_t bytes = 0;
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    const int n = ::epoll_wait(epoll, ready.data(), static_cast<int>(ready.size()), 100);
    for (int i = 0; i < n; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) bytes += got;
      if (got == 0) ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
    }
    // Reading each event by itself would cost more than sending it: let some gather.
    ::usleep(2000);
  }
  fmt::print(R"({{"bytes":{},"wall_s":{:.3f},"cpu_s":{:.3f}}})"
             "\n",
             bytes, std::chrono::duration<double>(Clock::now() - begin).count(), cpu_s());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Ends for measuring the twin: the bare sender, and a reader of its streams."};
  std::uint16_t port = 0;
  int streams = 1000, tokens = 1000000;
  double seconds = 5;
  std::string model = "demo";
  app.require_subcommand(1);
  CLI::App* send = app.add_subcommand("send", "One ready event after the other to every stream, as fast as it goes");
  CLI::App* read = app.add_subcommand("drain", "Streamed completions, read and dropped");
  for (CLI::App* one : {send, read}) {
    one->add_option("--port", port)->required();
    one->add_option("--streams", streams)->capture_default_str();
    one->add_option("--seconds", seconds)->capture_default_str();
  }
  read->add_option("--model", model)->capture_default_str();
  read->add_option("--tokens", tokens)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return send->parsed() ? send_events(port, streams, seconds) : drain(port, streams, seconds, model, tokens);
}
