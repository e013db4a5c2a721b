#include "loadgen/summary.h"

#include <algorithm>
#include <optional>

#include "measure/request_metrics.h"
#include "stats/interval.h"
#include "stats/moments.h"
#include "stats/percentile.h"

namespace pawl::loadgen {

using measure::input_tokens;
using measure::output_tokens;
using measure::OutputTokens;
using measure::RequestMetrics;

model::Distribution describe(std::vector<double> values) {
  model::Distribution out;
  out.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) return out;
  std::ranges::sort(values);
  out.mean = stats::mean(values);
  out.std = stats::population_std(values);
  out.min = values.front();
  out.max = values.back();
  out.p50 = stats::percentile_sorted(values, 50);
  out.p90 = stats::percentile_sorted(values, 90);
  out.p95 = stats::percentile_sorted(values, 95);
  out.p99 = stats::percentile_sorted(values, 99);
  out.p99_9 = stats::percentile_sorted(values, 99.9);
  if (const auto interval = stats::median_interval_sorted(values)) out.ci95 = {interval->low, interval->high};
  return out;
}

model::Distribution describe_weighted(std::vector<stats::Weighted> values) {
  model::Distribution out;
  std::erase_if(values, [](const stats::Weighted& item) { return item.weight == 0; });
  if (values.empty()) return out;
  std::ranges::sort(values, {}, &stats::Weighted::value);
  for (const stats::Weighted& item : values) out.n += item.weight;
  out.mean = stats::weighted_mean(values);
  out.std = stats::weighted_population_std(values);
  out.min = values.front().value;
  out.max = values.back().value;
  out.p50 = stats::weighted_percentile_sorted(values, 50);
  out.p90 = stats::weighted_percentile_sorted(values, 90);
  out.p95 = stats::weighted_percentile_sorted(values, 95);
  out.p99 = stats::weighted_percentile_sorted(values, 99);
  out.p99_9 = stats::weighted_percentile_sorted(values, 99.9);
  return out;
}

namespace {

struct Samples {
  std::vector<double> ttft, tpot, e2el, gap, lag;
  std::vector<stats::Weighted> itl;
};

void add(std::vector<double>& to, const std::optional<double>& value) {
  if (value) to.push_back(*value);
}

void count_outcome(const RequestRecord& record, model::BenchResult& result) {
  switch (record.outcome) {
    case Outcome::kOk:
      ++result.counts.ok;
      return;
    case Outcome::kFailed:
      ++result.counts.failed;
      break;
    case Outcome::kTimeout:
      ++result.counts.timeout;
      break;
    case Outcome::kCancelled:
      ++result.counts.cancelled;
      return;
    case Outcome::kCensored:
      ++result.counts.censored;
      return;
    case Outcome::kSkipped:
      ++result.counts.skipped;
      return;
  }
  ++result.failures[record.failure];
}

/// No two prompts of a run are alike, so a server can know only what it wraps around them (the chat template) and a few
/// first tokens that are equal by chance. More than that, and it has seen the prompt before: in an earlier run with this seed.
bool prompt_was_cached(const RequestRecord& record) {
  if (!record.usage_cached) return false;
  const std::int64_t wrapping = std::max<std::int64_t>(0, record.usage_input.value_or(record.asked_input) - record.asked_input);
  return static_cast<double>(*record.usage_cached - wrapping) > 0.05 * static_cast<double>(record.asked_input);
}

void add_ok(const RequestRecord& record, const RequestMetrics& metrics, Samples& samples, model::BenchResult& result) {
  add(samples.ttft, metrics.ttft_ms);
  add(samples.tpot, metrics.tpot_ms);
  add(samples.e2el, metrics.e2el_ms);
  for (const measure::Sample& gap : metrics.gap) samples.gap.push_back(gap.ms);
  for (const measure::Sample& itl : metrics.itl) samples.itl.push_back({itl.ms, itl.weight});
  result.flags["token_events"] += metrics.token_events;
  if (metrics.coalesced_events > 0) result.flags["coalesced_events"] += metrics.coalesced_events;
  if (metrics.single_burst) ++result.flags["single_burst"];

  const OutputTokens output = output_tokens(record);
  ++result.osl_source[std::string(output.source)];
  if (output.approximate()) {
    ++result.flags["approximate"];
  } else {
    result.total_output_tokens += output.count;
    if (record.ignores_eos && output.count != record.asked_output) ++result.flags["osl_mismatch"];
  }
  if (const auto input = input_tokens(record)) {
    result.total_input_tokens += input->count;
    if (record.input_exact && input->count != record.asked_input) ++result.flags["isl_mismatch"];
  } else {
    ++result.flags["isl_unknown"];
  }
  if (record.usage_cached && *record.usage_cached > 0) ++result.flags["cached_input"];
  if (prompt_was_cached(record)) ++result.flags["cached_prompt"];
}

}  // namespace

