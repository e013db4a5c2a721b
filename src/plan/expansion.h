#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// Which rows carry eval marks, as the generator's flags say it.
enum class EvalMode {
  kDefault,   ///< every row, `run-eval` true on those that the default rule selects
  kNone,      ///< `--no-evals`: every row, none marked
  kEvalsOnly  ///< `--evals-only`: the selected rows alone, with `eval-only: true`
};

/// The matrix rows of these recipes, in the contract's order and key order: `test-config --config-keys …` of
/// recipes-matrix-changelog 6 to 9. Fixed sequence lengths on one or several nodes are expanded; a scenario or key that
/// this expansion does not know is refused by name, with its place.
[[nodiscard]] Result<std::vector<codec::Json>> expand(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, EvalMode mode);

/// What a smoke run measures (upgrade-loop 12): the lowest concurrency of every deployment shape, and one eval.
struct SmokeSelection {
  std::vector<codec::Json> points;
  std::vector<codec::Json> evals;  ///< one, or none when the recipe has no default eval
};

/// Where the smoke eval runs.
enum class SmokeEval {
  kSmokeConcurrency,     ///< at the smoke concurrency of the shape that the largest default eval uses (profile 2026-09)
  kCanonicalConcurrency  ///< at the lowest concurrency among the default evals (profile 2026-10)
};

[[nodiscard]] SmokeSelection select_smoke(const std::vector<codec::Json>& points, const std::vector<codec::Json>& evals, SmokeEval where);

/// The concurrencies of a range: from start, times step, the end always last (7.2). Requires 0 < start ≤ end, step > 1.
[[nodiscard]] std::vector<std::int64_t> concurrency_range(std::int64_t start, std::int64_t end, std::int64_t step);

}  // namespace pawl::plan
