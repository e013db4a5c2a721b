#pragma once

#include <string>
#include <string_view>

#include "backend/backend.h"
#include "backend/stream_reader.h"
#include "measure/record.h"
#include "wire/http_response.h"
#include "wire/sse.h"

namespace pawl::loadgen {

/// One request and its answer, without a socket. Received bytes go in with their time and are read at once: framing,
/// events, tokens. Once warm it allocates nothing per event, and it can be used for one request after the other.
class alignas(64) Exchange {
 public:
  /// `scratch` may be shared by all exchanges of a thread; it and the backend must outlive the exchange.
  explicit Exchange(backend::EventFacts& scratch, std::size_t max_event_bytes = 64u << 20) : scratch_(&scratch), sse_(max_event_bytes) {}

  /// Starts over with the next request.
  void begin(const backend::Backend& backend, const backend::ReadOptions& options, measure::RequestRecord record);

  /// Takes bytes of one read: its native time, and how much later the user stamp is (BC-2.3). Returns how many belong to
  /// this answer: fewer only when it is over.
  std::size_t on_bytes(std::string_view bytes, MonoTime at, Nanos late = Nanos(0));
  /// The peer closed at `at`.
  void on_close(MonoTime at);
  /// Ends it from our side: a time-out, a socket error, the end of the run. `cls` is a failure class (BC-3.4), empty for
  /// what is no failure (cancelled, censored).
  void abandon(measure::Outcome outcome, std::string cls, std::string what, MonoTime at);

  /// Asks the cache for what the next bytes will touch: with thousands of streams none of it is there any more. First
  /// for the exchange itself, while the kernel hands the bytes over; then for where they and their event will be kept.
  void prefetch() const;
  void prefetch_tails(std::size_t bytes) const;

  /// Nothing more will be read for it: the answer is complete, or cannot be read further. Its outcome is settled.
  [[nodiscard]] bool over() const { return record_.end.has_value(); }
  /// The connection may carry the next request. Means something once over.
  [[nodiscard]] bool reusable() const { return reusable_ && http_.complete() && http_.keep_alive(); }
  /// A byte of the answer arrived.
  [[nodiscard]] bool answered() const { return http_.started(); }

  [[nodiscard]] measure::RequestRecord& record() { return record_; }
  [[nodiscard]] const measure::RequestRecord& record() const { return record_; }

 private:
  enum class Body { kUnknown, kEvents, kJson, kError };

  void on_head(MonoTime at);
  void on_body(std::string_view piece, MonoTime at, Nanos late);
  void guess_body(std::string_view seen, MonoTime at);
  void take_events(std::string_view piece, MonoTime at, Nanos late);
  void finish_events(MonoTime at, Nanos late);
  void give_up(std::string cls, std::string what, MonoTime at);
  void settle();

  measure::RequestRecord record_;  ///< what events touch comes first in it
  backend::EventFacts* scratch_;
  Body body_ = Body::kUnknown;
  bool head_seen_ = false;
  bool reusable_ = true;
  std::size_t body_bytes_ = 0;
  std::string first_bytes_;  ///< at most 4 KiB of the body, for failures (BC-3.5)
  wire::HttpResponseReader http_;
  wire::SseReader sse_;
  std::optional<backend::StreamReader> tokens_;
  std::string json_;
};

}  // namespace pawl::loadgen
