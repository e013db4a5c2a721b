#include "loadgen/gather.h"

namespace pawl::loadgen {
namespace {

constexpr Nanos kPeriod = Millis(50);
constexpr double kStartRate = 2500, kStopRate = 1800;  ///< events a second; measured, see docs/decisions.md
constexpr double kGapWindows = 4;                      ///< expected gap of a stream, in windows
/// A slot that gets free is filled up to a window late: at most 1 % of what a request takes.
constexpr double kRequestWindows = 50;

}  // namespace

void Gather::restart() {
  on_ = mode_ == GatherMode::kOn;
  started_ = false;
}

void Gather::observe(MonoTime now, std::int64_t events, std::int64_t finished, std::int64_t in_flight, bool kernel_clock) {
  if (mode_ != GatherMode::kAuto) return;
  if (!started_) {
    started_ = true;
    begin_ = since_ = now;
    events_ = events;
    finished_ = finished;
    return;
  }
  const Nanos passed = now - since_;
  if (passed < kPeriod) return;
  const double window = seconds_of(kWindow);
  const double rate = static_cast<double>(events - events_) / seconds_of(passed);
  const double ends = static_cast<double>(finished - finished_) / seconds_of(now - begin_);  // waves of ends say nothing by themselves
  const double streams = static_cast<double>(in_flight);
  const bool busy = rate >= (on_ ? kStopRate : kStartRate);
  const bool apart = streams >= rate * kGapWindows * window;
  const bool lasting = streams >= ends * kRequestWindows * window;
  on_ = kernel_clock && busy && apart && lasting;
  since_ = now;
  events_ = events;
}

}  // namespace pawl::loadgen
