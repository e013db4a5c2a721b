#pragma once

#include "loadgen/driver.h"
#include "loadgen/load.h"
#include "model/bench_result.h"
#include "stats/percentile.h"

namespace pawl::loadgen {

/// The statistics of values in any order.
[[nodiscard]] model::Distribution describe(std::vector<double> values);
/// The same as if each value were written down `weight` times; n counts them so. Without an interval: the repetitions
/// are not independent.
[[nodiscard]] model::Distribution describe_weighted(std::vector<stats::Weighted> values);

/// Totals, distributions and flags of a measured phase. Fills everything but identity, wall times and verdict.
void summarise(const PhaseLog& log, model::BenchResult& result);

/// What the first failure of the most common class said, in one short line; empty without failures.
[[nodiscard]] std::string failure_example(const PhaseLog& log, const model::BenchResult& result);

/// Judges a summarised result: sets `verdict` and `reasons`. Never changes a number. `example`: see failure_example.
void judge(const LoadRequest& load, model::BenchResult& result, const std::string& example = {});

}  // namespace pawl::loadgen
