#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "io/clock.h"
#include "twin/engine.h"

namespace pawl::twin {

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
  void iteration(const engine_law::Iteration& iteration, const EngineCounters& counters, std::int64_t kv_tokens);
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
