#pragma once

#include <cstdint>
#include <span>

/// Percentiles of plain numbers. Units are the caller's. "Not known" is NaN, here as in the results.
namespace pawl::stats {

/// Percentile `p` (0 to 100) of values in ascending order: position (n−1)·p/100 with linear interpolation, the default
/// of NumPy. NaN for no values.
[[nodiscard]] double percentile_sorted(std::span<const double> ascending, double p);

/// The same of values in any order.
[[nodiscard]] double percentile(std::span<const double> values, double p);

/// A value that stands for `weight` equal ones.
struct Weighted {
  double value = 0;
  std::int64_t weight = 1;  ///< not negative; 0 means absent
};

/// The percentile as if each value were written down `weight` times. `ascending` is in order of value.
[[nodiscard]] double weighted_percentile_sorted(std::span<const Weighted> ascending, double p);

/// The same in any order.
[[nodiscard]] double weighted_percentile(std::span<const Weighted> values, double p);

}  // namespace pawl::stats
