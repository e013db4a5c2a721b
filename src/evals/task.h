#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::evals {

struct Question {
  std::string question;
  std::string answer;  ///< the number after the marker
};

/// One filter of a task: the pattern (ECMAScript), and which of its matches counts (0 = first, -1 = last). Of a match
/// with several groups the first non-empty one counts; no match gives "[invalid]".
struct Filter {
  std::string pattern;
  std::int64_t group_select = 0;
};

/// An eval task as data: data/evals/NAME.yaml.
struct Task {
  std::string name;
  std::string definition;          ///< SHA-256 of the file
  std::string prompt;              ///< with {question} in it
  std::vector<std::string> until;  ///< stop strings
  std::int64_t max_tokens = 64;
  Filter strict, flexible;
  double threshold = 0.9;  ///< both scores must reach it
  std::vector<Question> questions;

  [[nodiscard]] std::string prompt_of(const Question& question) const;
};

/// Reads a task. Errors carry file, line and column.
[[nodiscard]] Result<Task> load_task(const io::Assets& assets, const std::string& name);

}  // namespace pawl::evals
