#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "measure/record.h"

namespace pawl::backend {

struct ReadOptions {
  bool keep_text = false;                  ///< resolve and keep the output text of choice 0 in the record
  bool allow_empty = false;                ///< calls that mean to have no output (edge case 21)
  std::size_t echo_bytes = 0;              ///< the endpoint repeats the prompt first: so many bytes of text are none of the output (BC-5.8)
  std::string_view prompt_start = {};      ///< of a text prompt without echo: an answer that starts so is flagged `echo_suspected`; must live
  std::optional<TextMode> text_mode = {};  ///< overrides that of the protocol (SGLang with incremental output)
};

/// Decides event by event what a stream delivered: which events carry tokens and how many, what the server reports as
/// usage, whether it reported an error (BC-5, BC-6). One per request; events in their order. Allocates nothing per event
/// once `scratch` and the vector of the record have grown, unless text is kept or the protocol is cumulative.
class StreamReader {
 public:
  explicit StreamReader(const Backend& backend, ReadOptions options = {})
      : backend_(&backend), cumulative_(options.text_mode.value_or(backend.text_mode()) == TextMode::kCumulative), options_(options) {}

  /// Takes an event that came complete with a read of native time `at`; the user stamp of that read is `late` later.
  /// `name`: of its `event:` line. `done`: it is the terminal marker. `terminated`: false when the body ended before the
  /// blank line. `scratch` may be shared by all readers of a thread.
  void take(std::string_view name, std::string_view data, bool done, bool terminated, MonoTime at, Nanos late, measure::RequestRecord& record,
            EventFacts& scratch);

  /// Takes the one body of an answer that is not a stream: errors, usage and text, no token times.
  void take_body(std::string_view body, measure::RequestRecord& record, EventFacts& scratch);

  /// The body ended and nothing is wrong so far: settles what only the end can tell (flags `no_done`, `no_finish`; class
  /// `empty_output`). `streamed`: events came.
  void finish(bool streamed, measure::RequestRecord& record) const;

  [[nodiscard]] bool done() const { return done_; }          ///< the terminal marker or the protocol's own end came
  [[nodiscard]] bool finished() const { return finished_; }  ///< a finish reason came
  [[nodiscard]] bool has_output() const { return has_output_; }

 private:
  struct ChoiceState {
    std::int64_t index = 0;
    std::string last_text;      ///< cumulative protocols: raw text so far
    std::size_t echo_left = 0;  ///< bytes of the repeated prompt still to come
  };
  /// The growth of a cumulative text, as a view into `facts`.
  std::string_view grown(ChoiceFacts& choice, measure::RequestRecord& record);
  [[nodiscard]] std::string_view without_echo(const ChoiceFacts& choice);
  void look_for_echo(const ChoiceFacts& choice, measure::RequestRecord& record);
  ChoiceState& state_of(std::int64_t index);
  void read_counts(const EventFacts& facts, bool at_the_end, MonoTime at, bool timed, measure::RequestRecord& record);
  void read_finish(const ChoiceFacts& choice, measure::RequestRecord& record);
  void keep(const ChoiceFacts& choice, measure::RequestRecord& record) const;

  const Backend* backend_;
  bool cumulative_;
  bool done_ = false;
  bool finished_ = false;
  bool has_output_ = false;
  bool counter_gap_ = false;  ///< a token event without the running count: the next difference covers more than its event
  bool counter_seen_ = false;
  std::int64_t counted_ = 0;  ///< the running count at the last token event
  ReadOptions options_;
  std::string head_;                 ///< start of the answer, while an echo is looked for
  std::vector<ChoiceState> states_;  ///< cumulative protocols and echoes only
};

}  // namespace pawl::backend
