#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::TokenizerPtr;

/// A level of shared prefixes: each node of the level above has `branches` children with `tokens` tokens of their own.
struct PrefixLevel {
  std::int64_t branches = 1;
  std::int64_t tokens = 0;
  bool operator==(const PrefixLevel&) const = default;
};

/// Prompts that share prefixes as the paths of a tree do. Request i takes leaf i mod leaves, so which of them an
/// infinite cache of whole blocks holds is known exactly, before the run, for requests in their order.
struct PrefixTreeOptions {
  Form form = Form::kIds;
  TokenizerPtr tokenizer;  ///< may be empty
  std::int64_t vocabulary = 30000;
  std::vector<PrefixLevel> levels;  ///< from the root
  std::int64_t own_tokens = 128;    ///< at the end of each prompt, shared with none; at least 1
  std::int64_t osl = 128;
  std::int64_t requests = 0;  ///< what the hit ratio is computed for; 0: for endless ones (the limit)
  std::int64_t block_tokens = 16;
  std::int64_t seed = 0;
  std::uint64_t salt = 0;
};

/// Errors: kInvalid for levels without branches or tokens, more than 10 million leaves, from the filler.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_prefix_tree(const PrefixTreeOptions& options);

/// One level of `groups` prefixes such that `requests` prompts of `isl` tokens come as near to the hit ratio as whole
/// blocks allow. Error: kInvalid for a ratio that cannot be reached (the first prompt of each group always misses).
[[nodiscard]] Result<std::vector<PrefixLevel>> levels_for_ratio(double ratio, std::int64_t groups, std::int64_t requests, std::int64_t isl,
                                                                std::int64_t block_tokens);

}  // namespace pawl::workload
