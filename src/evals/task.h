#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "evals/scorer.h"
#include "io/assets.h"

namespace pawl::evals {

struct Question {
  std::string question;
  std::string answer;                     ///< what the extracted text is compared with; of a question with choices, the right one
  std::vector<std::string> choices = {};  ///< of a task with choices
};

/// How an answer is had: the engine writes one, or says how likely it finds each of the given ones.
enum class TaskKind { kGenerate, kChoices };

/// An eval task as data: data/evals/NAME.yaml, or a task file of lm-eval (docs/evals.md).
struct Task {
  std::string name;        ///< of the file
  std::string reported;    ///< task name in rows; empty: `name`
  std::string definition;  ///< SHA-256 of the file and, where the questions come from one, of the data set
  TaskKind kind = TaskKind::kGenerate;
  std::string prompt;              ///< with {question} in it
  std::string shots;               ///< text before every prompt: the examples
  std::string delimiter;           ///< between prompt and choice
  std::vector<std::string> until;  ///< stop strings
  std::int64_t max_tokens = 64;
  Filter strict;
  std::optional<Filter> flexible;
  MatchRules match;
  double threshold = 0.9;                    ///< every score must reach it; NaN: nothing does
  std::map<std::string, double> thresholds;  ///< of single models, by model prefix
  std::vector<Question> questions;
  std::string data_file;  ///< where the questions come from when none stand in the task: "" or a name beside it

  [[nodiscard]] std::string prompt_of(const Question& question) const;
  [[nodiscard]] const std::string& reported_name() const { return reported.empty() ? name : reported; }
  [[nodiscard]] double threshold_for(const std::string& model_prefix) const;
};

/// Reads a file of a data set by the name that a task gives it.
using DataReader = std::function<Result<std::string>(const std::string& name)>;

/// The text of a task file, in our form or in lm-eval's (known by its keys), with its questions. `file`: its name in errors; `name`: what its key `task`
/// must be, empty for any. `data`: reads the data set, when the questions come from one; `data_set`: which one, empty for that of the task.
/// Errors carry file, line and column; a key of lm-eval's that would change what is measured and is not understood is one.
[[nodiscard]] Result<Task> read_task(std::string text, const std::string& file, const std::string& name, const std::string& data_set, const DataReader& data);

/// Reads data/evals/NAME.yaml. Its data set is `data_set` if that is given (read by `data`), else the file of data/evals that the task names.
[[nodiscard]] Result<Task> load_task(const io::Assets& assets, const std::string& name, const std::string& data_set = {}, const DataReader& data = {});

}  // namespace pawl::evals
