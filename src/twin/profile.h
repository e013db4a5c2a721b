#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::twin {

/// The performance law of one engine on one number of GPUs. docs/twin.md has the formula.
struct Law {
  double decode_base_ms = 0;     ///< one decode iteration with an empty batch
  double decode_per_seq_ms = 0;  ///< times batch^decode_exponent
  double decode_exponent = 1;
  double decode_per_ktoken_ms = 0;  ///< times the thousands of tokens that the running sequences hold in the KV cache
  double prefill_base_ms = 0;       ///< of every iteration that prefills
  double prefill_tok_per_ms = 1;
  double admit_ms = 0;               ///< from arrival to the waiting queue: HTTP, tokenizer; blocks nobody else
  double jitter = 0;                 ///< share: each iteration is longer or shorter by up to this
  std::int64_t chunk_tokens = 8192;  ///< most prompt tokens in one iteration
  std::int64_t kv_tokens = 100000;   ///< KV cache
};
BOOST_DESCRIBE_STRUCT(Law, (),
                      (decode_base_ms, decode_per_seq_ms, decode_exponent, decode_per_ktoken_ms, prefill_base_ms, prefill_tok_per_ms, admit_ms, jitter,
                       chunk_tokens, kv_tokens))

/// One simulated engine as data: data/twins/NAME.yaml.
struct Profile {
  std::string name;
  std::string describes;  ///< one line for people: what is imitated and how well
  std::string engine;     ///< "sglang"
  std::string version;
  double load_s = 0;                      ///< from start to the first 200 of /health
  double accuracy = 1;                    ///< share of known eval questions answered right, 0 to 1
  std::int64_t context_length = 0;        ///< tokens, prompt and output together
  std::int64_t max_running_requests = 0;  ///< unless the command line says otherwise
  std::vector<std::string> flags;         ///< long flags of the engine that the launch accepts, with their dashes
  std::map<std::string, Law> law;         ///< by number of GPUs

  /// The law for `tp` GPUs, or that of the nearest number that the profile has (by ratio, the smaller of two as near).
  [[nodiscard]] const Law& law_for(std::int64_t tp) const;
};
BOOST_DESCRIBE_STRUCT(Profile, (), (name, describes, engine, version, load_s, accuracy, context_length, max_running_requests, flags, law))

/// Reads and checks data/twins/NAME.yaml. kNotFound names the profiles that there are.
[[nodiscard]] Result<Profile> load_profile(const io::Assets& assets, const std::string& name);

/// Names of all profiles, sorted.
[[nodiscard]] std::vector<std::string> profile_names(const io::Assets& assets);

/// The profile for an image on a machine: the first rule of data/twin.yaml whose globs match all three.
[[nodiscard]] Result<std::string> profile_for(const io::Assets& assets, const std::string& image, const std::string& model_prefix, const std::string& runner);

}  // namespace pawl::twin