void summarise(const PhaseLog& log, model::BenchResult& result) {
  Samples samples;
  std::optional<MonoTime> first_send, last_end;
  result.counts = {};
  result.counts.planned = static_cast<std::int64_t>(log.records.size());
  for (const RequestRecord& record : log.records) {
    count_outcome(record, result);
    for (const auto& [flag, n] : record.flags) result.flags[flag] += n;
    if (record.send && (!first_send || *record.send < *first_send)) first_send = record.send;
    if (record.end && (!last_end || *record.end > *last_end)) last_end = record.end;
    const RequestMetrics metrics = measure::metrics_of(record);
    add(samples.lag, metrics.lag_ms);
    if (metrics.coalesced_reads > 0) result.flags["coalesced_reads"] += metrics.coalesced_reads;
    if (record.outcome == Outcome::kOk) {
      add_ok(record, metrics, samples, result);
    } else if (metrics.token_events > 0) {
      result.flags["partial_tokens"] += output_tokens(record).count;
    }
  }

  result.clock = log.kernel_reads > 0 && log.kernel_reads >= log.user_reads ? "kernel" : "user";
  if (log.user_reads > 0) result.flags["user_stamp_reads"] = log.user_reads;
  if (log.kernel_reads > 0) result.flags["kernel_stamp_reads"] = log.kernel_reads;
  if (log.clock_steps > 0) result.flags["clock_steps"] = log.clock_steps;
  if (log.late_bodies > 0) result.flags["late_bodies"] = log.late_bodies;
  result.flags["peak_in_flight"] = log.peak_in_flight;

  if (first_send && last_end && *last_end > *first_send) {
    result.duration_s = seconds_of(*last_end - *first_send);
    result.request_throughput = static_cast<double>(result.counts.ok) / result.duration_s;
    const auto approximate = result.flags.find("approximate");
    // A rate over tokens that nobody counted would be a guess: with no trustworthy count there is none.
    if (result.counts.ok > 0 && (approximate == result.flags.end() || approximate->second < result.counts.ok)) {
      result.output_throughput = static_cast<double>(result.total_output_tokens) / result.duration_s;
      if (!result.flags.contains("isl_unknown")) {
        result.total_token_throughput = static_cast<double>(result.total_input_tokens + result.total_output_tokens) / result.duration_s;
      }
    }
  }

  result.metrics["ttft_ms"] = describe(std::move(samples.ttft));
  result.metrics["tpot_ms"] = describe(std::move(samples.tpot));
  result.metrics["e2el_ms"] = describe(std::move(samples.e2el));
  result.metrics["gap_ms"] = describe(std::move(samples.gap));
  result.metrics["lag_ms"] = describe(std::move(samples.lag));
  if (!samples.itl.empty()) result.metrics["itl_ms"] = describe_weighted(std::move(samples.itl));
  if (!log.rx_delay_ms.empty()) result.metrics["rx_delay_ms"] = describe(log.rx_delay_ms);
}

}  // namespace pawl::loadgen
