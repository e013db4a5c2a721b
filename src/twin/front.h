#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "io/clock.h"

namespace pawl::twin {

/// One connection while it carries one request; stale ids are ignored everywhere.
struct ExchangeId {
  std::uint32_t slot = 0, generation = 0;
  bool operator==(const ExchangeId&) const = default;
};

/// What the front tells. Called from `poll`, and from the sending calls when a peer turns out to be gone.
class FrontEvents {
 public:
  virtual ~FrontEvents() = default;
  virtual void on_request(ExchangeId id, http::Request request) = 0;
  /// The peer left before its answer was complete.
  virtual void on_gone(ExchangeId id) = 0;
};

/// The HTTP/1.1 side of the twin: one thread, one epoll, no queue between an event and its `send()`, so that an event
/// leaves when it is written. (http::Server hands every write to a strand: good for pages, ten times too slow here.)
/// Keep-alive, chunked answers, Expect. Every call but `wake` on one thread.
class Front {
 public:
  /// Listening when it returns. kExhausted (exit 4) when the address cannot be bound.
  static Result<std::unique_ptr<Front>> open(const std::string& host, std::uint16_t port, const io::Clock& clock);
  virtual ~Front() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;

  /// Handles what there is, waiting until `until` at most when there is nothing; without one until there is something.
  virtual void poll(std::optional<MonoTime> until, FrontEvents& events) = 0;
  /// Ends a waiting `poll`, from any thread.
  virtual void wake() = 0;

  /// A whole answer.
  virtual void answer(ExchangeId id, const http::Response& response) = 0;
  /// Starts a chunked answer; then any number of `chunk`, then `finish`. False: the peer takes nothing any more.
  virtual void begin(ExchangeId id, int status, const http::Fields& fields) = 0;
  virtual bool chunk(ExchangeId id, std::string_view bytes) = 0;
  virtual void finish(ExchangeId id) = 0;
  /// Bytes as they are, without framing: what no sound server sends.
  virtual void raw(ExchangeId id, std::string_view bytes) = 0;
  /// Closes at once, whatever is unfinished.
  virtual void cut(ExchangeId id) = 0;
  /// Closes every connection, and stops (or starts again) taking new ones.
  virtual void cut_all() = 0;
  virtual void listen(bool on) = 0;
};

}  // namespace pawl::twin
