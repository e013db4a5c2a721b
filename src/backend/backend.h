#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/event_shape.h"
#include "base/result.h"
#include "codec/json.h"
#include "workload/workload.h"

/// The protocols of LLM servers: what a request looks like and what an event of its answer says. Pure: bytes in, facts
/// out. What the facts mean for a measurement is read in one place for all of them, `stream_reader.h`.
namespace pawl::backend {

/// What one choice of an event says. Views point into the event and are raw JSON text (escapes not resolved).
struct ChoiceFacts {
  std::int64_t index = 0;
  std::string_view text;            ///< answer: content, text
  std::string_view reasoning;       ///< reasoning
  std::string_view other;           ///< refusal, or a part of a tool call: output that is no plain text
  std::optional<std::int64_t> ids;  ///< token ids or logprob entries of this event
  std::string_view finish;          ///< finish reason; empty without one
};

/// What one event says. Reused from event to event, so that none of it allocates once warm.
struct EventFacts {
  std::vector<ChoiceFacts> choices;
  bool usage = false;  ///< a usage object was there
  std::optional<std::int64_t> usage_input, usage_output, usage_cached, usage_reasoning;
  std::optional<std::int64_t> meta_input, meta_output, meta_cached;
  std::string_view error;  ///< raw JSON of the in-band error; empty without one
  bool last = false;       ///< the protocol's own end: nothing follows and no `[DONE]` is owed
  bool malformed = false;  ///< not a JSON object

  // What makes reading the next one cheap; the back end's own, not touched by clear().
  EventShape shape;              ///< of events with one choice that says nothing but its text
  std::int64_t shape_index = 0;  ///< of that choice
  bool shape_reasoning = false;  ///< its text is reasoning

  void clear();
};

/// Which tool's habits the bodies follow where tools differ (BC-11.1, BC-11.3).
enum class BodyProfile { kNative, kVllm, kSglang, kInferencex };

struct BodyOptions {
  std::string model;
  BodyProfile profile = BodyProfile::kNative;
  bool stream = true;
  bool ask_usage = true;              ///< `stream_options.include_usage`, where understood
  bool usage_per_chunk = false;       ///< `stream_options.continuous_usage_stats` (vLLM): a running count on every event
  bool ignore_eos = false;            ///< generate the whole asked length (BC-11.2)
  std::optional<double> temperature;  ///< nothing: none is sent, except where the profile demands 0
  std::optional<std::int64_t> logprobs;
  std::int64_t choices = 1;  ///< n
  std::string lora;          ///< SGLang: lora_path; others: the name goes in as the model
  codec::Json tools;         ///< chat: array of tools, null without
  codec::Json extra;         ///< object of the user's own keys; they override what is built in (BC-11.4)
};

/// How text of a stream comes.
enum class TextMode {
  kIncremental,  ///< each event holds what is new
  kCumulative,   ///< each event holds all so far
};

/// One protocol. Immutable; any number of threads.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;                       ///< as `--backend` takes it
  [[nodiscard]] virtual std::string_view about() const = 0;                      ///< one line for help
  [[nodiscard]] virtual std::string path(const BodyOptions& options) const = 0;  ///< after the prefix of the target: "/v1/completions"
  /// In which form prompts are best made for it.
  [[nodiscard]] virtual workload::Form prompt_form() const = 0;
  /// Whether prompts of this form can be sent at all.
  [[nodiscard]] virtual bool takes(workload::Form form) const = 0;
  [[nodiscard]] virtual TextMode text_mode() const { return TextMode::kIncremental; }
  /// Whether the stream ends with `data: [DONE]`.
  [[nodiscard]] virtual bool has_done_marker() const { return true; }
  /// Whether the protocol names a finish reason.
  [[nodiscard]] virtual bool has_finish_reason() const { return true; }
  [[nodiscard]] virtual bool takes_tools() const { return false; }

  /// Appends the whole JSON body to `out`: exactly one length key, usage asked for, `options.extra` last.
  virtual void write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const = 0;

  /// Reads one event, or the one body of an answer that is no stream, into `facts` (cleared first).
  virtual void read(std::string_view json, EventFacts& facts) const = 0;
};

/// The back end of this name; nothing for an unknown one. Lives for ever.
[[nodiscard]] const Backend* find_backend(std::string_view name);
[[nodiscard]] std::span<const Backend* const> all_backends();

/// Checks that options fit a back end: `extra` is an object, choices within limits, tools only for chat.
[[nodiscard]] Status check_options(const Backend& backend, const BodyOptions& options);

}  // namespace pawl::backend
