#include "telemetry/engine_metrics.h"
#include "telemetry/metrics_difference.h"

#include <gtest/gtest.h>

namespace pawl::telemetry {
namespace {

constexpr const char* kOld =
    "# HELP eng:tokens_total all of them\n# TYPE eng:tokens_total counter\neng:tokens_total{model=\"m\"} 100.0\n"
    "# TYPE eng:wait_seconds histogram\neng:wait_seconds_bucket{le=\"1\"} 3\neng:wait_seconds_bucket{le=\"+Inf\"} 4\neng:wait_seconds_sum 2.5\n"
    "eng:wait_seconds_count 4\n# TYPE eng:running gauge\neng:running 2\n# TYPE eng:age_seconds summary\neng:age_seconds{quantile=\"0.5\"} 9\n"
    "eng:age_seconds_sum 18\neng:age_seconds_count 2\n";
constexpr const char* kNew =
    "# TYPE eng:tokens_total counter\neng:tokens_total{model=\"m\",is_streaming=\"true\"} 130.0\n"
    "eng:tokens_total{model=\"m\",is_streaming=\"false\"} 5 1796049551000\n"
    "eng:wait_seconds_sum 3.5\neng:wait_seconds_count 6\neng:plain_total{path=\"a}b\\\"c\"} 7\neng:bad NaN\nnonsense\neng:running{x=\"1\"} "
    "1\neng:running{x=\"2\"} 3\n";

TEST(EngineMetrics, NamesAreSummedOverTheirSeries) {
  const MetricsPage page = parse_metrics(kNew);
  EXPECT_EQ(page.counters.at("eng:tokens_total"), 135);
  EXPECT_EQ(page.series.at("eng:tokens_total"), 2);
  EXPECT_TRUE(page.labels.at("eng:tokens_total").contains("is_streaming"));
  EXPECT_EQ(page.counters.at("eng:plain_total"), 7);
  EXPECT_EQ(page.gauges.at("eng:running"), 4);
  EXPECT_FALSE(page.gauges.contains("eng:bad"));
}

TEST(EngineMetrics, BucketsAndQuantilesAreLeftOutSumsAndCountsCount) {
  const MetricsPage page = parse_metrics(kOld);
  EXPECT_EQ(page.counters.size(), 5u);
  EXPECT_EQ(page.counters.at("eng:wait_seconds_count"), 4);
  EXPECT_EQ(page.counters.at("eng:age_seconds_sum"), 18);
  EXPECT_EQ(page.gauges.size(), 1u);
}

TEST(EngineMetrics, ALabelThatIsNewTearsNothingApart) {
  const auto counters = counter_changes("http://e/metrics", parse_metrics(kOld), parse_metrics(kNew));
  EXPECT_EQ(counters.change.at("eng:tokens_total"), 35);
  EXPECT_EQ(counters.change.at("eng:wait_seconds_count"), 2);
  EXPECT_EQ(counters.change.at("eng:plain_total"), 7);
  EXPECT_TRUE(counters.restarted.empty());
}

TEST(EngineMetrics, ACounterThatFellWasRestarted) {
  const auto counters = counter_changes("u", parse_metrics("a_total 10\n"), parse_metrics("a_total 4\n"));
  EXPECT_EQ(counters.restarted, std::vector<std::string>{"a_total"});
  EXPECT_EQ(counters.change.at("a_total"), 4);
}

TEST(MetricsDifference, ALabelThatWasGainedLeavesTheSumAsItIs) {
  const MetricsPage before = parse_metrics("# TYPE a counter\na{m=\"x\"} 5\n# TYPE gone gauge\ngone 1\n# TYPE same gauge\nsame 2\n");
  const MetricsPage after =
      parse_metrics("# TYPE a counter\na{m=\"x\",role=\"p\"} 2\na{m=\"x\",role=\"d\"} 3\n# TYPE same gauge\nsame 7\n# TYPE fresh gauge\nfresh 1\n");
  const MetricsDifference found = metrics_difference(before, after);
  EXPECT_EQ(found.added, std::vector<std::string>{"fresh"});
  EXPECT_EQ(found.gone, std::vector<std::string>{"gone"});
  EXPECT_EQ(found.unchanged, 1);
  ASSERT_EQ(found.labels.size(), 1u);
  EXPECT_EQ(found.labels[0].gained, std::vector<std::string>{"role"});
  EXPECT_EQ(found.labels[0].new_series, 2);
  EXPECT_EQ(found.labels[0].old_sum, 5);
  EXPECT_EQ(found.labels[0].new_sum, 5);
}

}  // namespace
}  // namespace pawl::telemetry
