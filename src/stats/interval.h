#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace pawl::stats {

/// Ranks (counting from 1) of the order statistics that bound a quantile. A rank that does not exist among n values is
/// absent: the interval is open on that side.
struct RankInterval {
  std::optional<std::int64_t> low, high;
};

/// The narrowest ranks whose interval covers quantile `q` (0 < q < 1) of any continuous distribution with at least
/// `confidence`, the rest split evenly to both sides. Independent values are assumed, no shape of theirs is.
[[nodiscard]] RankInterval quantile_ranks(std::int64_t n, double q, double confidence);

struct Interval {
  double low = 0, high = 0;
};

/// Interval of the median at `confidence`; nothing when n is too small for it (95 %: below 6). Values in ascending order.
[[nodiscard]] std::optional<Interval> median_interval_sorted(std::span<const double> ascending, double confidence = 0.95);

}  // namespace pawl::stats
