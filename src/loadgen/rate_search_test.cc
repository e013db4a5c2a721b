#include "loadgen/rate_search.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::loadgen {
namespace {

/// Searches a server that holds up to `limit`; gives what was found and how many probes it took.
std::pair<std::optional<double>, int> search(double start, double limit) {
  RateSearch search(start, 0.05, 0.01, 1e6);
  int probes = 0;
  while (const auto rate = search.next()) {
    search.report(*rate, *rate <= limit);
    if (++probes > 100) break;
  }
  return {search.best(), probes};
}

TEST(RateSearch, ComesWithinTheToleranceBelowTheLimit) {
  for (const double limit : {0.02, 0.7, 1.0, 3.3, 50.0, 12345.0}) {
    const auto [found, probes] = search(1, limit);
    ASSERT_TRUE(found.has_value()) << limit;
    EXPECT_LE(*found, limit);
    EXPECT_GE(*found * 1.051, limit);
    EXPECT_LE(probes, 20);
  }
}

TEST(RateSearch, EndsWhereNothingOrEverythingHolds) {
  EXPECT_FALSE(search(1, 0.001).first.has_value());
  EXPECT_EQ(search(1, 1e9).first, 1e6);
}

TEST(RunLimit, IsReadWithItsUnit) {
  EXPECT_EQ(parse_run_limit("ttft_p99:500ms")->bound_ms, 500);
  EXPECT_EQ(parse_run_limit("e2el_mean:1.5s")->bound_ms, 1500);
  EXPECT_EQ(parse_run_limit("tpot_p99.9:20")->statistic, "p99.9");
  EXPECT_EQ(parse_run_limit("ttft_sched_p50:1s")->metric, "ttft_sched_ms");
  for (const char* bad : {"ttft:500", "ttft_p98:5", "speed_p99:1", "ttft_p99", "ttft_p99:", "ttft_p99:-1", "ttft_p99:5min", "ttft_p99:nan"}) {
    EXPECT_FALSE(parse_run_limit(bad).has_value()) << bad;
  }
  EXPECT_TRUE(is_run_limit("ttft_p99:500ms"));
  EXPECT_FALSE(is_run_limit("ttft:500ms"));
}

TEST(RunLimit, FailsWhereTheRunHasNoSuchValue) {
  model::BenchResult result;
  const RunLimit limit = *parse_run_limit("ttft_p99:500ms");
  EXPECT_TRUE(std::isnan(value_of(limit, result)));
  result.metrics["ttft_ms"].n = 3;
  result.metrics["ttft_ms"].p99 = 7;
  EXPECT_EQ(value_of(limit, result), 7);
}

}  // namespace
}  // namespace pawl::loadgen
