#include "stats/interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/assert.h"

namespace pawl::stats {
namespace {

/// Probabilities of a binomial count, kept only where they are not negligible: outside 12 standard deviations the mass
/// is below 1e-30 and would cost a pass over all of n.
struct Binomial {
  std::int64_t first = 0;
  std::vector<double> mass;

  Binomial(std::int64_t n, double q) {
    const double centre = static_cast<double>(n) * q;
    const double reach = 12 * std::sqrt(static_cast<double>(n) * q * (1 - q)) + 12;
    first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(centre - reach)));
    const auto last = std::min(n, static_cast<std::int64_t>(std::ceil(centre + reach)));
    const auto size = static_cast<double>(n);
    for (std::int64_t k = first; k <= last; ++k) {
      const auto x = static_cast<double>(k);
      mass.push_back(std::exp(std::lgamma(size + 1) - std::lgamma(x + 1) - std::lgamma(size - x + 1) + x * std::log(q) + (size - x) * std::log1p(-q)));
    }
  }
};

}  // namespace

RankInterval quantile_ranks(std::int64_t n, double q, double confidence) {
  PAWL_ASSERT(q > 0 && q < 1 && confidence > 0 && confidence < 1);
  RankInterval ranks;
  if (n < 1) return ranks;
  const Binomial count(n, q);
  const double tail = (1 - confidence) / 2;

  // low: the largest l with P(count ≤ l−1) ≤ tail.
  double below = 0;
  for (std::size_t i = 0; i < count.mass.size(); ++i) {
    below += count.mass[i];
    if (below > tail) {
      const std::int64_t low = count.first + static_cast<std::int64_t>(i);
      if (low >= 1) ranks.low = low;
      break;
    }
  }
  // high: the smallest u with P(count ≥ u) ≤ tail.
  double above = 0;
  for (std::size_t i = count.mass.size(); i-- > 0;) {
    above += count.mass[i];
    if (above > tail) {
      const std::int64_t high = count.first + static_cast<std::int64_t>(i) + 1;
      if (high <= n) ranks.high = high;
      break;
    }
  }
  return ranks;
}

std::optional<Interval> median_interval_sorted(std::span<const double> ascending, double confidence) {
  const RankInterval ranks = quantile_ranks(static_cast<std::int64_t>(ascending.size()), 0.5, confidence);
  if (!ranks.low || !ranks.high) return std::nullopt;
  return Interval{ascending[static_cast<std::size_t>(*ranks.low - 1)], ascending[static_cast<std::size_t>(*ranks.high - 1)]};
}

}  // namespace pawl::stats
