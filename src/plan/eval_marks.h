#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "plan/generator.h"
#include "plan/typing.h"

namespace pawl::plan {

/// What differs between generations (data/catalog/layouts.yaml).
struct EvalRules {
  std::vector<std::string> agentic_group{"model", "runner", "framework", "precision"};
  std::int64_t agentic_min_conc = 16;  ///< of multi-node agentic topologies; 0: none
  /// A deployment without such a topology is evaluated once, and of what the results' database takes for one configuration
  /// one row is.
  bool agentic_fallback = false;
};

/// Which rows are evaluated (recipes-matrix-changelog 9). That depends on all rows of an invocation, so there are two passes over the same rows in the
/// same order: `observe` each of them, then `apply` to each. Keeps a few bytes a row and one key a group, never a row.
class EvalMarks {
 public:
  explicit EvalMarks(const GeneratorOptions& options, EvalRules rules = {});
  ~EvalMarks();
  EvalMarks(const EvalMarks&) = delete;
  EvalMarks& operator=(const EvalMarks&) = delete;

  /// Error: a concurrency that cannot be compared because it is a text.
  [[nodiscard]] Status observe(const codec::Json& row);
  /// Writes the marks into the row: sets `run-eval`, may replace `conc`, may append `eval-conc`, `eval-all-concs`, `eval-only`.
  /// False: the row is not part of the result.
  [[nodiscard]] bool apply(codec::Json& row);

 private:
  struct Groups;
  enum class Kind : unsigned char { kNever, kSingleFixed, kSingleAgentic, kMultiFixed, kMultiAgentic };
  struct Note {
    Kind kind = Kind::kNever;
    bool eval_sequence = false;  ///< 8k1k, or agentic
    std::uint32_t group = 0;
    std::int64_t conc = 0;  ///< of rows with one
  };

  /// Between the passes: what only all rows together decide.
  void settle();

  bool none_, all_, only_;
  EvalRules rules_;
  std::unique_ptr<Groups> groups_;
  std::vector<Note> notes_;
  std::size_t applied_ = 0;
};

}  // namespace pawl::plan
