#include "engine_law/least_squares.h"

#include <algorithm>
#include <cmath>

namespace pawl::engine_law {
namespace {

double squares(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v * v;
  return sum;
}

/// Solves a·x = b for a symmetric positive definite matrix by Cholesky; nothing when it is not one.
bool solve(std::vector<std::vector<double>> a, std::vector<double> b, std::vector<double>& x) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[i][i] = std::sqrt(sum);
      } else {
        a[i][j] = sum / a[j][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  x = std::move(b);
  return true;
}

}  // namespace

LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns, int rounds) {
  const std::size_t n = unknowns.size();
  LeastSquares best;
  for (const Unknown& u : unknowns) best.unknowns.push_back(std::clamp(u.start, u.low, u.high));
  std::vector<double> at_best = residuals(best.unknowns);
  best.sum_of_squares = squares(at_best);
  double damping = 1e-2;
  for (; best.rounds < rounds; ++best.rounds) {
    const double before = best.sum_of_squares;
    std::vector<std::vector<double>> slopes(n);  // of every residual, an unknown
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> moved = best.unknowns;
      // Away from the limit that is nearer.
      const double step = moved[i] + unknowns[i].step > unknowns[i].high ? -unknowns[i].step : unknowns[i].step;
      moved[i] += step;
      slopes[i] = residuals(moved);
      for (std::size_t r = 0; r < slopes[i].size(); ++r) slopes[i][r] = (slopes[i][r] - at_best[r]) / step;
    }
    std::vector<std::vector<double>> normal(n, std::vector<double>(n));
    std::vector<double> downhill(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < at_best.size(); ++r) normal[i][j] += slopes[i][r] * slopes[j][r];
      }
      for (std::size_t r = 0; r < at_best.size(); ++r) downhill[i] -= slopes[i][r] * at_best[r];
    }
    for (int tries = 0; tries < 8; ++tries) {
      auto damped = normal;
      for (std::size_t i = 0; i < n; ++i) damped[i][i] += damping * (normal[i][i] + 1e-6);
      std::vector<double> step;
      if (solve(damped, downhill, step)) {
        std::vector<double> moved = best.unknowns;
        for (std::size_t i = 0; i < n; ++i) moved[i] = std::clamp(moved[i] + step[i], unknowns[i].low, unknowns[i].high);
        std::vector<double> there = residuals(moved);
        if (const double sum = squares(there); sum < best.sum_of_squares) {
          best.unknowns = std::move(moved);
          best.sum_of_squares = sum;
          at_best = std::move(there);
          damping = std::max(damping / 5, 1e-9);
          break;
        }
      }
      damping *= 4;
    }
    if (before - best.sum_of_squares < 1e-4 * before) break;
  }
  return best;
}

}  // namespace pawl::engine_law
