#pragma once

#include <memory>

#include "base/result.h"
#include "workload/lengths.h"
#include "workload/workload.h"

namespace pawl::workload {

/// Prompts of random content with exact lengths. As token ids they are exact by construction (BC-10.1); without a
/// tokenizer text is a run of everyday words, one for each token wanted, and its length is not exact.
struct RandomOptions {
  Form form = Form::kIds;
  LengthRule lengths;
  std::int64_t seed = 0;
  std::uint64_t salt = 0;           ///< BC-9.10: another salt, other prompts of the same lengths' rule
  std::int64_t vocabulary = 30000;  ///< without a tokenizer: ids are drawn from [100, vocabulary); the first ones are special or single bytes
};

/// Error: kInvalid for lengths that the rule refuses or a vocabulary of at most 100 tokens.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_random_workload(const RandomOptions& options);

}  // namespace pawl::workload
