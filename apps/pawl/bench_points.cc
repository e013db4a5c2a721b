#include "bench_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "codec/describe.h"
#include "loadgen/rate_search.h"

namespace pawl::app {
namespace {

constexpr double kTolerance = 0.05;  ///< of the rate that a search gives
constexpr double kKeptUp = 0.95;     ///< a server that answers less than this share of what arrives falls behind
constexpr std::int64_t kSaltStep = 1'000'003;

/// BC-9.10: each point has prompts of its own, so that none meets the cache of an earlier one; unless the user wants pairs.
Result<loadgen::LoadRequest> with_own_prompts(const LoadFlags& flags, loadgen::LoadRequest load, const PointWorkload& workload_of, std::size_t point) {
  if (flags.paired) return load;
  load.seed += static_cast<std::int64_t>(point) * kSaltStep;
  if (load.workload && point > 0) {
    PAWL_ASSIGN(load.workload, workload_of(point));
  }
  return load;
}

std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.2f}", value) : "-"; }

double of(const model::BenchResult& result, const char* metric, double model::Distribution::*what) {
  const auto found = result.metrics.find(metric);
  return found == result.metrics.end() || found->second.n == 0 ? model::kUnknown : found->second.*what;
}

}  // namespace

Result<std::vector<BenchPoint>> run_sweep(const LoadFlags& flags, const loadgen::LoadRequest& base, const PointWorkload& workload_of, io::Progress& progress,
                                          std::stop_token stop, const AfterPoint& after) {
  std::vector<BenchPoint> points;
  const auto measure = [&](loadgen::LoadRequest load, double rate) -> Status {
    BenchPoint& point = points.emplace_back();
    point.rate_per_s = rate;
    point.concurrency = rate > 0 ? load.open_limit.value_or(0) : load.concurrency;
    PAWL_ASSIGN(point.result, loadgen::run_load(load, progress, stop));
    return after(point.result);
  };
  for (const std::int64_t concurrency : flags.sweep_concurrency) {
    PAWL_ASSIGN(loadgen::LoadRequest load, with_own_prompts(flags, base, workload_of, points.size()));
    load.concurrency = concurrency;
    if (base.requests == 0) load.requests = 10 * concurrency;
    load.warmups = std::min(load.warmups, 2 * concurrency);
    PAWL_TRY(measure(std::move(load), 0));
    if (stop.stop_requested()) return points;
  }
  for (const double rate : flags.sweep_rate) {
    PAWL_ASSIGN(loadgen::LoadRequest load, with_own_prompts(flags, base, workload_of, points.size()));
    set_rate(flags, rate, load);
    PAWL_TRY(measure(std::move(load), rate));
    if (stop.stop_requested()) return points;
  }
  return points;
}

Result<std::pair<BenchSearch, std::vector<BenchPoint>>> find_max_rate(const LoadFlags& flags, const loadgen::LoadRequest& base,
                                                                      const PointWorkload& workload_of, io::Progress& progress, std::stop_token stop,
                                                                      const AfterPoint& after) {
  std::vector<loadgen::RunLimit> limits;
  for (const std::string& text : flags.slo) {
    if (!loadgen::is_run_limit(text)) continue;
    PAWL_ASSIGN(limits.emplace_back(), loadgen::parse_run_limit(text));
  }
  if (limits.empty()) return usage_error("--find-max-rate needs a limit to hold", "give one, for instance --slo ttft_p99:500ms");
  // At low rates a probe lasts longer, so that some requests arrive; a rate that brings none in five times the probe is no rate.
  const double longest_s = 5 * flags.probe_s;
  loadgen::RateSearch search(std::max(1.0, 1 / longest_s), kTolerance, 1 / longest_s);
  std::vector<BenchPoint> probes;
  while (const auto rate = search.next()) {
    PAWL_ASSIGN(loadgen::LoadRequest load, with_own_prompts(flags, base, workload_of, probes.size()));
    set_rate(flags, *rate, load);
    load.duration_s = std::clamp(20 / *rate, flags.probe_s, longest_s);
    BenchPoint& probe = probes.emplace_back();
    probe.rate_per_s = *rate;
    probe.concurrency = load.open_limit.value_or(0);
    PAWL_ASSIGN(probe.result, loadgen::run_load(load, progress, stop));
    if (stop.stop_requested()) return cancelled();
    PAWL_TRY(after(probe.result));
    const model::BenchResult& result = probe.result;
    probe.holds = result.verdict != "INVALID" && result.counts.ok >= static_cast<std::int64_t>(kKeptUp * static_cast<double>(result.counts.planned));
    // A server that only queues what arrives shows in how long it goes on after the last arrival.
    probe.holds = probe.holds &&
                  result.request_throughput >= kKeptUp * *rate * load.duration_s / (load.duration_s + of(result, "e2el_ms", &model::Distribution::max) / 1000);
    for (const loadgen::RunLimit& limit : limits) probe.holds = probe.holds && loadgen::value_of(limit, result) <= limit.bound_ms;
    search.report(*rate, probe.holds);
    progress.report({.stage = "search", .message = fmt::format("{:.2f} requests/s {}", *rate, probe.holds ? "hold" : "do not hold"), .done = {}, .total = {}});
  }
  return std::pair{BenchSearch{search.best().value_or(0), search.lowest_failed().value_or(0)}, std::move(probes)};
}

void print_points(const std::vector<BenchPoint>& points) {
  fmt::print("  {:>11}{:>13}{:>9}{:>12}{:>13}{:>12}{:>12}{:>12}  {}\n", "rate/s", "concurrency", "ok", "requests/s", "out tok/s", "ttft p50", "ttft p99",
             "tpot p50", "verdict");
  for (const BenchPoint& point : points) {
    const model::BenchResult& r = point.result;
    fmt::print("  {:>11}{:>13}{:>9}{:>12}{:>13}{:>12}{:>12}{:>12}  {}{}\n", point.rate_per_s > 0 ? number(point.rate_per_s) : "-",
               point.concurrency > 0 ? std::to_string(point.concurrency) : "-", r.counts.ok, number(r.request_throughput), number(r.output_throughput),
               number(of(r, "ttft_ms", &model::Distribution::p50)), number(of(r, "ttft_ms", &model::Distribution::p99)),
               number(of(r, "tpot_ms", &model::Distribution::p50)), r.verdict, point.holds ? "" : "  (a limit is not kept)");
  }
}

codec::Json points_document(const std::vector<BenchPoint>& points, const BenchSearch* search, bool paired) {
  codec::Json document;
  document["schema"] = "pawl.bench-sweep/1";
  if (search != nullptr) {
    document["max_rate_per_s"] = search->rate_per_s > 0 ? codec::Json(search->rate_per_s) : codec::Json();
    document["lowest_failed_rate_per_s"] = search->lowest_failed_per_s > 0 ? codec::Json(search->lowest_failed_per_s) : codec::Json();
  }
  document["prompts"] = paired ? "paired" : "own";
  document["points"] = codec::Json::array();
  for (const BenchPoint& point : points) {
    codec::Json item;
    item["rate_per_s"] = point.rate_per_s > 0 ? codec::Json(point.rate_per_s) : codec::Json();
    item["concurrency"] = point.concurrency > 0 ? codec::Json(point.concurrency) : codec::Json();
    if (search != nullptr) item["holds"] = point.holds;
    item["result"] = codec::to_json(point.result);
    document["points"].push_back(std::move(item));
  }
  return document;
}

}  // namespace pawl::app
