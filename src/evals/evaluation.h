#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "evals/task.h"
#include "io/progress.h"
#include "model/job.h"

namespace pawl::evals {

/// Asks each question of `task` once (the first `limit` of them, all without one), `concurrency` at a time, as
/// POST /v1/completions at temperature 0 with the stop strings of the task and no others, and scores the answers.
/// `url` is http://host:port with an optional path prefix. Blocks.
///
/// A question without an answer (no connection, a status other than 200, a body without text) is no Error: it counts as
/// wrong, makes n_eff smaller and infrastructure_success false, so that the result cannot pass; the first reason goes to
/// `progress` under the stage "eval". Samples are those of the answered questions, in the order of the task.
/// Errors: kInvalid for a concurrency or limit below 1, kCancelled when `stop` fired.
[[nodiscard]] Result<model::EvalResult> run_eval(const Task& task, const std::string& url, const std::string& model, std::int64_t concurrency,
                                                 std::optional<std::int64_t> limit, io::Progress& progress, std::stop_token stop);

}  // namespace pawl::evals
