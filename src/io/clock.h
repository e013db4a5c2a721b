#pragma once

#include <stop_token>

#include "base/time.h"

namespace pawl::io {

/// Time, asked for and waited for, on one interface, so that nothing sleeps on a clock it cannot see. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonoTime now() const = 0;
  [[nodiscard]] virtual WallTime wall() const = 0;
  /// Returns true once `deadline` has passed, false as soon as `stop` is requested.
  virtual bool sleep_until(MonoTime deadline, std::stop_token stop) const = 0;

  bool sleep_for(Nanos duration, std::stop_token stop) const { return sleep_until(now() + duration, std::move(stop)); }
};

}  // namespace pawl::io
