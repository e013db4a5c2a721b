#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/stream_reader.h"
#include "loadgen/record.h"
#include "wire/http_response.h"
#include "wire/sse.h"

namespace pawl::loadgen {

/// One request and its answer, without a socket. Received bytes go in with their time; framing happens at once, what
/// the events mean is read later, by `interpret`, so that parsing delays no other receive.
class Exchange {
 public:
  Exchange(const backend::Backend& backend, RequestRecord record) : record_(std::move(record)), tokens_(backend) {}

  /// Takes bytes that were received at `at`. Returns how many belong to this answer: fewer only when it is complete.
  std::size_t on_bytes(std::string_view bytes, MonoTime at);
  /// The peer closed at `at`.
  void on_close(MonoTime at);
  /// Ends it from our side: a time-out, a socket error. `cls` is a failure class.
  void abandon(Outcome outcome, std::string cls, std::string what, MonoTime at);

  /// Nothing more will be read for it: the answer is complete, or cannot be read further.
  [[nodiscard]] bool over() const { return record_.end.has_value(); }
  /// The connection may carry the next request. Means something once over.
  [[nodiscard]] bool reusable() const { return http_.complete() && http_.keep_alive() && reusable_; }
  /// A byte of the answer arrived.
  [[nodiscard]] bool answered() const { return http_.started(); }

  /// Reads the events that wait. Once the exchange is over this also settles the outcome.
  void interpret();

  [[nodiscard]] RequestRecord& record() { return record_; }
  [[nodiscard]] const RequestRecord& record() const { return record_; }

 private:
  enum class Body { kUnknown, kEvents, kJson, kError };
  struct Timed {
    wire::SseEvent event;
    MonoTime at;
  };

  void on_head(MonoTime at);
  void on_body(std::string_view bytes, MonoTime at);
  void queue(std::vector<wire::SseEvent>& events, MonoTime at);
  void finish_events(MonoTime at);
  void settle();

  RequestRecord record_;
  backend::StreamReader tokens_;
  wire::HttpResponseReader http_;
  wire::SseReader sse_;
  Body body_ = Body::kUnknown;
  bool head_seen_ = false;
  bool reusable_ = true;
  bool settled_ = false;
  std::string first_bytes_;  ///< at most 4 KiB of the body, for failures
  std::string json_;
  std::vector<Timed> waiting_;
};

}  // namespace pawl::loadgen
