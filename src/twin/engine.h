#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "engine_law/fleet.h"
#include "io/clock.h"

namespace pawl::twin {

/// What the engine thread tells about one request. Called on the engine thread, one call at a time; must not block.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  /// Token `index` is there. False: nobody wants the rest, the request is dropped.
  virtual bool on_token(std::int64_t index, bool last) = 0;
};

/// Counters as /metrics shows them.
struct EngineCounters {
  std::int64_t running = 0;  ///< requests
  std::int64_t waiting = 0;
  std::int64_t resident_tokens = 0;  ///< in the KV cache
  std::int64_t prompt_tokens = 0;    ///< prefilled since the start
  std::int64_t output_tokens = 0;    ///< since the start
  std::int64_t late_iterations = 0;  ///< that this machine ended more than 5 ms after their planned end
  double tokens_per_s = 0;           ///< output, over about the last second
};

/// Runs a fleet against a clock: one thread, one sleep per iteration, and every planned end counts from the planned
/// end before it, so that late wake-ups do not add up. Thread-safe.
class Engine {
 public:
  /// After every iteration, for a log; on the engine thread.
  using Observer = std::function<void(const engine_law::Iteration&, const EngineCounters&)>;

  Engine(const io::Clock& clock, const engine_law::Deployment& deployment, std::uint64_t seed, Observer observer);
  ~Engine();

  /// Queues a request; `sink` is kept until its last token. False: its tokens can never fit the KV cache.
  [[nodiscard]] bool submit(engine_law::Work work, std::shared_ptr<TokenSink> sink);
  [[nodiscard]] EngineCounters counters() const;

 private:
  void loop(std::stop_token stop);
  void deliver(const engine_law::Iteration& iteration);

  const io::Clock& clock_;
  const Observer observer_;
  mutable std::mutex mutex_;
  std::condition_variable_any work_;
  engine_law::Fleet fleet_;                                   ///< guarded by mutex_
  std::map<std::int64_t, std::shared_ptr<TokenSink>> sinks_;  ///< guarded by mutex_
  std::int64_t last_id_ = 0;                                  ///< guarded by mutex_
  EngineCounters counters_;                                   ///< guarded by mutex_
  std::jthread thread_;
};

}  // namespace pawl::twin
