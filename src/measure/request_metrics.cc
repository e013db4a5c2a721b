#include "measure/request_metrics.h"

#include <array>
#include <initializer_list>

namespace pawl::measure {
namespace {

std::optional<double> span_ms(const std::optional<MonoTime>& from, const std::optional<MonoTime>& to) {
  if (!from || !to) return std::nullopt;
  return millis_of(*to - *from);
}

/// What the walk over a choice's events needs to remember.
struct ChoiceStream {
  bool seen = false;
  MonoTime last;
  double carried = 0;  ///< gaps of events without a token of their own (BC-7.20)
  bool carried_coalesced = false;
};

void clear(RequestMetrics& out) {
  auto gap = std::move(out.gap);
  auto itl = std::move(out.itl);
  gap.clear();
  itl.clear();
  out = {};
  out.gap = std::move(gap);
  out.itl = std::move(itl);
}

/// What the events say of their tokens.
struct EventTokens {
  std::int64_t events = 0, sum = 0;
  bool known = true;      ///< every event says
  bool one_each = false;  ///< none says, but as many events as tokens leave one for each
  std::optional<std::int64_t> first;
  MonoTime first_at, second_at, last_at;
};

EventTokens look_at_events(const RequestRecord& record, const OutputTokens& total, RequestMetrics& out) {
  EventTokens seen;
  bool before_coalesced = false;
  for (const StreamEvent& event : record.events) {
    if (!event.is(kToken)) continue;
    const auto k = event.tokens();
    seen.known = seen.known && k.has_value();
    seen.sum += k.value_or(0);
    if (seen.events == 0) {
      seen.first = k;
      seen.first_at = event.at;
    }
    if (seen.events == 1) seen.second_at = event.at;
    seen.last_at = event.at;
    ++seen.events;
    if (event.is(kCoalesced)) {
      ++out.coalesced_events;
      if (!before_coalesced) ++out.coalesced_reads;
    }
    before_coalesced = event.is(kCoalesced);
  }
  if (seen.events > 0 && !seen.known && !total.approximate() && total.count == seen.events) {
    // Each token event has at least one token.
    seen.one_each = true;
    seen.known = true;
    seen.sum = total.count;
    seen.first = 1;
  }
  return seen;
}

void walk_gaps(const RequestRecord& record, const EventTokens& seen, RequestMetrics& out) {
  std::array<ChoiceStream, StreamEvent::kChoiceLimit> streams{};
  for (const StreamEvent& event : record.events) {
    if (!event.is(kToken)) continue;
    ChoiceStream& stream = streams[event.choice];
    if (!stream.seen) {
      stream.seen = true;
      stream.last = event.at;
      continue;
    }
    const double gap = millis_of(event.at - stream.last);
    stream.last = event.at;
    const bool coalesced = event.is(kCoalesced);
    out.gap.push_back({gap, 1, coalesced});
    if (!out.max_gap_ms || gap > *out.max_gap_ms) out.max_gap_ms = gap;
    if (!seen.known) continue;
    const std::int64_t k = seen.one_each ? 1 : event.tokens().value_or(0);
    stream.carried += gap;
    stream.carried_coalesced = stream.carried_coalesced || coalesced;
    if (k == 0) continue;
    out.itl.push_back({stream.carried / static_cast<double>(k), k, stream.carried_coalesced});
    stream.carried = 0;
    stream.carried_coalesced = false;
  }
  out.itl_known = seen.known;
}

}  // namespace

OutputTokens output_tokens(const RequestRecord& record) {
  if (record.usage_output) return {*record.usage_output, record.usage_final ? "usage" : "usage_stream"};
  if (record.meta_output) return {*record.meta_output, "meta"};
  if (record.ids_output && *record.ids_output > 0) return {*record.ids_output, "ids"};
  if (record.retok_output) return {*record.retok_output, "retok"};
  return {record.token_events(), "events"};
}

std::optional<InputTokens> input_tokens(const RequestRecord& record) {
  if (record.usage_input) return InputTokens{*record.usage_input, "usage"};
  if (record.meta_input) return InputTokens{*record.meta_input, "meta"};
  if (record.input_exact) return InputTokens{record.asked_input, "exact"};
  if (record.retok_input) return InputTokens{*record.retok_input, "retok"};
  return std::nullopt;
}

std::optional<std::int64_t> cached_tokens(const RequestRecord& record) { return record.usage_cached ? record.usage_cached : record.meta_cached; }

void compute(const RequestRecord& record, const MetricOptions& options, RequestMetrics& out) {
  clear(out);
  if (!record.send) return;
  const std::optional<MonoTime> send = record.send;
  const std::optional<MonoTime> ready = record.ready;
  out.lag_ms = span_ms(record.admit ? record.admit : ready, send);
  if (record.admit) out.queue_client_ms = span_ms(ready, record.admit);
  out.connect_ms = span_ms(record.conn_start, record.conn_end);
  if (record.build) out.build_ms = millis_of(*record.build);
  out.ttfe_ms = span_ms(send, record.first_event);

  const bool ok = record.outcome == Outcome::kOk;
  const OutputTokens total = output_tokens(record);
  const bool counted = !total.approximate() || options.allow_approximate;
  const EventTokens seen = look_at_events(record, total, out);
  out.token_events = seen.events;
  const bool streamed = seen.events > 0;
  std::optional<MonoTime> last = record.end;
  if (streamed) {
    last = seen.last_at;
    out.ttft_ms = span_ms(send, seen.first_at);
    out.ttft_sched_ms = span_ms(ready, seen.first_at);
    out.ttfa_ms = span_ms(send, record.first_answer);
    if (counted) out.tok_per_event = static_cast<double>(total.count) / static_cast<double>(seen.events);
  }
  if (ok) {
    out.e2el_ms = span_ms(send, last);
    out.e2el_sched_ms = span_ms(ready, last);
    out.e2el_body_ms = span_ms(send, record.end);
    if (counted && total.count > 0 && out.e2el_ms) out.ntpot_ms = *out.e2el_ms / static_cast<double>(total.count);
  }
  if (!streamed) return;
  if (seen.known) out.k_residual = total.count - seen.sum;
  const bool one_time = seen.first_at == seen.last_at;
  out.single_burst = one_time && total.count > 1;
  if (seen.events < 2 || out.single_burst) return;

  out.ttst_ms = millis_of(seen.second_at - seen.first_at);
  const double decode = millis_of(seen.last_at - seen.first_at);
  if (counted && total.count > 1) {
    out.tpot_ms = decode / static_cast<double>(total.count - 1);
    if (*out.tpot_ms > 0) out.user_tps = 1000 / *out.tpot_ms;
  }
  if (counted && seen.first && total.count > *seen.first) out.tpot_decode_ms = decode / static_cast<double>(total.count - *seen.first);
  walk_gaps(record, seen, out);
}

RequestMetrics metrics_of(const RequestRecord& record, const MetricOptions& options) {
  RequestMetrics out;
  compute(record, options, out);
  return out;
}

std::string_view order_violation(const RequestRecord& record) {
  const std::optional<MonoTime> ready = record.ready;
  const std::optional<MonoTime> admit = record.admit ? record.admit : ready;
  struct Pair {
    const std::optional<MonoTime>& early;
    const std::optional<MonoTime>& late;
    std::string_view text;
  };
  const std::optional<MonoTime> first_token = record.first_token ? record.first_token : record.end;
  const std::optional<MonoTime> last_token = record.last_token ? record.last_token : record.end;
  for (const Pair& pair : std::initializer_list<Pair>{{record.sched, ready, "sched > ready"},
                                                      {ready, admit, "ready > admit"},
                                                      {admit, record.send, "admit > send"},
                                                      {record.send, record.sent, "send > sent"},
                                                      {record.send, record.head, "send > head"},
                                                      {record.head, record.first_event, "head > first_event"},
                                                      {record.first_event, first_token, "first_event > first_token"},
                                                      {first_token, last_token, "first_token > last_token"},
                                                      {last_token, record.end, "last_token > end"}}) {
    if (pair.early && pair.late && *pair.late < *pair.early) return pair.text;
  }
  return {};
}

}  // namespace pawl::measure
