#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "plan/catalogue.h"
#include "plan/concurrency.h"

namespace pawl::plan {

/// Which rows carry eval marks, as the generator's flags say it.
enum class EvalMode {
  kDefault,   ///< every row, `run-eval` true on those that the default rule selects
  kNone,      ///< `--no-evals`: every row, none marked
  kEvalsOnly  ///< `--evals-only`: the selected rows alone, with `eval-only: true`
};

/// The matrix rows of these recipes, in the contract's order and key order: the generator (generator.h) on recipes already
/// chosen, both scenarios. These recipes alone are validated; the error is their first violation, with its place.
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

}  // namespace pawl::plan
