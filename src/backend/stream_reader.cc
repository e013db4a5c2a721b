#include "backend/stream_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/json_scan.h"

namespace pawl::backend {
namespace {

using measure::RequestRecord;
using measure::StreamEvent;

constexpr std::size_t kKeptDetail = 4096;
constexpr std::size_t kEchoProof = 15;  ///< bytes at the start of the prompt that an answer does not repeat by chance

std::uint32_t saturated(Nanos late) { return static_cast<std::uint32_t>(std::clamp<std::int64_t>(late.count(), 0, std::numeric_limits<std::uint32_t>::max())); }

/// Takes over a newer value of a counter that must not fall (BC-6.3).
void update(std::optional<std::int64_t>& kept, const std::optional<std::int64_t>& seen, RequestRecord& record) {
  if (!seen) return;
  if (kept && *seen < *kept) ++record.flags["usage_fell"];
  kept = seen;
}

bool is_bad_finish(std::string_view reason) { return reason == "abort" || reason == "error" || reason == "nan" || reason == "NaN" || reason == "failed"; }

}  // namespace

StreamReader::ChoiceState& StreamReader::state_of(std::int64_t index) {
  for (ChoiceState& state : states_) {
    if (state.index == index) return state;
  }
  states_.push_back({index, {}, options_.echo_bytes});
  return states_.back();
}

std::string_view StreamReader::without_echo(const ChoiceFacts& choice) {
  ChoiceState& state = state_of(choice.index);
  if (state.echo_left == 0) return choice.text;
  std::string plain;
  codec::append_unescaped(choice.text, plain);
  if (plain.size() <= state.echo_left) {
    state.echo_left -= plain.size();
    return {};
  }
  // What is left is output. Its bytes need not be exact as raw text: only whether there are some, and their number.
  const std::size_t output = plain.size() - std::exchange(state.echo_left, 0);
  return choice.text.substr(choice.text.size() - std::min(output, choice.text.size()));
}

void StreamReader::look_for_echo(const ChoiceFacts& choice, RequestRecord& record) {
  if (choice.index != 0 || choice.text.empty()) return;
  codec::append_unescaped(choice.text, head_);
  const std::string_view prompt = options_.prompt_start.substr(0, kEchoProof);
  if (head_.size() < prompt.size() && prompt.starts_with(head_)) return;  // not decided yet
  if (prompt.size() == kEchoProof && std::string_view(head_).starts_with(prompt)) ++record.flags["echo_suspected"];
  options_.prompt_start = {};
}

std::string_view StreamReader::grown(ChoiceFacts& choice, RequestRecord& record) {
  std::string& last = state_of(choice.index).last_text;
  const std::string_view text = choice.text;
  const auto common = static_cast<std::size_t>(std::ranges::mismatch(text, last).in1 - text.begin());
  if (common < last.size()) ++record.flags["rewrote"];  // the common part stays (BC-5.7)
  const std::string_view fresh = text.substr(common);
  last.resize(common);
  last.append(fresh);
  return fresh;
}

void StreamReader::keep(const ChoiceFacts& choice, RequestRecord& record) const {
  if (!options_.keep_text || choice.index != 0) return;
  codec::append_unescaped(choice.text, record.text);
  codec::append_unescaped(choice.reasoning, record.reasoning_text);
}

void StreamReader::read_finish(const ChoiceFacts& choice, RequestRecord& record) {
  if (choice.finish.empty()) return;
  finished_ = true;
  if (choice.index == 0) record.finish_reason.assign(choice.finish.substr(0, 64));
  if (is_bad_finish(choice.finish)) record.fail("bad_finish", "finish reason " + std::string(choice.finish.substr(0, 64)));
}

void StreamReader::read_counts(const EventFacts& facts, bool at_the_end, MonoTime at, bool timed, RequestRecord& record) {
  update(record.meta_input, facts.meta_input, record);
  update(record.meta_output, facts.meta_output, record);
  update(record.meta_cached, facts.meta_cached, record);
  if (!facts.usage) return;
  if (timed) record.usage_at = at;
  update(record.usage_input, facts.usage_input, record);
  update(record.usage_cached, facts.usage_cached, record);
  update(record.usage_reasoning, facts.usage_reasoning, record);
  if (!facts.usage_output) return;
  update(record.usage_output, facts.usage_output, record);
  record.usage_final = record.usage_final || at_the_end;
  if (facts.choices.empty()) record.usage_output_apart = facts.usage_output;
}

void StreamReader::take(std::string_view name, std::string_view data, bool done, bool terminated, MonoTime at, Nanos late, RequestRecord& record,
                        EventFacts& scratch) {
  StreamEvent entry{.at = at, .late_ns = saturated(late)};
  if (done) {
    done_ = true;
    if (!record.done_at) record.done_at = at;
    entry.marks = measure::kDone;
    record.events.push_back(entry);
    return;
  }
  if (!record.first_event) record.first_event = at;
  if (name == "error") {
    record.fail("inband_error", std::string(data.substr(0, kKeptDetail)));
    return;
  }
  EventFacts& facts = scratch;
  backend_->read(data, facts);
  if (facts.malformed) {
    // A body that ended in the middle of an event is a cut, not a fault of the text.
    record.fail(terminated ? "json" : "early_eof", terminated ? "an event is no JSON object" : "the body ended in the middle of an event");
    return;
  }
  if (!facts.error.empty()) {
    record.fail("inband_error", std::string(facts.error.substr(0, kKeptDetail)));
    return;
  }
  done_ = done_ || facts.last;
  for (const ChoiceFacts& choice : facts.choices) read_finish(choice, record);
  read_counts(facts, facts.choices.empty() || finished_, at, true, record);

  const unsigned usage_mark = facts.usage ? unsigned{measure::kUsage} : 0u;
  if (facts.choices.empty()) {
    entry.marks = usage_mark & 0x3FFu;
    record.events.push_back(entry);
    return;
  }
  record.last_choice = at;

  // A running count belongs to the whole event: usage first, else the protocol's own counter (BC-6.5).
  const std::optional<std::int64_t> counter = facts.usage_output ? facts.usage_output : facts.meta_output;
  // A usage that comes for the first time with the last choice is the total of what was delivered before; only a count
  // that runs through the stream can tell of tokens without text. The protocol's own counter always runs.
  const bool rises = counter && *counter > counted_ && (counter_seen_ || !facts.usage_output);
  const MonoTime* last_token = record.last_token ? &*record.last_token : nullptr;
  const bool coalesced = last_token != nullptr && *last_token == at;
  bool first = true, counted = false;
  for (ChoiceFacts& choice : facts.choices) {
    if (cumulative_) choice.text = grown(choice, record);
    if (options_.echo_bytes > 0) choice.text = without_echo(choice);
    if (!options_.prompt_start.empty()) look_for_echo(choice, record);
    const bool answer = !choice.text.empty() || !choice.other.empty();
    const bool text = answer || !choice.reasoning.empty();
    const bool has_ids = choice.ids && *choice.ids > 0;
    const bool textless = !text && ((rises && !counted) || (has_ids && !counter));
    unsigned marks = measure::kChoice | usage_mark;
    if (!choice.finish.empty()) marks |= measure::kFinish;
    if (!first) marks |= measure::kContinued;
    entry.choice = static_cast<unsigned>(std::min<std::int64_t>(choice.index, StreamEvent::kChoiceLimit - 1)) & 0x3Fu;
    entry.set_tokens(std::nullopt);
    if (text || textless) {
      marks |= measure::kToken;
      if (text) marks |= measure::kText;
      if (answer) marks |= measure::kAnswer;
      if (coalesced) marks |= measure::kCoalesced;
      if (counter) {
        if (!counted) {
          if (!counter_gap_) entry.set_tokens(std::max<std::int64_t>(0, *counter - counted_));
          counted_ = std::max(counted_, *counter);
          counter_gap_ = false;
        } else {
          entry.set_tokens(0);  // the count of the event went to its first choice
        }
        counted = true;
      } else {
        counter_gap_ = true;
        if (choice.ids) entry.set_tokens(choice.ids);
      }
      if (choice.ids) record.ids_output = record.ids_output.value_or(0) + *choice.ids;
      if (textless) ++record.flags["textless"];
      record.text_bytes += static_cast<std::int64_t>(choice.text.size() + choice.reasoning.size() + choice.other.size());
      if (!record.first_token) record.first_token = at;
      if (answer && !record.first_answer) record.first_answer = at;
      record.last_token = at;
      has_output_ = true;
      keep(choice, record);
    }
    entry.marks = marks & 0x3FFu;
    record.events.push_back(entry);
    first = false;
  }
  counter_seen_ = counter_seen_ || counter.has_value();
}

void StreamReader::take_body(std::string_view body, RequestRecord& record, EventFacts& scratch) {
  backend_->read(body, scratch);
  if (scratch.malformed) return record.fail("json", "the body is no JSON object");
  if (!scratch.error.empty()) return record.fail("inband_error", std::string(scratch.error.substr(0, kKeptDetail)));
  for (const ChoiceFacts& choice : scratch.choices) {
    read_finish(choice, record);
    has_output_ = has_output_ || !choice.text.empty() || !choice.reasoning.empty() || !choice.other.empty();
    record.text_bytes += static_cast<std::int64_t>(choice.text.size() + choice.reasoning.size() + choice.other.size());
    if (choice.ids) record.ids_output = record.ids_output.value_or(0) + *choice.ids;
    keep(choice, record);
  }
  read_counts(scratch, true, {}, false, record);
}

void StreamReader::finish(bool streamed, RequestRecord& record) const {
  if (!has_output_ && !options_.allow_empty) return record.fail("empty_output", "no output token");
  if (streamed && backend_->has_done_marker() && !done_) ++record.flags["no_done"];
  if (backend_->has_finish_reason() && !finished_) ++record.flags["no_finish"];
}

}  // namespace pawl::backend
