#include "stats/log_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace pawl::stats {

LogHistogram::Place LogHistogram::place_of(std::uint64_t value) {
  if (value < kBuckets) return {0, static_cast<std::size_t>(value)};
  const int shift = std::bit_width(value) - kBits - 1;  // leaves the leading 1 and kBits bits after it
  return {static_cast<std::size_t>(shift) + 1, static_cast<std::size_t>(value >> shift) - kBuckets};
}

double LogHistogram::middle_of(std::size_t row, std::size_t bucket) {
  if (row == 0) return static_cast<double>(bucket);
  const double width = std::ldexp(1.0, static_cast<int>(row) - 1);
  return static_cast<double>(kBuckets + bucket) * width + (width - 1) / 2;
}

void LogHistogram::add(std::int64_t value, std::int64_t times) {
  if (times <= 0) return;
  value = std::max<std::int64_t>(value, 0);
  const Place place = place_of(static_cast<std::uint64_t>(value));
  auto& row = rows_[place.row];
  if (!row) row = std::make_unique<Row>();
  (*row)[place.bucket] += times;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  sum_ += static_cast<long double>(value) * static_cast<long double>(times);
}

void LogHistogram::add_all(std::span<const std::int64_t> values) {
  if (values.empty()) return;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), greatest = 0;
  long double sum = 0;
  std::uint64_t part = 0;  // of the sum, while it cannot overflow
  for (std::int64_t value : values) {
    value = std::max<std::int64_t>(value, 0);
    const Place place = place_of(static_cast<std::uint64_t>(value));
    auto& row = rows_[place.row];
    if (!row) row = std::make_unique<Row>();
    ++(*row)[place.bucket];
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    part += static_cast<std::uint64_t>(value);
    if (part >> 63 != 0) {
      sum += static_cast<long double>(part);
      part = 0;
    }
  }
  min_ = count_ == 0 ? least : std::min(min_, least);
  max_ = std::max(max_, greatest);
  count_ += static_cast<std::int64_t>(values.size());
  sum_ += sum + static_cast<long double>(part);
}

void HistogramFeed::flush() {
  histogram_.add_all(std::span(waiting_).first(n_));
  n_ = 0;
}

LogHistogram HistogramFeed::take() {
  flush();
  return std::exchange(histogram_, LogHistogram{});
}

void LogHistogram::merge(const LogHistogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t r = 0; r < kRows; ++r) {
    if (!other.rows_[r]) continue;
    if (!rows_[r]) rows_[r] = std::make_unique<Row>();
    for (std::size_t b = 0; b < kBuckets; ++b) (*rows_[r])[b] += (*other.rows_[r])[b];
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

double LogHistogram::mean() const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(sum_ / static_cast<long double>(count_));
}

double LogHistogram::population_std() const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const double middle = mean();
  double squares = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    if (!rows_[r]) continue;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const double n = static_cast<double>((*rows_[r])[b]);
      if (n > 0) squares += n * (middle_of(r, b) - middle) * (middle_of(r, b) - middle);
    }
  }
  return std::sqrt(squares / static_cast<double>(count_));
}

double LogHistogram::value_at(std::int64_t index) const {
  std::int64_t seen = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    if (!rows_[r]) continue;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      seen += (*rows_[r])[b];
      if (seen > index) return std::clamp(middle_of(r, b), static_cast<double>(min_), static_cast<double>(max_));
    }
  }
  return static_cast<double>(max_);
}

void LogHistogram::for_each(const std::function<void(double, std::int64_t)>& each) const {
  for (std::size_t r = 0; r < kRows; ++r) {
    if (!rows_[r]) continue;
    for (std::size_t b = 0; b < kBuckets; ++b) {
      if ((*rows_[r])[b] > 0) each(std::clamp(middle_of(r, b), static_cast<double>(min_), static_cast<double>(max_)), (*rows_[r])[b]);
    }
  }
}

double LogHistogram::percentile(double p) const {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const double position = static_cast<double>(count_ - 1) * std::clamp(p, 0.0, 100.0) / 100;
  const double below = std::floor(position);
  const double low = value_at(static_cast<std::int64_t>(below));
  if (position == below) return low;
  const double high = value_at(static_cast<std::int64_t>(below) + 1);
  return low + (high - low) * (position - below);
}

std::int64_t LogHistogram::count_above(std::int64_t limit) const {
  std::int64_t n = 0;
  for (std::size_t r = 0; r < kRows; ++r) {
    if (!rows_[r]) continue;
    for (std::size_t b = 0; b < kBuckets; ++b) n += middle_of(r, b) > static_cast<double>(limit) ? (*rows_[r])[b] : 0;
  }
  return n;
}

}  // namespace pawl::stats
