#pragma once

#include <string_view>

#include "codec/json.h"
#include "loadgen/record.h"
#include "wire/sse.h"

namespace pawl::loadgen {

/// Decides event by event what a stream delivered: which events carry tokens, how many, what the server reports as
/// usage, whether it reported an error. One per request; events in their order.
class TokenReader {
 public:
  explicit TokenReader(Protocol protocol) : protocol_(protocol) {}

  /// Takes an event that came complete at `at`.
  void take(const wire::SseEvent& event, MonoTime at, RequestRecord& record);

  /// Takes the one body of a reply that is not a stream: errors and usage, no token times.
  void take_body(std::string_view body, RequestRecord& record);

  [[nodiscard]] bool done() const { return done_; }          ///< the terminal marker came
  [[nodiscard]] bool finished() const { return finished_; }  ///< a finish reason came
  [[nodiscard]] bool has_output() const { return has_output_; }

 private:
  /// What a choices array says.
  struct Choices {
    bool any = false;
    bool text = false;
    bool finish = false;
  };
  Choices read_choices(const codec::Json& json, RequestRecord& record);
  void read_usage(const codec::Json& json, bool at_the_end, RequestRecord& record);
  bool read_error(const codec::Json& json, RequestRecord& record);

  Protocol protocol_;
  bool done_ = false;
  bool finished_ = false;
  bool has_output_ = false;
  bool counter_seen_ = false;  ///< an earlier event carried a running count
  std::int64_t counted_ = 0;   ///< the running count at the last token event
};

}  // namespace pawl::loadgen
