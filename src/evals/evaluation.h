#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "evals/task.h"
#include "io/progress.h"
#include "loadgen/tls.h"
#include "model/job.h"

namespace pawl::evals {

struct EvalOptions {
  std::string url;    ///< http://host:port or https://, with an optional path prefix
  std::string model;  ///< name that requests carry
  bool chat = false;  ///< /v1/chat/completions with one user message, in place of /v1/completions
  std::int64_t concurrency = 1;
  std::optional<std::int64_t> limit;  ///< only the first so many questions
  std::string model_prefix;           ///< for thresholds of single models
  std::int64_t retries = 2;           ///< of questions without an answer, while others are answered
  double answer_limit_s = 1800;       ///< a slow engine is no wrong engine
  std::vector<std::pair<std::string, std::string>> headers;
  loadgen::TlsOptions tls;
  std::optional<std::string> bearer;  ///< sent, never logged or stored
  /// Answers of an earlier, interrupted eval of the same task and engine: their questions are not asked again.
  std::vector<model::EvalSample> earlier;
  /// Gets each answered question as it comes, from several threads, one call at a time. An error ends the eval.
  std::function<Status(const model::EvalSample&)> keep;
};

/// Asks each question of `task` once, through the load generator, `concurrency` at a time, at temperature 0 with the stop strings of the task and no
/// others, and scores the answers. Of a task with choices the engine is asked how likely it finds each (log-likelihood of a prompt: completions
/// with `echo` and `logprobs`, which not every engine has). Blocks.
///
/// A question without an answer (no connection, a status other than 200, a body without text) is no Error: it makes n_eff smaller and
/// infrastructure_success false, and then there is no score: what a dead engine did not answer is not known. The first reason goes to
/// `progress` under the stage "eval". Samples are those of the answered questions, in the order of the task.
/// Errors: kInvalid for a concurrency or limit below 1, or for choices where the engine does not tell likelihoods; those of `keep`; kCancelled when `stop`
/// fired.
[[nodiscard]] Result<model::EvalResult> run_eval(const Task& task, const EvalOptions& options, io::Progress& progress, std::stop_token stop);

/// Scores of samples that are there already, by the same rules: how `run_eval` ends. `n_requested`: how many questions were to be asked.
[[nodiscard]] model::EvalResult summarise(const Task& task, const std::string& model_prefix, std::vector<model::EvalSample> samples, std::int64_t n_requested);

/// Extracts and judges one response.
class Judge {
 public:
  [[nodiscard]] static Result<Judge> make(const Task& task);
  [[nodiscard]] model::EvalSample judge(std::int64_t doc_id, const Question& question, std::string response, const std::string& finish_reason) const;

 private:
  Judge(Extractor strict, std::optional<Extractor> flexible, Matcher matcher)
      : strict_(std::move(strict)), flexible_(std::move(flexible)), matcher_(std::move(matcher)) {}
  Extractor strict_;
  std::optional<Extractor> flexible_;
  Matcher matcher_;
};

}  // namespace pawl::evals
