#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "loadgen/worker.h"

/// What the parts of the worker share: worker.cc (the loop), worker_connections.cc, worker_requests.cc.
namespace pawl::loadgen {

/// A request that may go out.
struct Worker::Job {
  PlannedRequest planned;
  MonoTime ready;
  std::optional<MonoTime> admit, sched;
  SessionRun* session = nullptr;
  std::size_t node = 0;
};

struct alignas(64) Worker::Connection {
  enum class State { kClosed, kConnecting, kHandshaking, kIdle, kSending, kReceiving };
  // What a read touches stands in one line of the cache.
  State state = State::kClosed;
  Descriptor socket;
  std::unique_ptr<Exchange> exchange;  ///< of the request that it carries, if any
  std::unique_ptr<TlsSession> tls;
  MonoTime last_read;  ///< native time of the last read, at first of the send
  std::size_t endpoint = 0;
  bool used = false;  ///< it carried a request before
  bool keep = false;  ///< the answer that just ended leaves it fit for another
  bool replayed = false;

  MonoTime dial_at, handshake_end, idle_since;
  std::string bytes;  ///< of the request, after the endpoint's head
  std::size_t sent = 0;
  SessionRun* session = nullptr;
  std::size_t node = 0;
};

/// An error of the system as part of a sentence.
inline std::string lower_first(const char* text) {
  std::string out = text;
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

/// This machine has no more to give; it is not the server that refuses.
inline bool is_local_shortage(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == EADDRNOTAVAIL || error_number == ENOBUFS || error_number == ENOMEM;
}

inline bool would_block(int error_number) { return error_number == EAGAIN || error_number == EWOULDBLOCK; }

inline Nanos of_seconds(double s) { return Nanos(static_cast<std::int64_t>(s * 1e9)); }

}  // namespace pawl::loadgen
