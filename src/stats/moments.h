#pragma once

#include <cstdint>
#include <span>

#include "stats/percentile.h"

namespace pawl::stats {

/// Sum with compensation (Neumaier): the error does not grow with the number of values.
[[nodiscard]] double sum(std::span<const double> values);

/// Arithmetic mean. NaN for no values.
[[nodiscard]] double mean(std::span<const double> values);

/// Standard deviation, population form (divides by n), in two passes. NaN for no values.
[[nodiscard]] double population_std(std::span<const double> values);

/// Standard deviation, sample form (divides by n−1). NaN for fewer than two values.
[[nodiscard]] double sample_std(std::span<const double> values);

/// The same two as if each value were written down `weight` times. NaN when the weights sum to 0.
[[nodiscard]] double weighted_mean(std::span<const Weighted> values);
[[nodiscard]] double weighted_population_std(std::span<const Weighted> values);

}  // namespace pawl::stats
