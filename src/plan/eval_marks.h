#pragma once

#include "base/result.h"
#include "plan/generator.h"

namespace pawl::plan {

/// Sets `run-eval` (and `eval-conc`) on every row by the default rule (9.1), of agentic rows only when `agentic` (9.2);
/// otherwise those get false. Error: a concurrency or length that cannot be compared because it is a text.
[[nodiscard]] Status mark_evals(Matrix& matrix, bool agentic);

/// `--all-evals` (9.3), after the marks.
[[nodiscard]] Status expand_all_evals(Matrix& matrix);

/// Keeps the marked rows and appends `eval-only: true` to each.
void keep_evals_only(Matrix& matrix);

}  // namespace pawl::plan
