#include "loadgen/socket.h"

#include <fmt/format.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "loadgen/clock_map.h"

namespace pawl::loadgen {

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Dialled dial(const Address& address) {
  Dialled out;
  Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    out.error_number = errno;
    return out;
  }
  const int on = 1;
  if (address.storage.ss_family != AF_UNIX) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A kernel that refuses this gives no stamps; every read then falls back to the user stamp and is counted.
  const int stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 && errno != EINPROGRESS) {
    out.error_number = errno;
    return out;
  }
  out.socket = std::move(socket);
  return out;
}

int dial_result(const Descriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Received receive(const Descriptor& socket, std::span<char> buffer) {
  Received out;
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, 256> control;  // the kernel fills it
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  out.size = ::recvmsg(socket.get(), &message, MSG_DONTWAIT);
  const int error = errno;
  out.user = mono_now();
  if (out.size < 0) {
    out.error_number = error;
    return out;
  }
  for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_TIMESTAMPING) continue;
    scm_timestamping stamps{};
    std::memcpy(&stamps, CMSG_DATA(item), sizeof stamps);
    const auto& software = stamps.ts[0];
    if (software.tv_sec != 0 || software.tv_nsec != 0) out.kernel = WallTime{Seconds(software.tv_sec) + Nanos(software.tv_nsec)};
  }
  return out;
}

ssize_t send_parts(const Descriptor& socket, std::string_view first, std::string_view second) {
  std::array<iovec, 2> parts{iovec{const_cast<char*>(first.data()), first.size()}, iovec{const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void acknowledge_at_once(const Descriptor& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

IdleState idle_state(const Descriptor& socket) {
  char byte = 0;
  const ssize_t n = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n > 0) return IdleState::kBytes;
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? IdleState::kQuiet : IdleState::kClosed;
}

bool is_connected(const Descriptor& socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  return ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

Status ensure_descriptors(std::int64_t more) {
  std::int64_t open = 0;
  std::error_code ec;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", ec); !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) ++open;
  constexpr std::int64_t kSpare = 16;  // epoll, name resolution, files that others open meanwhile
  const std::int64_t needed = open + more + kSpare;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || static_cast<std::int64_t>(limit.rlim_cur) >= needed) return {};
  const auto soft = limit.rlim_cur;
  if (limit.rlim_max == RLIM_INFINITY || static_cast<std::int64_t>(limit.rlim_max) >= needed) {
    limit.rlim_cur = static_cast<rlim_t>(needed);
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  }
  return machine_error(fmt::format("{} connections need {} file descriptors; the limit is {}", more, needed, soft),
                       fmt::format("raise it with `ulimit -n {}`, or use a lower concurrency", needed));
}

}  // namespace pawl::loadgen
