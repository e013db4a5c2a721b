#pragma once

#include <functional>
#include <vector>

#include "cli.h"
#include "load_flags.h"
#include "model/bench_result.h"

namespace pawl::app {

/// One point of a sweep or of a search.
struct BenchPoint {
  double rate_per_s = 0;         ///< 0: a closed loop
  std::int64_t concurrency = 0;  ///< 0: an open loop without a limit
  bool holds = true;             ///< of a search: every limit was kept
  model::BenchResult result;
};

/// What a search found. `rate_per_s` 0: not even the lowest rate holds.
struct BenchSearch {
  double rate_per_s = 0;
  double lowest_failed_per_s = 0;
};

/// Makes the workload of a point; nothing: the lengths of the request alone.
using PointWorkload = std::function<Result<std::shared_ptr<const workload::Workload>>(std::size_t point)>;

/// Called with the result of each point as soon as it is over.
using AfterPoint = std::function<Status(model::BenchResult&)>;

/// Measures the points of --sweep-concurrency or --sweep-rate, one after the other, each with prompts of its own.
Result<std::vector<BenchPoint>> run_sweep(const LoadFlags& flags, const loadgen::LoadRequest& base, const PointWorkload& workload_of, io::Progress& progress,
                                          std::stop_token stop, const AfterPoint& after);

/// Looks for the highest rate at which every limit of the run holds, the load is offered as planned and the verdict is not
/// INVALID (--find-max-rate). Gives all probes in their order. Error: kInvalid without a limit to hold.
Result<std::pair<BenchSearch, std::vector<BenchPoint>>> find_max_rate(const LoadFlags& flags, const loadgen::LoadRequest& base,
                                                                      const PointWorkload& workload_of, io::Progress& progress, std::stop_token stop,
                                                                      const AfterPoint& after);

/// The points as a table on standard output.
void print_points(const std::vector<BenchPoint>& points);
/// The points as one document, `pawl.bench-sweep/1`. `paired`: all of them had the same prompts (BC-9.10).
[[nodiscard]] codec::Json points_document(const std::vector<BenchPoint>& points, const BenchSearch* search, bool paired);

}  // namespace pawl::app
