#pragma once

#include <memory>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "workload/workload.h"

namespace pawl::workload {

using tokenizer::TokenizerPtr;

/// The fixed-sequence data set of the reference (sweep-run-results 2.2), to the bit: lengths, offsets, ids and texts come
/// from the same generator in the same order. One difference, on purpose: ids that pad a text which became too short
/// depend on seed and index here; there they depend on the number of cores of the host. Warm-ups are copies of the first
/// measured prompt, as there.
struct ReferenceOptions {
  Form form = Form::kText;  ///< text, or messages of one user message
  TokenizerPtr tokenizer;
  std::int64_t isl = 1024, osl = 1024;
  double ratio = 0.8;
  std::int64_t template_tokens = 0;  ///< of the chat template, T: taken off the input
  std::int64_t requests = 10;        ///< n; the drawn vectors have this length, so it changes the prompts
  std::int64_t seed = 0;
};

/// Errors: kInvalid without a tokenizer, for token ids as form, for lengths that the rule refuses, more than 10 million requests.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_reference_workload(const ReferenceOptions& options);

/// What the reference draws, visible for tests.
struct ReferenceDraws {
  std::vector<std::int64_t> inputs, outputs, offsets;
};
[[nodiscard]] ReferenceDraws reference_draws(std::int64_t seed, std::int64_t n, std::int64_t isl, std::int64_t osl, double ratio, std::int64_t vocabulary);

}  // namespace pawl::workload
