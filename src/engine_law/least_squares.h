#pragma once

#include <functional>
#include <span>
#include <vector>

namespace pawl::engine_law {

/// One unknown: where to begin, between which limits, and how far to step for the difference quotient.
struct Unknown {
  double start = 0, low = 0, high = 0, step = 0.01;
};

/// The residuals for a choice of the unknowns; always equally many.
using Residuals = std::function<std::vector<double>(std::span<const double>)>;

/// Least squares by Levenberg (1944) and Marquardt (1963): damped Gauss–Newton steps with one-sided difference quotients,
/// unknowns kept within their limits. For a handful of unknowns: the normal equations are solved directly. Stops when a
/// round no longer lowers the sum of squares by a ten-thousandth, or after `rounds`.
struct LeastSquares {
  std::vector<double> unknowns;
  double sum_of_squares = 0;
  int rounds = 0;
};
[[nodiscard]] LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns, int rounds = 30);

}  // namespace pawl::engine_law
