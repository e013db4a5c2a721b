#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/bench_details.h"
#include "model/distribution.h"
#include "stats/log_histogram.h"
#include "stats/percentile.h"

namespace pawl::measure {

/// The statistics of values in any order (BC-8.7 to BC-8.11).
[[nodiscard]] model::Distribution describe(std::vector<double> values);
/// The same of values in ascending order.
[[nodiscard]] model::Distribution describe_sorted(const std::vector<double>& ascending);
/// The same as if each value were written down `weight` times; n counts them so. Without intervals: the repetitions are
/// not independent.
[[nodiscard]] model::Distribution describe_weighted(std::vector<stats::Weighted> values);
/// The same of a histogram of nanoseconds, in milliseconds, within 0.1 %; n, mean, sum, min and max exact.
[[nodiscard]] model::Distribution describe_histogram(const stats::LogHistogram& nanos, bool weighted);

/// Buckets of a tenth of a decade for plots.
[[nodiscard]] model::BenchHistogram plot_buckets(const std::function<void(const std::function<void(double, std::int64_t)>&)>& each);

/// How many values a percentile needs for a claim of two decimals at 99 % (BC-8.11).
[[nodiscard]] std::int64_t needed_for(double p);

}  // namespace pawl::measure
