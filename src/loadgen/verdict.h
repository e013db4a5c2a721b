#pragma once

#include <string>

#include "loadgen/load.h"
#include "model/bench_result.h"

namespace pawl::loadgen {

/// Judges a filled result: sets `verdict` and `reasons`. Never changes a number. `example`: what the first failure of the
/// most common class said, for the text of a reason.
void judge(const LoadRequest& load, model::BenchResult& result, const std::string& example = {});

}  // namespace pawl::loadgen
