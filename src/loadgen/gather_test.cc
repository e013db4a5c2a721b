#include "loadgen/gather.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pawl::loadgen {
namespace {

/// Whether a worker gathers after two seconds of this load.
bool gathers(double events_per_s, std::int64_t streams, double request_s, bool kernel = true, GatherMode mode = GatherMode::kAuto) {
  Gather gather(mode);
  for (int ms = 0; ms <= 2000; ms += 10) {
    const double s = ms / 1000.0;
    gather.observe({Millis(ms)}, static_cast<std::int64_t>(events_per_s * s), static_cast<std::int64_t>(static_cast<double>(streams) / request_s * s), streams,
                   kernel);
  }
  return gather.on();
}

TEST(Gather, IsForManyEventsOfSlowStreams) {
  EXPECT_TRUE(gathers(10'000, 256, 3.4));
  EXPECT_TRUE(gathers(40'000, 4000, 3.4));
  EXPECT_FALSE(gathers(640, 64, 3.4)) << "waking up is cheaper than looking";
  EXPECT_FALSE(gathers(10'000, 20, 0.3)) << "a stream has an event each 2 ms";
  EXPECT_FALSE(gathers(10'000, 256, 0.02)) << "slots would stand empty";
  EXPECT_FALSE(gathers(10'000, 256, 3.4, false)) << "times would be ours";
}

TEST(Gather, DoesAsItIsTold) {
  EXPECT_TRUE(gathers(1, 1, 1, true, GatherMode::kOn));
  EXPECT_FALSE(gathers(40'000, 4000, 3.4, true, GatherMode::kOff));
}

TEST(Gather, GoesOnUntilTheRateFallsWellBelowWhereItBegan) {
  Gather gather(GatherMode::kAuto);
  std::int64_t events = 0;
  const auto run = [&](int from_ms, int to_ms, int events_per_10ms) {
    for (int ms = from_ms; ms < to_ms; ms += 10) gather.observe({Millis(ms)}, events += events_per_10ms, 0, 1000, true);
    return gather.on();
  };
  EXPECT_FALSE(run(0, 500, 20));
  EXPECT_TRUE(run(500, 1000, 30));
  EXPECT_TRUE(run(1000, 1500, 20));
  EXPECT_FALSE(run(1500, 2000, 15));
}

}  // namespace
}  // namespace pawl::loadgen
