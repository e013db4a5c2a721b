#pragma once

#include "io/clock.h"

namespace pawl::posix {

/// CLOCK_MONOTONIC and CLOCK_REALTIME of this machine.
class RealClock final : public io::Clock {
 public:
  [[nodiscard]] MonoTime now() const override;
  [[nodiscard]] WallTime wall() const override;
  bool sleep_until(MonoTime deadline, std::stop_token stop) const override;
};

}  // namespace pawl::posix
