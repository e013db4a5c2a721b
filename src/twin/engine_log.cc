#include "twin/engine_log.h"

namespace pawl::twin {

void EngineLog::plain(const std::string& line) {
  const std::lock_guard lock(mutex_);
  sink_(line);
}

void EngineLog::say(const LogLines& lines) {
  const std::lock_guard lock(mutex_);
  for (const LogLine& line : lines) write(line);
}

void EngineLog::iteration(const engine_law::Iteration& iteration, const EngineCounters& counters) {
  const MonoTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (iteration.prefill_tokens > 0 && now >= next_prefill_) {
    next_prefill_ = now + Seconds{1};
    for (const LogLine& line : voice_->prefill(iteration, counters)) write(line);
  }
  if (iteration.decode_batch > 0 && now >= next_decode_) {
    next_decode_ = now + Seconds{1};
    for (const LogLine& line : voice_->decode(iteration, counters)) write(line);
  }
}

void EngineLog::access(const std::string& method, const std::string& path, int status, const char* reason) {
  const MonoTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (now - access_window_ >= Seconds{1}) {
    access_window_ = now;
    access_in_window_ = errors_in_window_ = 0;
  }
  if (status >= 400) {
    if (++errors_in_window_ > 100) return;
  } else if (++access_seen_ > 20 && ++access_in_window_ > 10) {
    return;
  }
  write(voice_->access(method, path, status, reason));
}

void EngineLog::write(const LogLine& line) { sink_(line.stamped ? voice_->stamped(clock_.wall(), line.text) : line.text); }

}  // namespace pawl::twin
