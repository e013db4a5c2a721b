#include "loadgen/clock_map.h"

#include <gtest/gtest.h>
#include <time.h>

namespace pawl::loadgen {
namespace {

Nanos fake_mono{0}, fake_offset{0};

Nanos fake(clockid_t id) {
  fake_mono += std::chrono::microseconds(1);
  return id == CLOCK_MONOTONIC ? fake_mono : fake_mono + fake_offset;
}

TEST(ClockMap, MapsStampsThroughTheOffsetOfBothClocks) {
  fake_mono = Seconds(100);
  fake_offset = Seconds(1'700'000'000);
  ClockMap map(fake);
  const Nanos error = map.to_mono({Seconds(1'700'000'150)}).since_boot - Nanos(Seconds(150));
  EXPECT_LT(std::chrono::abs(error), std::chrono::microseconds(2));
  EXPECT_EQ(map.to_wall(map.to_mono({Seconds(5)})).since_epoch, Nanos(Seconds(5)));
}

TEST(ClockMap, SlewingIsFollowedAndASetClockIsCounted) {
  fake_mono = Seconds(100);
  fake_offset = Seconds(1'700'000'000);
  ClockMap map(fake);
  fake_mono += Seconds(1);
  fake_offset += std::chrono::microseconds(400);  // 400 ppm: the kernel slews
  map.refresh({fake_mono});
  EXPECT_EQ(map.steps(), 0);
  fake_mono += Seconds(1);
  fake_offset -= Seconds(3600);  // somebody sets the clock back an hour
  map.refresh({fake_mono});
  EXPECT_EQ(map.steps(), 1);
  const Nanos error = map.to_mono({fake_mono + fake_offset}).since_boot - fake_mono;
  EXPECT_LT(std::chrono::abs(error), std::chrono::microseconds(10));  // stamps after it are right again
}

TEST(ClockMap, ManyLooksWithinTheIntervalTakeOneAnchor) {
  fake_mono = Seconds(100);
  ClockMap map(fake);
  const Nanos before = fake_mono;
  for (int i = 0; i < 1000; ++i) map.refresh({before});
  EXPECT_EQ(fake_mono, before);  // no clock was read
}

}  // namespace
}  // namespace pawl::loadgen
