#include "compare/comparison.h"

#include <gtest/gtest.h>

namespace pawl::compare {
namespace {

using codec::Json;

Json row(const std::string& key, double tput, double tpot, double ttft, const std::string& verdict = "VALID", const std::string& scale = "1/1") {
  return {{"tp", 2},
          {"ep", 1},
          {"conc", 4},
          {"tput_per_gpu", tput},
          {"output_tput_per_gpu", tput / 9},
          {"mean_tpot", tpot},
          {"mean_ttft", ttft},
          {"pawl", {{"point_key", key}, {"verdict", verdict}, {"scale", scale}}}};
}

TEST(Comparison, DeltasAndClassesFollowTheDirectionOfTheMetric) {
  const auto c = compare({row("a", 1000, 0.010, 0.2)}, {row("a", 1100, 0.011, 0.1)}, {}, {}, Statistic::kMean);
  ASSERT_TRUE(c) << c.error().message;
  const auto& m = c->points[0].metrics;
  ASSERT_EQ(m.size(), 4u);
  EXPECT_NEAR(m[0].delta_percent, 10, 1e-9);
  EXPECT_EQ(m[0].change, Change::kImproved);
  EXPECT_EQ(m[2].key, "mean_tpot");
  EXPECT_EQ(m[2].change, Change::kRegressed);  // 10 % slower
  EXPECT_EQ(m[3].change, Change::kImproved);
  EXPECT_EQ(c->change, Change::kRegressed);  // one regression decides
  EXPECT_EQ(c->matched, 1);
}

TEST(Comparison, AGainBesideNoiseIsAGain) {
  const auto c = compare({row("a", 1000, 0.010, 0.2)}, {row("a", 1100, 0.010, 0.2)}, {}, {}, Statistic::kMean);
  EXPECT_EQ(c->points[0].change, Change::kImproved);
  EXPECT_EQ(c->change, Change::kImproved);
}

TEST(Comparison, SmallDifferencesAreEquivalent) {
  const auto c = compare({row("a", 1000, 0.010, 0.2)}, {row("a", 1010, 0.0101, 0.22)}, {}, {}, Statistic::kMean);
  EXPECT_EQ(c->change, Change::kEquivalent);
}

TEST(Comparison, UnmatchedMissingAndZeroAreNeverDeltas) {
  const auto c = compare({row("a", 0, 0.010, 0.2), row("gone", 1, 1, 1)}, {row("a", 1100, 0.010, 0.2), row("new", 1, 1, 1)}, {}, {}, Statistic::kMean);
  EXPECT_EQ(c->points[0].metrics[0].change, Change::kNotComparable);
  EXPECT_EQ(c->points[0].metrics[0].note, "no baseline value");
  EXPECT_FALSE(c->points[1].matched);
  EXPECT_EQ(c->points[1].metrics[0].note, "no matched baseline");
  EXPECT_EQ(c->missing, (std::vector<std::string>{"TP2/EP1 conc 4"}));
}

TEST(Comparison, AnUntrustedNumberIsInconclusiveAndAnotherScaleIsNoNumber) {
  EXPECT_EQ(compare({row("a", 1000, 1, 1)}, {row("a", 2000, 1, 1, "SUSPECT")}, {}, {}, Statistic::kMean)->points[0].metrics[0].change, Change::kInconclusive);
  const auto scaled = compare({row("a", 1000, 1, 1)}, {row("a", 2000, 1, 1, "VALID", "1/32")}, {}, {}, Statistic::kMean);
  EXPECT_EQ(scaled->points[0].metrics[0].change, Change::kNotComparable);
}

TEST(Comparison, TwoRowsOfOnePointAreRefused) { EXPECT_FALSE(compare({}, {row("a", 1, 1, 1), row("a", 1, 1, 1)}, {}, {}, Statistic::kMean)); }

TEST(Comparison, EvalsCompareOnlyLikeWithLike) {
  const auto eval = [](const std::string& key, int conc, double score, const std::string& definition) {
    return Json{{"tp", 2},
                {"ep", 1},
                {"conc", conc},
                {"task", "gsm8k"},
                {"em_strict", score},
                {"n_eff", 24},
                {"pawl", {{"point_key", key}, {"definition", definition}, {"threshold", 0.9}, {"passed", true}}}};
  };
  const auto c = compare({}, {}, {eval("a", 64, 0.95, "d1"), eval("b", 128, 0.95, "d1")},
                         {eval("a", 64, 0.97, "d1"), eval("b", 128, 0.9, "d2"), eval("c", 4, 0.9, "d1")}, Statistic::kMean);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->evals[0].baseline, 0.95);
  EXPECT_FALSE(c->evals[1].baseline);
  EXPECT_NE(c->evals[1].note.find("another definition"), std::string::npos);
  EXPECT_NE(c->evals[2].note.find("indicative"), std::string::npos);
}

}  // namespace
}  // namespace pawl::compare
