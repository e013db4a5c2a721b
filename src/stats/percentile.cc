#include "stats/percentile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/assert.h"

namespace pawl::stats {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

/// The two neighbours of a fractional position in 0 … n−1, and how far the position stands from the lower one.
struct Position {
  std::int64_t lower = 0;
  double fraction = 0;
};

Position position_of(std::int64_t n, double p) {
  PAWL_ASSERT(p >= 0 && p <= 100);
  const double at = static_cast<double>(n - 1) * p / 100.0;
  const auto lower = std::min(static_cast<std::int64_t>(std::floor(at)), n - 1);
  return {lower, at - static_cast<double>(lower)};
}

double between(double a, double b, double fraction) {
  if (fraction <= 0 || a == b) return a;  // also keeps two equal infinities from giving NaN
  return a + (b - a) * fraction;
}

}  // namespace

double percentile_sorted(std::span<const double> ascending, double p) {
  if (ascending.empty()) return kNotKnown;
  const auto n = static_cast<std::int64_t>(ascending.size());
  const Position at = position_of(n, p);
  const auto upper = std::min(at.lower + 1, n - 1);
  return between(ascending[static_cast<std::size_t>(at.lower)], ascending[static_cast<std::size_t>(upper)], at.fraction);
}

double percentile(std::span<const double> values, double p) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return percentile_sorted(sorted, p);
}

double weighted_percentile_sorted(std::span<const Weighted> ascending, double p) {
  std::int64_t total = 0;
  for (const Weighted& item : ascending) {
    PAWL_ASSERT(item.weight >= 0);
    total += item.weight;
  }
  if (total == 0) return kNotKnown;
  const Position at = position_of(total, p);
  const std::int64_t upper = std::min(at.lower + 1, total - 1);
  double low = kNotKnown;
  std::int64_t seen = 0;
  for (const Weighted& item : ascending) {
    const std::int64_t end = seen + item.weight;
    if (seen <= at.lower && at.lower < end) low = item.value;
    if (seen <= upper && upper < end) return between(low, item.value, at.fraction);
    seen = end;
  }
  return low;
}

double weighted_percentile(std::span<const Weighted> values, double p) {
  std::vector<Weighted> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, {}, &Weighted::value);
  return weighted_percentile_sorted(sorted, p);
}

}  // namespace pawl::stats
