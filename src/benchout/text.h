#pragma once

#include <optional>
#include <string>

#include "benchout/run_info.h"

namespace pawl::benchout {

/// The result as people read it on a terminal, up to 100 columns wide. Ends with a line end.
[[nodiscard]] std::string text_report(const model::BenchResult& result);

/// What is known of the power beside it, a line each, after an empty one.
[[nodiscard]] std::string power_text(const model::BenchPower& power);

/// Two results side by side: value, change in per cent, and for percentiles whether the 99 % intervals lie apart. Ends
/// with a line end.
[[nodiscard]] std::string text_comparison(const model::BenchResult& a, const model::BenchResult& b);

/// One metric of a comparison.
struct MetricChange {
  std::string metric, statistic;  ///< "ttft_ms", "p50"
  double a = 0, b = 0;
  std::optional<double> change_pct;     ///< absent when a is 0 or unknown
  std::optional<bool> intervals_apart;  ///< absent where one has no interval
};
[[nodiscard]] std::vector<MetricChange> changes(const model::BenchResult& a, const model::BenchResult& b);

}  // namespace pawl::benchout
