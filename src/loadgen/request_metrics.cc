#include "loadgen/request_metrics.h"

#include <algorithm>

namespace pawl::loadgen {
namespace {

/// Tokens per event, if known for every one of them.
std::optional<std::vector<std::int64_t>> tokens_per_event(const RequestRecord& record, const OutputTokens& total) {
  std::vector<std::int64_t> counts;
  for (const TokenEvent& event : record.tokens) {
    if (event.tokens) counts.push_back(*event.tokens);
  }
  if (counts.size() == record.tokens.size()) return counts;
  // Each token event has at least one token: as many events as tokens leave one for each.
  if (!total.approximate() && total.count == static_cast<std::int64_t>(record.tokens.size())) return std::vector<std::int64_t>(record.tokens.size(), 1);
  return std::nullopt;
}

/// An event without a token of its own passes its gap on to the next one that has some.
std::vector<stats::Weighted> per_token(const std::vector<double>& gaps, const std::vector<std::int64_t>& counts) {
  std::vector<stats::Weighted> out;
  double carried = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    carried += gaps[i];
    const std::int64_t k = counts[i + 1];
    if (k == 0) continue;
    out.push_back({carried / static_cast<double>(k), k});
    carried = 0;
  }
  return out;
}

}  // namespace

OutputTokens output_tokens(const RequestRecord& record) {
  if (record.usage_output) return {*record.usage_output, record.usage_final ? "usage" : "usage_stream"};
  return {static_cast<std::int64_t>(record.tokens.size()), "events"};
}

std::optional<std::int64_t> input_tokens(const RequestRecord& record) {
  if (record.usage_input) return record.usage_input;
  if (record.input_exact) return record.asked_input;
  return std::nullopt;
}

RequestMetrics metrics_of(const RequestRecord& record) {
  RequestMetrics m;
  if (!record.send) return m;
  const MonoTime send = *record.send;
  m.lag_ms = millis_of(send - record.ready);
  if (record.first_event) m.ttfe_ms = millis_of(*record.first_event - send);
  if (record.tokens.empty()) {
    if (record.outcome == Outcome::kOk && record.end) m.e2el_ms = millis_of(*record.end - send);
    return m;
  }
  const MonoTime first = record.tokens.front().at, last = record.tokens.back().at;
  const OutputTokens total = output_tokens(record);
  m.ttft_ms = millis_of(first - send);
  m.e2el_ms = millis_of(last - send);
  m.coalesced = std::ranges::count_if(record.tokens, &TokenEvent::coalesced);
  m.single_burst = total.count > 1 && first == last;
  if (record.tokens.size() < 2 || first == last) return m;

  if (total.count > 1 && !total.approximate()) m.tpot_ms = millis_of(last - first) / static_cast<double>(total.count - 1);
  for (std::size_t i = 1; i < record.tokens.size(); ++i) m.gap_ms.push_back(millis_of(record.tokens[i].at - record.tokens[i - 1].at));
  if (const auto counts = tokens_per_event(record, total)) m.itl_ms = per_token(m.gap_ms, *counts);
  return m;
}

}  // namespace pawl::loadgen
