#include "twin/engine_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::twin {
namespace {

std::string stamp(WallTime t) {
  std::string text = iso_utc(t);  // 2026-11-30T16:03:27Z
  text[10] = ' ';
  text.pop_back();
  return "[" + text + "] ";
}

}  // namespace

void EngineLog::plain(const std::string& line) {
  const std::lock_guard lock(mutex_);
  sink_(line);
}

void EngineLog::line(const std::string& text) { plain(stamp(clock_.wall()) + text); }

void EngineLog::iteration(const engine_law::Iteration& iteration, const EngineCounters& counters) {
  const MonoTime now = clock_.now();
  const double usage = static_cast<double>(counters.resident_tokens) / static_cast<double>(std::max<std::int64_t>(1, counters.kv_tokens));
  const std::lock_guard lock(mutex_);
  if (iteration.prefill_tokens > 0 && now >= next_prefill_) {
    next_prefill_ = now + Seconds{1};
    sink_(stamp(clock_.wall()) +
          fmt::format("Prefill batch, #new-seq: {}, #new-token: {}, #cached-token: {}, token usage: {:.2f}, #running-req: {}, #queue-req: {},",
                      iteration.new_sequences, iteration.prefill_tokens, iteration.cached_tokens, usage, counters.running, counters.waiting));
  }
  if (iteration.decode_batch > 0 && now >= next_decode_) {
    next_decode_ = now + Seconds{1};
    sink_(stamp(clock_.wall()) +
          fmt::format("Decode batch, #running-req: {}, #token: {}, token usage: {:.2f}, cuda graph: True, gen throughput (token/s): {:.2f}, #queue-req: {},",
                      iteration.decode_batch, counters.resident_tokens, usage, counters.tokens_per_s, counters.waiting));
  }
}

void EngineLog::access(const std::string& method, const std::string& path, int status, const char* reason) {
  const MonoTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (now - access_window_ >= Seconds{1}) {
    access_window_ = now;
    access_in_window_ = 0;
  }
  if (++access_seen_ > 20 && ++access_in_window_ > 10) return;
  sink_(fmt::format("INFO:     127.0.0.1:0 - \"{} {} HTTP/1.1\" {} {}", method, path, status, reason));
}

}  // namespace pawl::twin
