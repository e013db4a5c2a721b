#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "engine_law/scheduler.h"
#include "io/clock.h"

namespace pawl::twin {

/// Counters as /metrics shows them.
struct EngineCounters {
  std::int64_t running = 0;  ///< requests
  std::int64_t waiting = 0;
  std::int64_t resident_tokens = 0;  ///< in the KV cache
  std::int64_t kv_tokens = 0;        ///< room of the KV cache
  std::int64_t preemptions = 0;
  std::int64_t prompt_tokens = 0;    ///< prefilled since the start
  std::int64_t cached_tokens = 0;    ///< of prompts, found in the prefix cache
  std::int64_t output_tokens = 0;    ///< since the start
  std::int64_t requests = 0;         ///< ended with all their tokens
  std::int64_t late_iterations = 0;  ///< that this machine ended more than 5 ms after their planned end
  double tokens_per_s = 0;           ///< output, over about the last second
};

/// Where log lines go; a line has no line end. Called under the lock of the log.
using LogSink = std::function<void(const std::string&)>;

/// Log lines in SGLang's manner. Thread-safe. Lines that come with every iteration or request are rate limited.
class EngineLog {
 public:
  EngineLog(const io::Clock& clock, LogSink sink) : clock_(clock), sink_(std::move(sink)) {}
  /// As it is.
  void plain(const std::string& line);
  /// With the time in front: `[2026-11-30 16:03:27] …`
  void line(const std::string& text);
  /// `Prefill batch` and `Decode batch`, each at most once a second.
  void iteration(const engine_law::Iteration& iteration, const EngineCounters& counters);
  /// The access line of the HTTP front; the first 20, then at most ten a second.
  void access(const std::string& method, const std::string& path, int status, const char* reason);

 private:
  const io::Clock& clock_;
  const LogSink sink_;
  std::mutex mutex_;
  MonoTime next_prefill_, next_decode_, access_window_;  ///< guarded by mutex_
  std::int64_t access_seen_ = 0, access_in_window_ = 0;  ///< guarded by mutex_
};

}  // namespace pawl::twin
