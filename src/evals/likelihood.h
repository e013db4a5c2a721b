#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "evals/evaluation.h"

namespace pawl::evals {

/// How likely an engine finds each of several continuations of a prompt: Σ log p over the tokens of the continuation (OpenAI completions with `echo` and
/// `logprobs`). Errors: kInvalid when the engine does not tell it; kTransient without an answer.
[[nodiscard]] Result<std::vector<double>> log_likelihoods(const EvalOptions& options, const std::string& prompt, const std::vector<std::string>& continuations,
                                                          std::stop_token stop);

/// The sum for the text behind the first `prompt_characters` characters of an answer that repeats its prompt. Pure.
[[nodiscard]] Result<double> continuation_log_likelihood(const std::string& answer, std::size_t prompt_characters, std::size_t all_characters);

}  // namespace pawl::evals
