#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace pawl::measure {

/// The number of requests in flight as a function of time, from half-open intervals [send, end): one that ends at the
/// instant at which another starts does not overlap it (BC-8.5). Any unit of time.
class InFlight {
 public:
  /// Beginnings and ends in any order; one that is NaN never comes. Given away by a caller with millions, they are not copied.
  InFlight(std::vector<double> sends, std::vector<double> ends);

  [[nodiscard]] std::int64_t peak() const { return peak_; }
  /// Weighted by time over [from, to); NaN for an empty span.
  [[nodiscard]] double mean(double from, double to) const;

  struct Window {
    double from = 0, to = 0;
  };
  /// The longest span throughout which at least `threshold` are in flight (BC-12.3); of equal ones the first. Nothing when
  /// there is none.
  [[nodiscard]] std::optional<Window> longest_at_least(double threshold) const;

 private:
  std::vector<double> sends_, ends_;  ///< ascending, NaN left out
  std::int64_t peak_ = 0;
};

/// The sum of a list of equal steps between two positions in steps, with parts of the steps at the borders taken in
/// proportion.
[[nodiscard]] double sum_between(std::span<const double> steps, double from, double to);

}  // namespace pawl::measure
