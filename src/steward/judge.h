#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "io/domain/sweep_runner.h"
#include "model/baseline.h"
#include "report/thread.h"

namespace pawl::steward {

/// What a run must have measured.
struct Expectation {
  std::string head;                   ///< commit in the manifest
  std::string image;                  ///< in every row
  std::int64_t run = 0, attempt = 1;  ///< in the manifest, where it names them
  bool full_sweep = false;
  std::vector<codec::Json> points, evals;     ///< matrix rows
  const model::Baseline* baseline = nullptr;  ///< every point of it must be there again; null: not asked (smoke)
};

/// Looks at every condition (upgrade-loop 12 and 16) and says what was found; all `ok` means accepted. Green job states
/// alone are no proof: rows are counted, matched and read. Pure.
[[nodiscard]] std::vector<report::Check> judge(const io::RunEvidence& evidence, const Expectation& expected);

/// The first check that is not ok, as a sentence; empty when all are.
[[nodiscard]] std::string first_failure(const std::vector<report::Check>& checks);

}  // namespace pawl::steward
