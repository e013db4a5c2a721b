#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/bench_result.h"

namespace pawl::loadgen {

/// Looks for the highest rate that holds: doubles until one fails, halves the distance then. No clock, no load: the caller
/// probes. A rate holds or fails for good; probes are not repeated.
class RateSearch {
 public:
  /// `tolerance`: the search ends when the lowest that failed is at most so much (as a share) above the highest that held.
  RateSearch(double start_per_s, double tolerance, double least_per_s = 0.01, double most_per_s = 1e6);

  /// The rate to probe next; nothing when the search is over.
  [[nodiscard]] std::optional<double> next() const;
  void report(double rate_per_s, bool holds);
  /// The highest that held; nothing when none did.
  [[nodiscard]] std::optional<double> best() const { return held_; }
  [[nodiscard]] std::optional<double> lowest_failed() const { return failed_; }

 private:
  double start_, tolerance_, least_, most_;
  std::optional<double> held_, failed_;
};

/// A limit of a whole run, as "ttft_p99:500ms", "e2el_mean:2s" or "tpot_p50:20".
struct RunLimit {
  std::string metric;     ///< key of BenchResult::metrics: "ttft_ms"
  std::string statistic;  ///< "p50", "p90", "p95", "p99", "p99.9", "mean", "max"
  double bound_ms = 0;
};
/// Error: kInvalid with what is wrong and how to write it.
[[nodiscard]] Result<RunLimit> parse_run_limit(std::string_view text);
/// Whether a text names a statistic of a run at all; otherwise it is a limit of single requests (goodput).
[[nodiscard]] bool is_run_limit(std::string_view text);
/// The value that a limit is about; NaN when the run does not have it, which fails the limit.
[[nodiscard]] double value_of(const RunLimit& limit, const model::BenchResult& result);

}  // namespace pawl::loadgen
