#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "twin/profile.h"

namespace pawl::twin {

/// The continuous batching of a simulated engine as a pure function of what was submitted: no clock, no thread. Same
/// law, seed and calls give the same iterations. Not thread-safe.
class Scheduler {
 public:
  using RequestId = std::int64_t;

  struct Work {
    RequestId id = 0;
    std::int64_t prompt_tokens = 1;
    std::int64_t output_tokens = 1;   ///< after so many it is over
    std::int64_t reserve_tokens = 1;  ///< most output it could have: the KV cache is reserved for it
  };

  struct Token {
    RequestId id = 0;
    std::int64_t index = 0;  ///< from 0
    bool last = false;
  };

  /// One step of the engine, planned at its start. Its tokens are there when `duration` is over.
  struct Iteration {
    Nanos duration{0};
    std::vector<Token> tokens;
    std::int64_t decode_batch = 0;   ///< sequences that decode in it
    std::int64_t new_sequences = 0;  ///< sequences whose prefill begins in it
    std::int64_t prefill_tokens = 0;
  };

  Scheduler(const Law& law, std::int64_t max_running, std::uint64_t seed) : law_(law), max_running_(max_running), seed_(seed) {}

  /// False when prompt and reserve can never fit the KV cache. `now` must not fall from call to call.
  [[nodiscard]] bool submit(const Work& work, MonoTime now);
  /// Forgets a request; tokens of it that a planned iteration already names are the caller's to drop.
  void cancel(RequestId id);
  /// Plans the iteration that starts at `now` and takes its effect; nothing when there is no work at all. When the only
  /// work is not yet admitted, the iteration is a wait without tokens.
  [[nodiscard]] std::optional<Iteration> next(MonoTime now);

  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(prefilling_.size() + decoding_.size()); }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  /// Tokens in the KV cache, and those reserved, output to come included.
  [[nodiscard]] std::int64_t resident_tokens() const { return resident_; }
  [[nodiscard]] std::int64_t reserved_tokens() const { return reserved_; }

 private:
  struct Sequence {
    Work work;
    MonoTime eligible;
    std::int64_t prefilled = 0;
    std::int64_t produced = 0;
  };
  void release(const Sequence& sequence);
  [[nodiscard]] double jitter();

  const Law law_;
  const std::int64_t max_running_;
  const std::uint64_t seed_;
  std::uint64_t iterations_ = 0;
  std::deque<Sequence> waiting_, prefilling_, decoding_;
  std::int64_t resident_ = 0;
  std::int64_t reserved_ = 0;
};

}  // namespace pawl::twin
