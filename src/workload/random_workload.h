#pragma once

#include <memory>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/lengths.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::TokenizerPtr;

/// Prompts of random content with exact lengths. As token ids they are exact by construction (BC-10.1), as text by a
/// tokenizer; text without one is a run of everyday words, one for each token wanted.
struct RandomOptions {
  Form form = Form::kIds;
  TokenizerPtr tokenizer;  ///< may be empty
  LengthRule lengths;
  std::int64_t seed = 0;
  std::uint64_t salt = 0;           ///< BC-9.10: another salt, other prompts of the same lengths' rule
  std::int64_t vocabulary = 30000;  ///< without a tokenizer: ids are drawn from [100, vocabulary); the first ones are special or single bytes
};

/// Error: kInvalid for lengths that the rule refuses, or from the filler.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_random_workload(const RandomOptions& options);

}  // namespace pawl::workload
