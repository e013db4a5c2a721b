#pragma once

#include <string>
#include <vector>

#include "results/model_names.h"
#include "results/records.h"

namespace pawl::results {

/// The answer of /api/unofficial-run (api-dashboard 1.8, 3.7): {runInfos, benchmarks, evaluations} of runs whose artifacts
/// were read and not stored. Rows have the ids 0 and −1: nothing can be asked about them.
[[nodiscard]] std::string overlay_answer(const std::vector<RunBatch>& runs);

}  // namespace pawl::results
