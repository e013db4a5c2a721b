#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/time.h"

namespace pawl::loadgen {

/// CLOCK_MONOTONIC, read now: the clock of every measurement.
[[nodiscard]] MonoTime mono_now();

/// Maps kernel receive stamps, which are on the calendar clock, to the monotonic clock. The offset between the two is
/// taken again and again, because the calendar clock is slewed all the time and may be stepped.
class ClockMap {
 public:
  /// Reads one of the two clocks, by its id. Only tests give another than the real one.
  using ReadClock = Nanos (*)(clockid_t);
  explicit ClockMap(ReadClock read = nullptr);

  /// Takes a new anchor if the last one is older than 100 ms. Cheap otherwise.
  void refresh(MonoTime now);

  [[nodiscard]] MonoTime to_mono(WallTime at) const { return {at.since_epoch - offset_}; }
  [[nodiscard]] WallTime to_wall(MonoTime at) const { return {at.since_boot + offset_}; }

  /// How often the calendar clock moved by more than slewing explains.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  void anchor(int tries);

  ReadClock read_;
  Nanos offset_{0};  ///< calendar − monotonic
  Nanos doubt_{0};   ///< half the time that taking the anchor took
  MonoTime taken_;
  std::int64_t steps_ = 0;
};

}  // namespace pawl::loadgen
