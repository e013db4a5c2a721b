#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/interval.h"
#include "stats/log_histogram.h"
#include "stats/moments.h"
#include "stats/percentile.h"

namespace pawl::stats {
namespace {

TEST(Percentile, InterpolatesAsNumPyDoes) {
  const std::vector<double> values{425.656364, 42.800481, 42.923581};
  EXPECT_DOUBLE_EQ(percentile(values, 50), 42.923581);
  EXPECT_DOUBLE_EQ(percentile(values, 25), 42.862031);
  EXPECT_NEAR(percentile(values, 90), 349.1098074, 1e-9);
  EXPECT_NEAR(percentile(values, 99), 418.00170834, 1e-9);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 42.800481);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 425.656364);
}

TEST(Percentile, OfNothingIsNotKnown) {
  EXPECT_TRUE(std::isnan(percentile({}, 50)));
  EXPECT_TRUE(std::isnan(weighted_percentile({}, 50)));
  EXPECT_TRUE(std::isnan(weighted_percentile(std::vector<Weighted>{{5, 0}}, 50)));
}

TEST(Percentile, OfOneValueIsThatValue) { EXPECT_EQ(percentile(std::vector<double>{7}, 99.9), 7); }

TEST(Percentile, WeightedEqualsWritingEachValueDownSoOften) {
  const std::vector<Weighted> weighted{{4, 3}, {1, 1}, {9, 0}, {2.5, 4}, {8, 2}};
  std::vector<double> plain;
  for (const Weighted& item : weighted) plain.insert(plain.end(), static_cast<std::size_t>(item.weight), item.value);
  for (double p = 0; p <= 100; p += 0.5) EXPECT_DOUBLE_EQ(weighted_percentile(weighted, p), percentile(plain, p)) << p;
  EXPECT_NEAR(weighted_mean(weighted), mean(plain), 1e-12);
  EXPECT_NEAR(weighted_population_std(weighted), population_std(plain), 1e-12);
}

TEST(Moments, SumKeepsWhatPlainAdditionLoses) {
  EXPECT_EQ(sum(std::vector<double>{1, 1e100, 1, -1e100}), 2);
  const std::vector<double> tenths(1'000'000, 0.1);
  EXPECT_DOUBLE_EQ(mean(tenths), 0.1);
}

TEST(Moments, StandardDeviationHasBothForms) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(population_std(values), 2);
  EXPECT_NEAR(sample_std(values), 2.138089935, 1e-9);
  EXPECT_TRUE(std::isnan(population_std({})));
  EXPECT_EQ(population_std(std::vector<double>{3}), 0);
  EXPECT_TRUE(std::isnan(sample_std(std::vector<double>{3})));
}

TEST(MedianInterval, HasTheRanksOfTheTables) {
  // Published ranks of the sign test at 95 %, equal tails.
  for (const auto& [n, low, high] : {std::tuple{6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {10, 2, 9}, {20, 6, 15}, {30, 10, 21}, {50, 18, 33}, {100, 40, 61}}) {
    const RankInterval ranks = quantile_ranks(n, 0.5, 0.95);
    EXPECT_EQ(ranks.low, low) << n;
    EXPECT_EQ(ranks.high, high) << n;
  }
  EXPECT_EQ(quantile_ranks(5, 0.5, 0.95).low, std::nullopt);
  EXPECT_EQ(quantile_ranks(0, 0.5, 0.95).high, std::nullopt);
}

TEST(MedianInterval, IsOpenWhereTheRankDoesNotExist) {
  const RankInterval ranks = quantile_ranks(100, 0.99, 0.99);
  EXPECT_TRUE(ranks.low.has_value());
  EXPECT_EQ(ranks.high, std::nullopt);
}

TEST(MedianInterval, TakesTheValuesAtThoseRanks) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const auto interval = median_interval_sorted(values);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 2);
  EXPECT_EQ(interval->high, 9);
  EXPECT_FALSE(median_interval_sorted(std::vector<double>{1, 2, 3, 4, 5}).has_value());
}

TEST(MedianInterval, StaysQuickAndNarrowForAMillionValues) {
  const RankInterval ranks = quantile_ranks(1'000'000, 0.5, 0.95);
  ASSERT_TRUE(ranks.low && ranks.high);
  EXPECT_NEAR(static_cast<double>(*ranks.low), 500'000 - 980, 3);
  EXPECT_NEAR(static_cast<double>(*ranks.high), 500'000 + 981, 3);
}

TEST(LogHistogram, StaysWithinATenthOfAPercentOfTheExactValues) {
  LogHistogram histogram;
  std::vector<double> values;
  std::uint64_t state = 1;
  long double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const auto value = static_cast<std::int64_t>(state >> (20 + (state >> 32) % 40));  // magnitudes from 2⁴ to 2⁴⁴
    histogram.add(value);
    values.push_back(static_cast<double>(value));
    sum += static_cast<long double>(value);
  }
  std::ranges::sort(values);
  for (const double p : {0.0, 0.1, 5.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
    const double exact = percentile_sorted(values, p);
    EXPECT_NEAR(histogram.percentile(p), exact, exact * 0.001) << p;
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_EQ(histogram.sum(), static_cast<double>(sum));
  EXPECT_NEAR(histogram.population_std(), population_std(values), population_std(values) * 0.001);
}

TEST(LogHistogram, IsExactBelowAThousandAndSaysNothingOfNothing) {
  LogHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.percentile(50)));
  EXPECT_TRUE(std::isnan(histogram.mean()));
  histogram.add(-5);
  histogram.add(7, 2);
  histogram.add(1023);
  EXPECT_EQ(histogram.percentile(0), 0);
  EXPECT_EQ(histogram.percentile(50), 7);
  EXPECT_EQ(histogram.max(), 1023);
  EXPECT_EQ(histogram.count_above(7), 1);
  EXPECT_EQ(histogram.count(), 4);
}

TEST(LogHistogram, AFeedEqualsAddingOneAfterTheOther) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  LogHistogram single;
  HistogramFeed feed;
  std::vector<std::int64_t> values = {-5, 0, 1, 1023, 1024, kMost, kMost, kMost};
  for (std::int64_t i = 0; i < 1000; ++i) values.push_back(i * i * 37);
  for (const std::int64_t value : values) {
    single.add(value);
    feed.add(value);
  }
  const LogHistogram fed = feed.take();
  EXPECT_EQ(fed.count(), single.count());
  EXPECT_EQ(fed.min(), 0);
  EXPECT_EQ(fed.max(), kMost);
  EXPECT_EQ(fed.sum(), single.sum());
  for (const double p : {0.0, 12.5, 50.0, 99.0, 100.0}) EXPECT_EQ(fed.percentile(p), single.percentile(p)) << p;
  EXPECT_EQ(feed.take().count(), 0);
}

TEST(LogHistogram, MergesWithoutLoss) {
  LogHistogram whole, left, right;
  for (std::int64_t i = 1; i < 100'000'000; i = i * 5 / 4 + 1) {
    whole.add(i, 3);
    (i % 2 == 0 ? left : right).add(i, 3);
  }
  left.merge(right);
  left.merge(LogHistogram());
  for (double p = 0; p <= 100; p += 2.5) EXPECT_EQ(left.percentile(p), whole.percentile(p));
  EXPECT_EQ(left.count(), whole.count());
  EXPECT_EQ(left.min(), whole.min());
  EXPECT_EQ(left.max(), whole.max());
  EXPECT_EQ(left.sum(), whole.sum());
}

}  // namespace
}  // namespace pawl::stats
