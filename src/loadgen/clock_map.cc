#include "loadgen/clock_map.h"

#include <time.h>

#include <cstdlib>

namespace pawl::loadgen {
namespace {

Nanos read_clock(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return Seconds(now.tv_sec) + Nanos(now.tv_nsec);
}

constexpr Nanos kInterval = Millis(100);

}  // namespace

MonoTime mono_now() { return {read_clock(CLOCK_MONOTONIC)}; }

ClockMap::ClockMap(ReadClock read) : read_(read != nullptr ? read : read_clock) { anchor(8); }

void ClockMap::anchor(int tries) {
  // The narrowest of several bracketed readings: being scheduled away between two of them must not shift the offset.
  Nanos best = Nanos::max();
  for (int i = 0; i < tries; ++i) {
    const Nanos before = read_(CLOCK_MONOTONIC);
    const Nanos wall = read_(CLOCK_REALTIME);
    const Nanos after = read_(CLOCK_MONOTONIC);
    if (after - before >= best) continue;
    best = after - before;
    offset_ = wall - (before + (after - before) / 2);
    taken_ = {after};
  }
  doubt_ = best / 2;
}

void ClockMap::refresh(MonoTime now) {
  if (now - taken_ < kInterval) return;
  const Nanos old_offset = offset_, old_doubt = doubt_;
  const MonoTime old_taken = taken_;
  anchor(3);
  // The kernel slews by at most 500 ppm; twice that is a step.
  const Nanos allowed = (taken_ - old_taken) / 1000 + old_doubt + doubt_ + std::chrono::microseconds(200);
  if (std::chrono::abs(offset_ - old_offset) > allowed) ++steps_;
}

}  // namespace pawl::loadgen
