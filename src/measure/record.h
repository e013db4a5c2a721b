#pragma once

#include <algorithm>
#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace pawl::measure {

/// What a request is for. Only measured ones enter the statistics (BC-8.2).
enum class Phase { kWarmup, kRamp, kProbe, kMeasured, kDrain };
BOOST_DESCRIBE_ENUM(Phase, kWarmup, kRamp, kProbe, kMeasured, kDrain)

/// How a request ended. Every request has exactly one outcome (BC-3.1).
enum class Outcome {
  kOk,
  kFailed,
  kTimeout,
  kCancelled,  ///< by the plan of this client
  kCensored,   ///< still running at the deadline of the drain
  kSkipped,    ///< never sent: its session had ended
};
BOOST_DESCRIBE_ENUM(Outcome, kOk, kFailed, kTimeout, kCancelled, kCensored, kSkipped)

/// What an event of a stream was (BC-5). Several may hold at once.
enum EventMark : std::uint16_t {
  kChoice = 1 << 0,     ///< it carried a choice, or is of the kind that can carry output
  kText = 1 << 1,       ///< of non-empty text: answer, reasoning, refusal or part of a tool call
  kAnswer = 1 << 2,     ///< of text that is not reasoning
  kToken = 1 << 3,      ///< a token event: text, or a trustworthy counter rose (`textless`)
  kUsage = 1 << 4,      ///< it carried a usage object
  kDone = 1 << 5,       ///< the terminal marker; no event in the sense of BC-1.2
  kCoalesced = 1 << 6,  ///< not the first token event of its read: its time is that of the read (BC-2.4)
  kContinued = 1 << 7,  ///< a further choice of the same event as the entry before it
  kFinish = 1 << 8,     ///< it carried a finish reason
};

/// One event of an answer, in 16 bytes: the timeline is all that the metrics and the profiles of other tools need, and
/// it is in memory only while its request runs.
struct StreamEvent {
  static constexpr std::uint16_t kUnknownTokens = 0xFFFF;
  static constexpr unsigned kChoiceLimit = 64;  ///< choices from here on share the last number

  MonoTime at;                ///< native time (BC-2.3)
  std::uint32_t late_ns = 0;  ///< user stamp − native time, 0 without a kernel stamp; saturates at 4.29 s
  std::uint16_t raw_tokens = kUnknownTokens;
  std::uint16_t choice : 6 = 0;  ///< its index
  std::uint16_t marks : 10 = 0;  ///< EventMark

  [[nodiscard]] bool is(unsigned mark) const { return (marks & mark) != 0; }
  /// k_i of BC-6.5; nothing when the server does not say. Counts over 65,534 are not known either.
  [[nodiscard]] std::optional<std::int64_t> tokens() const { return raw_tokens == kUnknownTokens ? std::nullopt : std::optional<std::int64_t>(raw_tokens); }
  void set_tokens(std::optional<std::int64_t> n) { raw_tokens = n && *n >= 0 && *n < kUnknownTokens ? static_cast<std::uint16_t>(*n) : kUnknownTokens; }
  [[nodiscard]] MonoTime user() const { return at + Nanos(late_ns); }
};
static_assert(sizeof(StreamEvent) == 16);

/// What is known of one request when it is over. Moments that were not reached are absent (BC-2.2).
struct RequestRecord {
  // ── what every event of its answer touches: together, because thousands of streams take turns in the cache ──
  std::vector<StreamEvent> events;  ///< in the order of their arrival
  std::int64_t bytes = 0;           ///< received
  std::int64_t text_bytes = 0;      ///< of output text as it came, escapes not resolved
  std::optional<MonoTime> end;      ///< body complete or failure seen
  std::optional<MonoTime> first_event, first_token, first_answer;
  std::optional<MonoTime> last_token, last_choice;
  std::string failure;  ///< class (BC-3.4); empty while all is well

  // ── what was planned ──
  std::int64_t index = 0;    ///< number within its phase
  std::int64_t session = 0;  ///< without sessions: the index
  std::int64_t turn = 0;     ///< place within the session
  std::int64_t worker = 0;   ///< thread that drove it
  Phase phase = Phase::kMeasured;
  std::int64_t asked_input = 0, asked_output = 0;  ///< tokens
  bool input_exact = false;                        ///< asked_input is what the server counts: the prompt went out as token ids
  bool ignores_eos = false;                        ///< asked to ignore the end of text, or minimum = maximum: asked_output is exact
  std::string id;                                  ///< x-request-id; may be empty

  // ── moments ──
  std::optional<MonoTime> sched;                 ///< planned arrival; open loop and traces only
  MonoTime ready;                                ///< it might start as far as schedule, slot and session go
  std::optional<MonoTime> admit;                 ///< every gate of the client allows it; absent: there was no gate, `ready` counts
  std::optional<Nanos> build;                    ///< time to assemble a body that had to wait for a live reply; part of `lag`
  std::optional<MonoTime> conn_start, conn_end;  ///< set-up of the connection, only if this request opened one
  std::optional<MonoTime> send;                  ///< just before its first byte went to the kernel
  std::optional<MonoTime> sent;                  ///< its last byte was taken
  std::optional<MonoTime> head;                  ///< status line and fields complete
  std::optional<MonoTime> usage_at, done_at;
  std::uint32_t end_late_ns = 0;  ///< user stamp − `end`; saturates

  // ── counts, as the server reports them ──
  std::optional<std::int64_t> usage_input, usage_output, usage_cached, usage_reasoning;
  std::optional<std::int64_t> usage_output_apart;                    ///< completion_tokens of a usage object on an event without choices (profile vllm)
  bool usage_final = false;                                          ///< the report came at the end, not in the middle of a stream
  std::optional<std::int64_t> meta_input, meta_output, meta_cached;  ///< the protocol's own counters
  std::optional<std::int64_t> ids_output;                            ///< token ids or logprob entries returned
  // ── and as our tokenizer counts them, after the run (BC-6.10) ──
  std::optional<std::int64_t> retok_input, retok_output, retok_reasoning;

  // ── output ──
  std::string text, reasoning_text;  ///< of choice 0; only where the run keeps them

  // ── outcome ──
  Outcome outcome = Outcome::kFailed;
  std::string detail;         ///< for people; of failures, the first 4 KiB of the body
  std::string finish_reason;  ///< of choice 0, as the server words it
  int status = 0;             ///< HTTP status, 0 without one
  int error_number = 0;
  std::map<std::string, std::int64_t> flags;  ///< counted oddities: no_done, stale_conn, keepalive_data…

  /// Keeps the first failure; later ones are consequences.
  void fail(std::string cls, std::string what = {}) {
    if (!failure.empty()) return;
    failure = std::move(cls);
    if (!what.empty()) detail = std::move(what);
  }

  [[nodiscard]] std::int64_t token_events() const {
    return std::count_if(events.begin(), events.end(), [](const StreamEvent& event) { return event.is(kToken); });
  }
};

}  // namespace pawl::measure
