#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/domain/sweep_runner.h"
#include "model/job.h"
#include "model/point.h"

namespace pawl::runner {

/// Knows how to start the engine for a point of a sweep. Errors: this kind of point cannot be started here.
using EngineSource = std::function<Result<model::EngineSpec>(const model::Point&, const io::SweepRequest&)>;

/// Simulated engines: `self twin …` with the profile that twin.yaml maps the image to. Single-node points only.
[[nodiscard]] EngineSource twin_engines(std::string self);

/// Requests per unit of concurrency, warm-ups likewise, and the length spread of the field's fixed-sequence workload
/// (sweep-run-results 2.1).
inline constexpr std::int64_t kRequestsPerConcurrency = 10;
inline constexpr std::int64_t kWarmupsPerConcurrency = 2;
inline constexpr double kRangeRatio = 0.8;

/// The jobs of a sweep, in the order in which they run: benchmarks as in the matrix, then evals. `run` and `attempt`
/// are filled in. Names are unique: "bench-01-tp4-ep1-c4", "eval-02-tp2-ep1-c128".
[[nodiscard]] Result<std::vector<model::JobSpec>> plan_jobs(const io::SweepRequest& request, RunId run, std::int64_t attempt, const EngineSource& engines);

/// `JobSpec::fingerprint` of a matrix row under a request: changes with the launch script too, unlike the fingerprint of
/// the row alone.
[[nodiscard]] std::string job_fingerprint(const codec::Json& row, const io::SweepRequest& request);

}  // namespace pawl::runner
