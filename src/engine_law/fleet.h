#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "engine_law/law.h"
#include "engine_law/scheduler.h"

namespace pawl::engine_law {

/// A pool of its own for prefill; keys and values then travel to the ranks that decode.
struct PrefillPool {
  std::int64_t ranks = 1;
  Law law;                      ///< only its prefill, admission and KV cache matter
  double transfer_base_ms = 0;  ///< of every request
  double transfer_tok_per_ms = 1e9;
};

/// How a served model is spread over engines.
struct Deployment {
  Law law;                          ///< of one rank
  std::int64_t max_running = 1024;  ///< a rank
  std::int64_t ranks = 1;           ///< data parallel; each has its own queue and KV cache of `law.kv_tokens`
  bool lockstep = false;            ///< the ranks step together, each step as long as the longest (attention data parallel with shared experts)
  std::optional<PrefillPool> prefill;
};

/// What a fleet did at one instant.
struct FleetEvent {
  MonoTime at;
  std::int64_t rank = 0;
  bool prefill_pool = false;             ///< an iteration of the prefill pool: its tokens are not given here, they appear after the transfer
  const Iteration* iteration = nullptr;  ///< valid until the next call
};

/// Scheduler ranks that share out requests, in simulated time: nothing happens but by `advance`. The same calls give the
/// same events. Not thread-safe.
class Fleet {
 public:
  Fleet(const Deployment& deployment, std::uint64_t seed);

  /// False when it can never fit. A request goes to the rank with the fewest requests, the first of equals.
  [[nodiscard]] bool submit(const Work& work, MonoTime now);
  void cancel(std::int64_t id);

  /// When the next thing happens; nothing while there is no work. Never before the last `advance`.
  [[nodiscard]] std::optional<MonoTime> next() const;
  /// Does the next thing if it is due at `now`, and plans what follows it. An iteration is planned from the planned end of
  /// the one before it, so that lateness does not add up, unless that is more than `hopeless` before `now`: then from `now`.
  [[nodiscard]] std::optional<FleetEvent> advance(MonoTime now, Nanos hopeless = Nanos::max());

  [[nodiscard]] std::int64_t running() const;
  [[nodiscard]] std::int64_t waiting() const;
  [[nodiscard]] std::int64_t held_tokens() const;  ///< of the ranks that decode
  [[nodiscard]] std::int64_t kv_tokens() const;
  [[nodiscard]] std::int64_t preemptions() const;
  [[nodiscard]] std::int64_t ranks() const { return static_cast<std::int64_t>(decode_.size()); }

  void set_slowdown(double factor);                      ///< of all ranks
  void set_slow_rank(std::int64_t rank, double factor);  ///< of one, besides that of all
  /// As Scheduler::shrink, on every rank that decodes.
  bool shrink(std::int64_t tokens);
  void flush_cache();

 private:
  struct Rank {
    Scheduler scheduler;
    Iteration iteration;
    std::optional<MonoTime> end;  ///< of the planned iteration
    double slow = 1;
  };
  struct Transfer {
    MonoTime at;
    Work work;
  };
  Rank* soonest(std::vector<Rank>& ranks) const;
  void plan(Rank& rank, MonoTime from);
  void plan_together(MonoTime from);
  [[nodiscard]] Rank& least(std::vector<Rank>& ranks) const;

  const Deployment deployment_;
  double slowdown_ = 1;
  std::vector<Rank> decode_, prefill_;
  std::vector<Transfer> transfers_;  ///< by time
  std::vector<Work> in_prefill_;
  Iteration arrival_;  ///< what a transfer brings
};

}  // namespace pawl::engine_law
