#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "loadgen/target.h"

namespace pawl::loadgen {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close();
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A non-blocking TCP or Unix socket that asks the kernel for receive stamps, its connection under way or made.
/// `error_number` tells what failed when the descriptor is empty.
struct Dialled {
  Descriptor socket;
  int error_number = 0;
};
[[nodiscard]] Dialled dial(const Address& address);

/// 0 once a connection under way is made, else its errno.
[[nodiscard]] int dial_result(const Descriptor& socket);

/// One receive: the bytes and both of its times.
struct Received {
  ssize_t size = 0;  ///< 0: the peer closed; −1: see error_number
  int error_number = 0;
  std::optional<WallTime> kernel;  ///< when the last segment of it arrived, if the kernel says
  MonoTime user;                   ///< right after the call
};
[[nodiscard]] Received receive(const Descriptor& socket, std::span<char> buffer);

/// Sends the two parts one after the other; what of them the kernel took, or −1 with errno set. Never blocks, raises no
/// SIGPIPE.
[[nodiscard]] ssize_t send_parts(const Descriptor& socket, std::string_view first, std::string_view second);

/// Makes the kernel acknowledge what comes next at once, until the next send. Otherwise it holds the acknowledgement of the
/// head of an answer back for some 40 ms on a kept connection, and a server without TCP_NODELAY its first token with it.
void acknowledge_at_once(const Descriptor& socket);

/// What an idle connection has to tell.
enum class IdleState {
  kQuiet,
  kBytes,   ///< bytes wait that nobody has read
  kClosed,  ///< the peer closed, or it broke
};
[[nodiscard]] IdleState idle_state(const Descriptor& socket);

/// The connection under way is made: an event of the epoll may be that of an earlier socket.
[[nodiscard]] bool is_connected(const Descriptor& socket);

/// Makes sure that `more` descriptors can be opened; raises the soft limit if the hard one allows it. Error: kExhausted,
/// exit 4, with both numbers.
[[nodiscard]] Status ensure_descriptors(std::int64_t more);

}  // namespace pawl::loadgen
