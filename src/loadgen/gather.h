#pragma once

#include <cstdint>

#include "base/time.h"

namespace pawl::loadgen {

enum class GatherMode { kAuto, kOff, kOn };

/// Whether a worker gathers wake-ups: sleeps for a window, then reads every socket that became ready meanwhile. The
/// kernel stamps events as they arrive, so it costs no accuracy as long as no two events of one stream fall into a
/// window; it saves most of the wake-ups from some thousand events a second on, and costs some below.
class Gather {
 public:
  static constexpr Nanos kWindow = std::chrono::milliseconds(1);

  explicit Gather(GatherMode mode) : mode_(mode), on_(mode == GatherMode::kOn) {}

  /// To be told after each round: what came in all since the start of the phase, and how many requests are in flight now.
  /// `kernel_clock`: receive times are the kernel's; without them gathering would falsify every time.
  void observe(MonoTime now, std::int64_t events, std::int64_t finished, std::int64_t in_flight, bool kernel_clock);
  [[nodiscard]] bool on() const { return on_; }
  void restart();

 private:
  GatherMode mode_;
  bool on_ = false;
  bool started_ = false;
  MonoTime begin_, since_;
  std::int64_t events_ = 0, finished_ = 0;
};

}  // namespace pawl::loadgen
