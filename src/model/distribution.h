#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pawl::model {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What is known of one metric over its population. Unit: that of the key which holds it (`ttft_ms`: milliseconds).
/// A value that does not exist (n = 0, no interval) is NaN in memory and absent in JSON.
struct Distribution {
  std::int64_t n = 0;
  double mean = kUnknown;
  double std = kUnknown;  ///< population form
  double min = kUnknown;
  double p50 = kUnknown, p90 = kUnknown, p95 = kUnknown, p99 = kUnknown, p99_9 = kUnknown;
  double max = kUnknown;
  std::vector<double> ci95;  ///< of the median, from order statistics: [low, high]; empty when n is too small
  double p1 = kUnknown, p5 = kUnknown, p10 = kUnknown, p25 = kUnknown, p75 = kUnknown;
  double std_sample = kUnknown;  ///< sample form
  double sum = kUnknown;
  /// 99 % interval of each percentile from order statistics, whatever the distribution: {"p99": [low, high]}. A bound
  /// whose rank does not exist is null (BC-8.11).
  std::optional<std::map<std::string, std::vector<std::optional<double>>>> ci99;
  std::optional<std::vector<std::string>> few;  ///< percentiles that so few values do not support
};
BOOST_DESCRIBE_STRUCT(Distribution, (), (n, mean, std, min, p50, p90, p95, p99, p99_9, max, ci95, p1, p5, p10, p25, p75, std_sample, sum, ci99, few))

}  // namespace pawl::model
