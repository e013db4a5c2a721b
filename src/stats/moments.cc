#include "stats/moments.h"

#include <cmath>
#include <limits>

namespace pawl::stats {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

class CompensatedSum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

double squares_around(std::span<const double> values, double centre) {
  CompensatedSum total;
  for (const double x : values) total.add((x - centre) * (x - centre));
  return total.value();
}

std::int64_t weight_of(std::span<const Weighted> values) {
  std::int64_t total = 0;
  for (const Weighted& item : values) total += item.weight;
  return total;
}

}  // namespace

double sum(std::span<const double> values) {
  CompensatedSum total;
  for (const double x : values) total.add(x);
  return total.value();
}

double mean(std::span<const double> values) { return values.empty() ? kNotKnown : sum(values) / static_cast<double>(values.size()); }

double population_std(std::span<const double> values) {
  if (values.empty()) return kNotKnown;
  return std::sqrt(squares_around(values, mean(values)) / static_cast<double>(values.size()));
}

double sample_std(std::span<const double> values) {
  if (values.size() < 2) return kNotKnown;
  return std::sqrt(squares_around(values, mean(values)) / static_cast<double>(values.size() - 1));
}

double weighted_mean(std::span<const Weighted> values) {
  const std::int64_t weight = weight_of(values);
  if (weight == 0) return kNotKnown;
  CompensatedSum total;
  for (const Weighted& item : values) total.add(item.value * static_cast<double>(item.weight));
  return total.value() / static_cast<double>(weight);
}

double weighted_population_std(std::span<const Weighted> values) {
  const std::int64_t weight = weight_of(values);
  if (weight == 0) return kNotKnown;
  const double centre = weighted_mean(values);
  CompensatedSum total;
  for (const Weighted& item : values) total.add((item.value - centre) * (item.value - centre) * static_cast<double>(item.weight));
  return std::sqrt(total.value() / static_cast<double>(weight));
}

}  // namespace pawl::stats
