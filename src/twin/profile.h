#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine_law/fleet.h"
#include "engine_law/law.h"
#include "io/assets.h"

namespace pawl::twin {

/// Of keys and values from a prefill pool to the ranks that decode, where nothing was measured: an assumption (some 50 KiB
/// a token over 25 GB/s).
inline constexpr double kTransferBaseMs = 10, kTransferTokPerMs = 500;

/// One simulated engine as data: data/twins/NAME.yaml.
struct Profile {
  std::string name;
  std::string describes;  ///< one line for people: what is imitated and how well
  std::string engine;     ///< "sglang", "vllm", "trtllm" or "llamacpp": shapes of events, names of metrics, words of the log
  std::string version;
  double load_s = 0;                           ///< from start to the first 200 of /health
  double real_start_s = 0;                     ///< what the start of the real engine takes; for predictions only; absent: unknown (NaN)
  double accuracy = 1;                         ///< share of known eval questions answered right, 0 to 1
  std::int64_t context_length = 0;             ///< tokens, prompt and output together
  std::int64_t max_running_requests = 0;       ///< unless the command line says otherwise
  std::optional<std::int64_t> ep;              ///< expert parallelism that the law was fitted with; absent: 1
  std::optional<engine_law::Scaling> scaling;  ///< for numbers of GPUs without a law; absent: the law of the nearest number
  /// What the recipes' scripts set for the steps between two looks for requests, by the concurrency from which on:
  /// {"1": 10, "16": 30}. Predictions use it; a running twin follows its own flag. Absent: 1.
  std::optional<std::map<std::string, std::int64_t>> poll_steps_from;
  /// Flags that still work and are announced to go, with what to use instead (may be empty). Absent: none.
  std::optional<std::map<std::string, std::string>> deprecated;
  std::vector<std::string> flags;              ///< long flags of the engine that the launch accepts, with their dashes
  std::map<std::string, engine_law::Law> law;  ///< by number of GPUs
  std::optional<std::string> rows;             ///< file of rows that the law was fitted to, under data/

  [[nodiscard]] std::int64_t poll_steps(std::int64_t conc) const;
  [[nodiscard]] bool has_law(std::int64_t tp) const { return law.contains(std::to_string(tp)); }
  /// The law for `tp` GPUs. Without one: that of the nearest number (by ratio, the smaller of two as near), scaled when
  /// the profile says how. Its KV cache has no room (0) when the weights do not fit so few GPUs.
  [[nodiscard]] engine_law::Law law_for(std::int64_t tp, std::int64_t expert_parallel) const;
};
BOOST_DESCRIBE_STRUCT(Profile, (),
                      (name, describes, engine, version, load_s, real_start_s, accuracy, context_length, max_running_requests, ep, scaling, poll_steps_from,
                       deprecated, flags, law, rows))

/// Reads and checks data/twins/NAME.yaml. kNotFound names the profiles that there are.
[[nodiscard]] Result<Profile> load_profile(const io::Assets& assets, const std::string& name);

/// Names of all profiles, sorted.
[[nodiscard]] std::vector<std::string> profile_names(const io::Assets& assets);

/// The profile for an image on a machine: the first rule of data/twin.yaml whose globs match all three.
[[nodiscard]] Result<std::string> profile_for(const io::Assets& assets, const std::string& image, const std::string& model_prefix, const std::string& runner);

}  // namespace pawl::twin
