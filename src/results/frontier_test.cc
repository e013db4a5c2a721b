#include "results/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace pawl::results {
namespace {

std::vector<CurvePoint> points(std::initializer_list<std::pair<double, double>> all) {
  std::vector<CurvePoint> out;
  for (const auto& [x, y] : all) out.push_back({x, y, out.size()});
  return out;
}

std::vector<std::size_t> members(const std::vector<CurvePoint>& frontier) {
  std::vector<std::size_t> out;
  for (const CurvePoint& p : frontier) out.push_back(p.origin);
  return out;
}

using Members = std::vector<std::size_t>;

TEST(Frontier, UpperLeftHasStrictlyFallingY) {
  EXPECT_EQ(members(corner_frontier(points({{1, 5}, {2, 5}, {3, 4}, {3, 3}, {0, 9}, {4, 1}}), Corner::kUpperLeft)), (Members{4, 1, 2, 5}));
  EXPECT_EQ(members(corner_frontier(points({{-1, 2}, {0, 3}, {1, 1}}), Corner::kUpperLeft)), (Members{1, 2}));
}

TEST(Frontier, UpperRightKeepsAnEqualYAtALargerX) {
  EXPECT_EQ(members(corner_frontier(points({{1, 2}, {2, 2}, {3, 1}, {4, 5}, {1, 1}}), Corner::kUpperRight)), (Members{0, 1, 3}));
}

TEST(Frontier, TheLowerCorners) {
  EXPECT_EQ(members(corner_frontier(points({{1, 5}, {1, 4}, {2, 4}, {3, 1}, {4, 2}}), Corner::kLowerLeft)), (Members{1, 3}));
  EXPECT_EQ(members(corner_frontier(points({{1, 1}, {2, 3}, {3, 2}, {3, 4}, {4, 5}}), Corner::kLowerRight)), (Members{0, 2, 4}));
}

TEST(Frontier, NothingThatIsNotFiniteIsACandidate) {
  EXPECT_TRUE(corner_frontier(points({{NAN, 1}, {1, INFINITY}}), Corner::kUpperLeft).empty());
  EXPECT_TRUE(global_frontier(points({{NAN, 1}, {1, INFINITY}}), true, true).empty());
  EXPECT_TRUE(corner_frontier({}, Corner::kLowerLeft).empty());
}

TEST(Frontier, GlobalDominanceIsStrictAndKeepsTies) {
  EXPECT_EQ(members(global_frontier(points({{1, 5}, {2, 5}, {2, 5}, {3, 1}, {1, 6}}), true, true)), (Members{4, 1, 2, 3}));
  EXPECT_EQ(members(global_frontier(points({{1, 5}, {2, 4}, {1, 4}}), false, false)), (Members{2}));
}

TEST(Frontier, GlobalEqualsTheDefinition) {
  // Every small grid point set by brute force.
  for (int mask = 1; mask < 512; ++mask) {
    std::vector<CurvePoint> all;
    for (int i = 0; i < 9; ++i) {
      if ((mask >> i & 1) != 0) all.push_back({static_cast<double>(i % 3), static_cast<double>(i / 3), static_cast<std::size_t>(i)});
    }
    Members wanted;
    for (const CurvePoint& p : all) {
      bool dominated = false;
      for (const CurvePoint& o : all) dominated = dominated || (o.x >= p.x && o.y >= p.y && (o.x > p.x || o.y > p.y));
      if (!dominated) wanted.push_back(p.origin);
    }
    Members got = members(global_frontier(all, true, true));
    std::ranges::sort(got), std::ranges::sort(wanted);
    EXPECT_EQ(got, wanted) << mask;
  }
}

TEST(Bootstrap, ABandHoldsTheReadingAndIsTheSameEveryTime) {
  std::vector<CurvePoint> all;
  for (int i = 0; i < 12; ++i) all.push_back({10.0 + i * 5, 100 - i * i * 0.5 + (i % 3), static_cast<std::size_t>(i)});
  const double reading = SteffenSpline(corner_frontier(all, Corner::kUpperLeft)).at(33);
  const Band band = bootstrap_band(all, 33, 200), again = bootstrap_band(all, 33, 200);
  EXPECT_LE(band.low, reading);
  EXPECT_GE(band.high, reading - 1e-9);
  EXPECT_LT(band.low, band.high);
  EXPECT_EQ(band.low, again.low);
  EXPECT_EQ(band.high, again.high);
  const Band one = bootstrap_band(points({{5, 7}}), 5, 50);
  EXPECT_EQ(one.low, 7);
  EXPECT_EQ(one.high, 7);
  EXPECT_EQ(bootstrap_band(points({{5, 7}}), 6, 50).high, 0);
}

TEST(Steffen, ClosedForms) {
  const SteffenSpline line(points({{0, 1}, {1, 3}, {4, 9}}));
  for (const double x : {0.0, 0.3, 1.0, 2.5, 4.0}) EXPECT_NEAR(line.at(x), 1 + 2 * x, 1e-12);
  const SteffenSpline plateau(points({{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(plateau.at(0.7), 1);
  const SteffenSpline step(points({{0, 0}, {1, 0}, {2, 1}, {3, 1}}));
  EXPECT_NEAR(step.at(1.5), 0.5, 1e-12);  // slopes 0 on both sides of the step
  const SteffenSpline one(points({{2, 7}}));
  EXPECT_EQ(one.at(-5), 7);
  const SteffenSpline two(points({{0, 0}, {2, 4}}));
  EXPECT_NEAR(two.at(0.5), 1, 1e-12);
  EXPECT_EQ(two.at(9), 4);
  // Never beyond its neighbours, also where the knots turn.
  const SteffenSpline turns(points({{0, 0}, {1, 2}, {2, 1}, {5, 1.5}}));
  for (double x = 0; x <= 5; x += 0.01) {
    const double low = x < 1 ? 0 : 1, high = x <= 2 ? 2 : 1.5;
    EXPECT_GE(turns.at(x), low - 1e-12);
    EXPECT_LE(turns.at(x), high + 1e-12);
  }
}

}  // namespace
}  // namespace pawl::results
