#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "io/clock.h"
#include "twin/engine_voice.h"

namespace pawl::twin {

/// Where log lines go; a line has no line end. Called under the lock of the log.
using LogSink = std::function<void(const std::string&)>;

/// The log of one simulated engine. Thread-safe. Lines that come with every iteration or request are rate limited.
class EngineLog {
 public:
  EngineLog(const io::Clock& clock, std::unique_ptr<EngineVoice> voice, LogSink sink) : clock_(clock), voice_(std::move(voice)), sink_(std::move(sink)) {}
  [[nodiscard]] const EngineVoice& voice() const { return *voice_; }
  /// As it is.
  void plain(const std::string& line);
  void say(const LogLines& lines);
  /// What the engine says of prefill and of decoding, each at most once a second.
  void iteration(const engine_law::Iteration& iteration, const EngineCounters& counters);
  /// The access line of the HTTP front. Of answers below 400 the first 20, then at most ten a second; of the others at most a hundred a second.
  void access(const std::string& method, const std::string& path, int status, const char* reason);

 private:
  void write(const LogLine& line);  ///< mutex_ held

  const io::Clock& clock_;
  const std::unique_ptr<EngineVoice> voice_;
  const LogSink sink_;
  std::mutex mutex_;
  MonoTime next_prefill_, next_decode_, access_window_;                         ///< guarded by mutex_
  std::int64_t access_seen_ = 0, access_in_window_ = 0, errors_in_window_ = 0;  ///< guarded by mutex_
};

}  // namespace pawl::twin
