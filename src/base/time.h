#pragma once

#include <chrono>
#include <compare>
#include <string>

namespace pawl {

using Nanos = std::chrono::nanoseconds;
using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

/// A moment on the monotonic clock of this machine. Meaningless on another machine or after a reboot; never stored.
struct MonoTime {
  Nanos since_boot{0};
  auto operator<=>(const MonoTime&) const = default;
  friend MonoTime operator+(MonoTime t, Nanos d) { return {t.since_boot + d}; }
  friend MonoTime operator-(MonoTime t, Nanos d) { return {t.since_boot - d}; }
  friend Nanos operator-(MonoTime a, MonoTime b) { return a.since_boot - b.since_boot; }
};

/// A moment on the calendar, UTC, to the nanosecond. May jump; never used to measure a duration.
struct WallTime {
  Nanos since_epoch{0};
  auto operator<=>(const WallTime&) const = default;
  friend WallTime operator+(WallTime t, Nanos d) { return {t.since_epoch + d}; }
  friend Nanos operator-(WallTime a, WallTime b) { return a.since_epoch - b.since_epoch; }
};

[[nodiscard]] inline double seconds_of(Nanos d) { return static_cast<double>(d.count()) / 1e9; }
[[nodiscard]] inline double millis_of(Nanos d) { return static_cast<double>(d.count()) / 1e6; }

/// "2026-11-30T16:03:27Z"
[[nodiscard]] std::string iso_utc(WallTime t);
/// "2026-11-30 16:03 UTC", the form that reports use
[[nodiscard]] std::string minute_utc(WallTime t);
/// "2026-11-30"
[[nodiscard]] std::string day_utc(WallTime t);

}  // namespace pawl
