#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace pawl::stats {

/// Counts of whole numbers, for instance nanoseconds, in buckets of at most 0.1 % of their value: numbers below 1,024 are
/// kept exactly, larger ones in 1,024 buckets for each doubling (BC-8.10). Count, sum, least and greatest stay exact.
/// Adding one number costs a few instructions; memory is 8 KiB for each doubling that occurs. Merging loses nothing.
class LogHistogram {
 public:
  /// Negative numbers count as 0.
  void add(std::int64_t value, std::int64_t times = 1);
  /// The same as adding one after the other, cheaper.
  void add_all(std::span<const std::int64_t> values);
  void merge(const LogHistogram& other);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t min() const { return min_; }  ///< 0 without numbers
  [[nodiscard]] std::int64_t max() const { return max_; }
  [[nodiscard]] double sum() const { return static_cast<double>(sum_); }
  /// NaN without numbers, as are the next two.
  [[nodiscard]] double mean() const;
  /// Population form, from the middles of the buckets.
  [[nodiscard]] double population_std() const;
  /// Percentile `p` (0 to 100) by BC-8.7, from the middles of the buckets, never outside [min, max].
  [[nodiscard]] double percentile(double p) const;
  /// The number of rank `index` (from 0) in ascending order, as `percentile` reads it; 0 ≤ index < count.
  [[nodiscard]] double value_at(std::int64_t index) const;
  /// Calls `each(middle, count)` for every bucket that holds something, in ascending order.
  void for_each(const std::function<void(double, std::int64_t)>& each) const;
  /// How many numbers are above `limit`, to the width of a bucket.
  [[nodiscard]] std::int64_t count_above(std::int64_t limit) const;

 private:
  static constexpr int kBits = 10;
  static constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  static constexpr std::size_t kRows = 64 - kBits;
  using Row = std::array<std::int64_t, kBuckets>;
  struct Place {
    std::size_t row, bucket;
  };
  static Place place_of(std::uint64_t value);
  static double middle_of(std::size_t row, std::size_t bucket);

  std::array<std::unique_ptr<Row>, kRows> rows_;  ///< row r > 0: numbers of r + 9 bits after the first
  std::int64_t count_ = 0, min_ = 0, max_ = 0;
  long double sum_ = 0;  ///< whole numbers up to 2⁶⁴ are exact in it
};

/// A histogram that is fed in a hot loop: numbers are put down in a row and counted some hundreds at a time, when the
/// caches hold the buckets anyway.
class HistogramFeed {
 public:
  void add(std::int64_t value) {
    if (n_ == waiting_.size()) flush();
    waiting_[n_++] = value;
  }
  /// The histogram of all that was added; what comes then starts a new one.
  [[nodiscard]] LogHistogram take();

 private:
  void flush();
  LogHistogram histogram_;
  std::size_t n_ = 0;
  std::array<std::int64_t, 256> waiting_;
};

}  // namespace pawl::stats
