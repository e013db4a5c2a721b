#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/time.h"
#include "engine_law/law.h"
#include "engine_law/prefix_cache.h"

namespace pawl::engine_law {

/// One request as an engine sees it.
struct Work {
  std::int64_t id = 0;
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;          ///< after so many it is over
  std::int64_t max_output_tokens = 1;      ///< most that it could have, as far as the engine knows: what room is reserved by
  std::uint64_t seed = 0;                  ///< of its own decisions (accepted drafts)
  std::vector<std::uint64_t> blocks = {};  ///< chained hashes of its whole prompt blocks; empty: nothing to find in the prefix cache
  std::int64_t produced = 0;               ///< output tokens that another pool has made; the KV cache for them and the prompt has come with it
};

/// The tokens of one request that an iteration brings: `count` from `index` on.
struct TokenRun {
  std::int64_t id = 0;
  std::int64_t index = 0;  ///< from 0
  std::int64_t count = 1;
  bool last = false;
  std::int64_t cached = 0;  ///< prompt tokens that the prefix cache had when the request was first admitted
};

/// One step of the engine, planned at its start. Its tokens are there when `duration` is over.
struct Iteration {
  Nanos duration{0};
  std::vector<TokenRun> tokens;
  std::int64_t decode_batch = 0;    ///< sequences that decode in it
  std::int64_t new_sequences = 0;   ///< sequences whose prefill begins in it
  std::int64_t prefill_tokens = 0;  ///< computed, recomputed ones included
  std::int64_t cached_tokens = 0;   ///< prompt tokens of the new sequences that the prefix cache had
  std::int64_t preempted = 0;       ///< sequences sent back to the queue before it
};

/// The continuous batching of one engine rank as a pure function of what was submitted: no clock, no thread. Same law,
/// seed and calls give the same iterations. docs/twin.md, "The scheduler", is its contract. Not thread-safe.
class Scheduler {
 public:
  Scheduler(const Law& law, std::int64_t max_running, std::uint64_t seed) : law_(law), max_running_(max_running), seed_(seed), kv_tokens_(law.kv_tokens) {}

  /// False when prompt and most output can never fit the KV cache. `now` must not fall from call to call.
  [[nodiscard]] bool submit(const Work& work, MonoTime now);
  /// Forgets a request, whatever its state; true when it was there. Tokens that a planned iteration already names are the caller's to drop.
  bool cancel(std::int64_t id);
  /// Plans the iteration that starts at `now` and takes its effect. False when there is no work at all. When the only work
  /// is not yet admitted, the iteration is a wait without tokens. `out` is overwritten; its memory is used again.
  [[nodiscard]] bool next(MonoTime now, Iteration& out);

  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(prefilling_.size() + decoding_.size()); }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  /// Tokens of running sequences in the KV cache, shared blocks once.
  [[nodiscard]] std::int64_t held_tokens() const { return held_; }
  /// Tokens that only the prefix cache still keeps.
  [[nodiscard]] std::int64_t evictable_tokens() const { return cache_.unpinned() * block(); }
  [[nodiscard]] std::int64_t kv_tokens() const { return kv_tokens_; }
  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }

  /// Makes every later iteration so many times as long (a fault); 1 is the law.
  void set_slowdown(double factor) { slowdown_ = factor; }
  /// Takes room from the KV cache for good (a leak). What then does not fit any more is preempted, and false is returned
  /// once a waiting or running request can never fit.
  bool shrink(std::int64_t tokens);
  /// Forgets what only the prefix cache keeps.
  void flush_cache() { cache_.evict(cache_.unpinned()); }

 private:
  struct Sequence {
    Work work;
    MonoTime eligible;
    std::uint64_t arrival = 0;   ///< order of submission
    std::int64_t target = 0;     ///< tokens of prompt and output so far, whose keys and values a decode step needs
    std::int64_t computed = 0;   ///< how many of them are there
    std::int64_t produced = 0;   ///< output tokens
    std::int64_t cached = 0;     ///< prompt tokens found in the prefix cache at the first admission
    std::int64_t held = 0;       ///< tokens in the KV cache that are its own alone
    std::int64_t shared = 0;     ///< leading blocks of the prefix cache that it pins
    bool received = false;       ///< seen by a look for new requests
    bool came_computed = false;  ///< its keys and values come from a prefill pool: they need room and no time
  };
  [[nodiscard]] std::int64_t block() const { return law_.block_tokens.value_or(0); }
  [[nodiscard]] std::int64_t reserve(const Sequence& s) const;
  [[nodiscard]] std::int64_t step_tokens(const Sequence& s) const;
  [[nodiscard]] std::int64_t growth() const;
  void receive(MonoTime now);
  void admit(Iteration& out);
  void produce(Sequence& s, std::int64_t count, Iteration& out);
  void preempt_newest(MonoTime now, Iteration& out);
  void share_prompt(Sequence& s);
  void release(Sequence& s);
  double decode(Iteration& out);
  double prefill(Iteration& out);
  void finish();

  const Law law_;
  const std::int64_t max_running_;
  const std::uint64_t seed_;
  std::int64_t kv_tokens_;
  double slowdown_ = 1;
  std::uint64_t iterations_ = 0, arrivals_ = 0;
  std::int64_t unpolled_ = 0;     ///< decode-only iterations since the last look for new requests
  std::deque<Sequence> waiting_;  ///< oldest first; all that run are older
  std::deque<Sequence> prefilling_, decoding_;
  PrefixCache cache_;
  std::int64_t held_ = 0;      ///< tokens
  std::int64_t promised_ = 0;  ///< tokens still to come of running sequences: rest of prompts, reserved part of outputs
  std::int64_t preemptions_ = 0;
};

}  // namespace pawl::engine_law
