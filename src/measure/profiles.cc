#include "measure/profiles.h"

#include <array>
#include <cmath>
#include <limits>

#include "codec/describe.h"
#include "measure/describe.h"
#include "measure/request_metrics.h"

namespace pawl::measure {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool is_choice(const StreamEvent& event) { return event.is(kChoice) && !event.is(kContinued); }
bool is_text(const StreamEvent& event) { return event.is(kText); }

/// First, last and the gaps between the events that a rule takes.
template <class Takes>
void walk(const RequestRecord& record, ProfileMetrics& out, std::optional<MonoTime>& first, std::optional<MonoTime>& last, const Takes& takes) {
  for (const StreamEvent& event : record.events) {
    if (!takes(event)) continue;
    const MonoTime at = event.user();
    if (last) out.itl.push_back({millis_of(at - *last), 1, event.is(kCoalesced)});
    if (!first) first = at;
    last = at;
  }
}

/// SGLang's native client: time since the last growth, divided evenly over the new tokens and repeated for each.
void walk_growth(const RequestRecord& record, ProfileMetrics& out, std::optional<MonoTime>& first) {
  std::optional<MonoTime> before;
  for (const StreamEvent& event : record.events) {
    if (!event.is(kToken)) continue;
    const MonoTime at = event.user();
    if (!first) {
      if (!is_text(event)) continue;
      first = before = at;
      continue;
    }
    const std::int64_t grown = event.tokens().value_or(0);
    if (grown == 0) continue;
    out.itl.push_back({millis_of(at - *before) / static_cast<double>(grown), grown, event.is(kCoalesced)});
    before = at;
  }
}

std::optional<MonoTime> last_line(const RequestRecord& record, bool with_done) {
  std::optional<MonoTime> last;
  for (const StreamEvent& event : record.events) {
    if (with_done || !event.is(kDone)) last = event.user();
  }
  return last;
}

struct Count {
  std::int64_t tokens = 0;
  bool guessed = false;
};

Count own_tokenizer(const RequestRecord& record) {
  if (record.retok_output) return {*record.retok_output, false};
  return {output_tokens(record).count, true};
}

Count output_of(Profile profile, const RequestRecord& record) {
  switch (profile) {
    case Profile::kVllm:
    case Profile::kInferencex:
      return record.usage_output_apart ? Count{*record.usage_output_apart, false} : own_tokenizer(record);
    case Profile::kSglang:
      return record.usage_output ? Count{*record.usage_output, false} : Count{record.asked_output, true};
    case Profile::kSglangGenerate:
      return record.meta_output ? Count{*record.meta_output, false} : Count{record.asked_output, true};
    case Profile::kAiperf:
    case Profile::kGenaiPerf:
      return own_tokenizer(record);
    case Profile::kGuidellm:
      if (record.usage_output) return {*record.usage_output, false};
      return {record.token_events(), true};
  }
  return {};
}

}  // namespace

std::span<const Profile> all_profiles() {
  static constexpr std::array kAll{Profile::kVllm,   Profile::kSglang,    Profile::kSglangGenerate, Profile::kInferencex,
                                   Profile::kAiperf, Profile::kGenaiPerf, Profile::kGuidellm};
  return kAll;
}

void compute_profile(Profile profile, const RequestRecord& record, bool chat, ProfileMetrics& out) {
  out.itl.clear();
  out.ttft_ms = out.e2el_ms = out.tpot_ms = std::nullopt;
  const Count count = output_of(profile, record);
  out.output_tokens = count.tokens;
  out.osl_guessed = count.guessed;
  if (!record.send) return;
  std::optional<MonoTime> first, last;
  switch (profile) {
    case Profile::kVllm:
    case Profile::kInferencex:
      walk(record, out, first, last, is_choice);
      if (profile == Profile::kInferencex && chat) {
        for (const StreamEvent& event : record.events) {
          if (event.is(kUsage)) last = event.user();
        }
      }
      break;
    case Profile::kSglang:
      walk(record, out, first, last, is_text);
      last = last_line(record, true);
      break;
    case Profile::kSglangGenerate:
      walk_growth(record, out, first);
      last = last_line(record, true);
      break;
    case Profile::kAiperf:
      walk(record, out, first, last, is_text);
      break;
    case Profile::kGenaiPerf:
      walk(record, out, first, last, is_text);
      last = last_line(record, false);
      break;
    case Profile::kGuidellm:
      walk(record, out, first, last, is_text);
      break;
  }
  if (record.events.empty() && record.end) last = *record.end + Nanos(record.end_late_ns);  // no stream: all of them take the end
  if (first) out.ttft_ms = millis_of(*first - *record.send);
  if (profile == Profile::kGuidellm) {
    if (record.end) out.e2el_ms = millis_of(*record.end + Nanos(record.end_late_ns) - *record.send);
    if (last && count.tokens > 0) out.tpot_ms = millis_of(*last - *record.send) / static_cast<double>(count.tokens);
    out.itl.clear();
    if (first && last && count.tokens > 1) out.itl.push_back({millis_of(*last - *first) / static_cast<double>(count.tokens - 1), 1, false});
    return;
  }
  if (last) out.e2el_ms = millis_of(*last - *record.send);
  if (out.ttft_ms && out.e2el_ms && count.tokens > 1) out.tpot_ms = (*out.e2el_ms - *out.ttft_ms) / static_cast<double>(count.tokens - 1);
}

void ProfileSummary::add(const RequestRecord& record) {
  if (record.outcome == Outcome::kSkipped) return;
  if (record.outcome != Outcome::kOk) {
    ++failed_;
    return;
  }
  ++completed_;
  compute_profile(profile_, record, chat_, scratch_);
  input_ += input_tokens(record).value_or(InputTokens{record.asked_input, {}}).count;
  output_ += scratch_.output_tokens;
  if (scratch_.osl_guessed) ++guessed_;
  const std::array row{scratch_.ttft_ms.value_or(kUnknown), scratch_.tpot_ms.value_or(kUnknown), scratch_.e2el_ms.value_or(kUnknown)};
  table_.add(row);
  for (const Sample& sample : scratch_.itl) itl_.add(sample.ms, sample.weight, sample.coalesced);
}

void ProfileSummary::merge(const ProfileSummary& other) {
  completed_ += other.completed_;
  failed_ += other.failed_;
  input_ += other.input_;
  output_ += other.output_;
  guessed_ += other.guessed_;
  table_.merge(other.table_);
  itl_.merge(other.itl_);
}

model::BenchCompat ProfileSummary::result(double duration_s) const {
  model::BenchCompat out;
  out.completed = completed_;
  out.failed = failed_;
  out.total_input_tokens = input_;
  out.total_output_tokens = output_;
  out.osl_guessed = guessed_;
  out.duration_s = duration_s;
  if (std::isfinite(duration_s) && duration_s > 0) {
    // genai-perf counts failed requests too (BC-14.3).
    const std::int64_t requests = profile_ == Profile::kGenaiPerf ? completed_ + failed_ : completed_;
    out.request_throughput = static_cast<double>(requests) / duration_s;
    out.output_throughput = static_cast<double>(output_) / duration_s;
    out.total_token_throughput = static_cast<double>(input_ + output_) / duration_s;
  }
  out.metrics["ttft_ms"] = describe(table_.known(0));
  out.metrics["tpot_ms"] = describe(table_.known(1));
  out.metrics["e2el_ms"] = describe(table_.known(2));
  out.metrics["itl_ms"] = itl_.describe(true);
  return out;
}

}  // namespace pawl::measure
