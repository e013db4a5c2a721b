#include "loadgen/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pawl::loadgen {
namespace {

Gate::Waiting arrival(std::int64_t unit) {
  Gate::Waiting out;
  out.item.unit = unit;
  return out;
}

TEST(Gate, LetsThroughUpToTheCapAndThenInTheOrderOfTheSchedule) {
  Gate gate(2);
  for (const std::int64_t unit : {0, 1}) {
    auto one = arrival(unit);
    EXPECT_TRUE(gate.enter(one));
  }
  for (const std::int64_t unit : {4, 3, 5}) {
    auto one = arrival(unit);
    EXPECT_FALSE(gate.enter(one));
  }
  EXPECT_EQ(gate.leave()->item.unit, 3);
  EXPECT_EQ(gate.leave()->item.unit, 4);
  EXPECT_EQ(gate.leave()->item.unit, 5);
  EXPECT_FALSE(gate.leave().has_value());
  auto next = arrival(6);
  EXPECT_TRUE(gate.enter(next));
}

TEST(Gate, NeverLetsMoreThroughThanTheCapWhateverTheThreads) {
  Gate gate(3);
  std::atomic<int> inside = 0, peak = 0, done = 0;
  const auto went_in = [&] {
    const int now = ++inside;
    for (int seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          auto one = arrival(t + 4 * i);
          if (!gate.enter(one)) continue;
          went_in();
          for (bool more = true; more;) {
            --inside;
            ++done;
            more = gate.leave().has_value();
            if (more) went_in();
          }
        }
      });
    }
  }
  EXPECT_EQ(done, 8000);
  EXPECT_LE(peak, 3);
  EXPECT_TRUE(gate.empty());
}

TEST(Gate, HoldsNothingBackWithoutACap) {
  Gate gate(std::nullopt);
  for (int i = 0; i < 100; ++i) {
    auto one = arrival(i);
    EXPECT_TRUE(gate.enter(one));
  }
  EXPECT_FALSE(gate.leave().has_value());
}

}  // namespace
}  // namespace pawl::loadgen
