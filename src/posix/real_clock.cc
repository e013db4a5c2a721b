#include "posix/real_clock.h"

#include <condition_variable>
#include <ctime>
#include <mutex>

namespace pawl::posix {
namespace {

Nanos read(clockid_t which) {
  timespec t{};
  clock_gettime(which, &t);
  return Seconds{t.tv_sec} + Nanos{t.tv_nsec};
}

}  // namespace

MonoTime RealClock::now() const { return {read(CLOCK_MONOTONIC)}; }

WallTime RealClock::wall() const { return {read(CLOCK_REALTIME)}; }

bool RealClock::sleep_until(MonoTime deadline, std::stop_token stop) const {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (now() < deadline) {
    if (stop.stop_requested()) return false;
    wake.wait_for(lock, stop, deadline - now(), [] { return false; });
  }
  return !stop.stop_requested();
}

}  // namespace pawl::posix
