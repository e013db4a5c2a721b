#include "workload/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pawl::workload {
namespace {

std::vector<double> offsets(const ArrivalPlan& plan, int n) {
  auto schedule = Schedule::make(plan);
  EXPECT_TRUE(schedule.has_value());
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    const auto at = schedule->next();
    if (!at) break;
    out.push_back(seconds_of(*at));
  }
  return out;
}

TEST(Schedule, SpacesConstantArrivalsEvenlyFromTheStart) {
  EXPECT_EQ(offsets(constant_rate_plan(ArrivalProcess::kConstant, 4, 1, 0), 4), (std::vector<double>{0, 0.25, 0.5, 0.75}));
  // BC-9.4: any positive rate.
  EXPECT_EQ(offsets(constant_rate_plan(ArrivalProcess::kConstant, 0.05, 1, 0), 3), (std::vector<double>{0, 20, 40}));
}

TEST(Schedule, DrawsGammaGapsWithTheMeanAndTheSpreadOfItsBurstiness) {
  for (const double burstiness : {0.25, 1.0, 4.0}) {
    const auto at = offsets(constant_rate_plan(ArrivalProcess::kGamma, 10, burstiness, 7), 200'000);
    double sum = 0, squares = 0;
    for (std::size_t i = 1; i < at.size(); ++i) {
      const double gap = at[i] - at[i - 1];
      sum += gap;
      squares += gap * gap;
    }
    const double n = static_cast<double>(at.size() - 1), mean = sum / n, variance = squares / n - mean * mean;
    // Five standard errors of each.
    EXPECT_NEAR(mean, 0.1, 5 * 0.1 / std::sqrt(burstiness * n)) << burstiness;
    EXPECT_NEAR(variance / (0.01 / burstiness), 1, 5 * std::sqrt((2 + 6 / burstiness) / n)) << burstiness;
  }
}

TEST(Schedule, IsTheSameForTheSameSeedAndAnotherForAnotherSeedOrSalt) {
  ArrivalPlan plan = constant_rate_plan(ArrivalProcess::kGamma, 10, 1, 1);
  const auto first = offsets(plan, 100);
  EXPECT_EQ(offsets(plan, 100), first);
  plan.salt = 5;
  EXPECT_NE(offsets(plan, 100), first);
  plan.salt = 0;
  plan.seed = 2;
  EXPECT_NE(offsets(plan, 100), first);
}

TEST(Schedule, RescalesSoThatTheLastOfNComesAtNOverRate) {
  ArrivalPlan plan = constant_rate_plan(ArrivalProcess::kGamma, 8, 0.5, 3);
  plan.first_at_start = false;
  plan.rescale_n = 100;
  const auto at = offsets(plan, 100);
  EXPECT_NEAR(at.back(), 12.5, 1e-8);
  EXPECT_GT(at.front(), 0);
}

TEST(Schedule, FollowsRampsByTheirCumulativeRate) {
  ArrivalPlan plan;
  plan.process = ArrivalProcess::kConstant;
  plan.stages = {{1, 9, 10, StageShape::kLinear}, {10, 10, 2, StageShape::kLinear}};
  const auto linear = offsets(plan, 1000);
  ASSERT_EQ(linear.size(), 70u);  // 50 in the ramp, 20 in the plateau; the offset 12 s lies outside
  EXPECT_NEAR(linear[10], (-1 + std::sqrt(1 + 1.6 * 10)) / 0.8, 1e-8);
  EXPECT_NEAR(linear[50], 10, 1e-8);
  EXPECT_NEAR(linear[60], 11, 1e-8);

  plan.stages = {{1, std::exp(1.0), 10, StageShape::kExponential}, {2, 2, 0, StageShape::kLinear}};
  const auto growing = offsets(plan, 40);
  EXPECT_NEAR(growing[5], 10 * std::log1p(0.5), 1e-8);
  ASSERT_EQ(growing.size(), 40u);  // the last stage has no end
  EXPECT_NEAR(growing[39] - growing[38], 0.5, 1e-8);
}

TEST(Schedule, SendsAllAtOnceWhenAsked) {
  ArrivalPlan plan;
  plan.process = ArrivalProcess::kAtOnce;
  EXPECT_EQ(offsets(plan, 3), (std::vector<double>{0, 0, 0}));
}

TEST(Schedule, RefusesWhatHasNoMeaning) {
  EXPECT_FALSE(Schedule::make(constant_rate_plan(ArrivalProcess::kConstant, 0, 1, 0)).has_value());
  EXPECT_FALSE(Schedule::make(constant_rate_plan(ArrivalProcess::kGamma, 1, 0, 0)).has_value());
  EXPECT_FALSE(Schedule::make(constant_rate_plan(ArrivalProcess::kGamma, std::nan(""), 1, 0)).has_value());
  ArrivalPlan plan;
  EXPECT_FALSE(Schedule::make(plan).has_value());
  plan.stages = {{1, 2, 0, StageShape::kLinear}, {2, 2, 5, StageShape::kLinear}};
  EXPECT_FALSE(Schedule::make(plan).has_value());
  plan.stages = {{1, 2, 10, StageShape::kLinear}};
  plan.rescale_n = 10;
  EXPECT_FALSE(Schedule::make(plan).has_value());
}

}  // namespace
}  // namespace pawl::workload
