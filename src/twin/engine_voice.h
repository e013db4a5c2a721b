#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/json.h"
#include "engine_law/scheduler.h"

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

/// What an engine knows about itself when it starts.
struct StartFacts {
  std::string model, version, host;
  std::uint16_t port = 0;
  std::int64_t kv_tokens = 0, chunk_tokens = 0, max_running = 0, context_length = 0;
  codec::Json settings;                ///< an object: resolved arguments by their names in Python
  double weights_s = 0, graphs_s = 0;  ///< how long loading and the capture of graphs took
};

/// A line of a log, and whether the engine puts its time in front.
struct LogLine {
  std::string text;
  bool stamped = true;
};
using LogLines = std::vector<LogLine>;

/// How one engine writes its log: the lines that people and programs look for, in its own manner. Pure text; what no
/// engine has said carries "(simulated)".
class EngineVoice {
 public:
  virtual ~EngineVoice() = default;
  /// Time, level and source as this engine writes them before `text`; `at` is the time of day.
  [[nodiscard]] virtual std::string stamped(WallTime at, const std::string& text) const = 0;
  [[nodiscard]] virtual LogLines settings(const StartFacts& facts) const = 0;
  /// `flag` was given and still works; `instead`: what to use, may be empty.
  [[nodiscard]] virtual LogLines deprecated(const std::string& flag, const std::string& instead) const = 0;
  [[nodiscard]] virtual LogLines loading(const StartFacts& facts) const = 0;
  /// The weights are there, and the KV cache has its size.
  [[nodiscard]] virtual LogLines loaded(const StartFacts& facts) const = 0;
  [[nodiscard]] virtual LogLines capturing() const = 0;
  [[nodiscard]] virtual LogLines captured(const StartFacts& facts) const = 0;
  [[nodiscard]] virtual LogLines ready(const StartFacts& facts) const = 0;
  /// Memory ran out while `stage` ("load", "graph-capture"), or later ("").
  [[nodiscard]] virtual LogLines out_of_memory(std::string_view stage) const = 0;
  /// Arguments that the launcher does not know: its last words before exit status 2.
  [[nodiscard]] virtual std::string refuses(const std::string& arguments) const = 0;
  /// One of several flags that begin alike was meant.
  [[nodiscard]] virtual std::string ambiguous(const std::string& flag, const std::vector<std::string>& could_match) const = 0;
  [[nodiscard]] virtual LogLine access(const std::string& method, const std::string& path, int status, std::string_view reason) const = 0;
  /// What an iteration did, none when this engine does not say such things; the caller limits the rate.
  [[nodiscard]] virtual LogLines prefill(const engine_law::Iteration& iteration, const EngineCounters& counters) const = 0;
  [[nodiscard]] virtual LogLines decode(const engine_law::Iteration& iteration, const EngineCounters& counters) const = 0;
};

/// By the engine's name in a profile: "sglang", "vllm", "trtllm", "llamacpp"; any other speaks like SGLang.
[[nodiscard]] std::unique_ptr<EngineVoice> voice_of(std::string_view engine);

}  // namespace pawl::twin
