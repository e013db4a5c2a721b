#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "codec/json.h"
#include "model/job.h"

namespace pawl::model {

/// Where a row comes from, and whether to trust it: the nested object `pawl` of a result row. Everything that the
/// reference's row leaves out (sweep-run-results 5.3) stands here, so that no consumer meets an unknown flat key.
struct RowOrigin {
  std::int64_t run = 0, attempt = 1;
  std::string job, node, digest;
  std::optional<std::string> fingerprint;               ///< of the recipe with its launch script (see `JobSpec`)
  std::optional<std::string> engine_version;            ///< as the engine said
  std::optional<std::vector<std::string>> engine_args;  ///< command line of the engine
  std::optional<std::string> engine_config;             ///< its resolved arguments, in its own words
  std::string scale;                                    ///< "1/32"; "1/1" for a full measurement
  bool simulated = false;
  // Of a benchmark only; absent for evals.
  std::optional<std::string> clock;    ///< "kernel" or "user"
  std::optional<std::string> verdict;  ///< VALID, SUSPECT, INVALID
  std::optional<std::vector<VerdictReason>> reasons;
  std::optional<RequestCounts> counts;
  std::optional<std::int64_t> total_input_tokens, total_output_tokens;
  double duration_s = kUnknown;
  std::optional<std::int64_t> seed;
  std::string point_key;
  std::string measured_at;  ///< ISO 8601, UTC
};
BOOST_DESCRIBE_STRUCT(RowOrigin, (),
                      (run, attempt, job, node, digest, fingerprint, engine_version, engine_args, engine_config, scale, simulated, clock, verdict, reasons,
                       counts, total_input_tokens, total_output_tokens, duration_s, seed, point_key, measured_at))

/// The result row of a benchmark job: names, types and formulas of sweep-run-results 5.2 and 5.3 (latencies in
/// seconds, throughput in tokens/s/GPU), then the object `pawl`. A value that is not known is absent.
/// Errors: the job has no bench result, or its matrix row cannot be read.
[[nodiscard]] Result<codec::Json> result_row(const JobSpec& spec, const JobResult& result);

/// The eval row of sweep-run-results 4.6 and 4.7: identity of the deployment, task, scores, n_eff; then `pawl`.
[[nodiscard]] Result<codec::Json> eval_row(const JobSpec& spec, const JobResult& result);

/// The key of a row's point (see `point_key`), from its `pawl` object; empty when the row is not ours.
[[nodiscard]] std::string row_point_key(const codec::Json& row);

/// "TP2/EP1 conc 4", from the flat keys of a result or eval row.
[[nodiscard]] std::string row_label(const codec::Json& row);

}  // namespace pawl::model
