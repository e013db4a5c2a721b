#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "codec/json.h"
#include "model/job.h"
#include "model/scale.h"

namespace pawl::io {

/// What to execute. `marker` names it for good: a second dispatch with the same marker is the same run.
struct SweepRequest {
  std::string marker;
  std::string recipe;                     ///< config key
  std::string purpose;                    ///< "baseline", "smoke", "final"
  std::string head;                       ///< commit that the matrix was made from; empty for a baseline that has none
  std::vector<codec::Json> points;        ///< matrix rows to benchmark
  std::vector<codec::Json> evals;         ///< matrix rows to evaluate
  std::vector<std::string> launch_flags;  ///< engine flags of the recipe's launch script; empty when it has none
  std::optional<model::LaunchScript> launch_script;
  model::Scale scale;
  std::string eval_task;
  bool fail_fast = true;                       ///< the first failed job of a family cancels the rest of that family
  std::optional<bool> canary;                  ///< one cheap point goes first; when it fails nothing else starts. Absent: no
  std::optional<model::PackageNeeds> package;  ///< of a recipe whose image is a package
  std::optional<codec::Json> changelog;        ///< changelog entries that the sweep is about (`changelog_metadata.json`)
};
BOOST_DESCRIBE_STRUCT(SweepRequest, (),
                      (marker, recipe, purpose, head, points, evals, launch_flags, launch_script, scale, eval_task, fail_fast, canary, package, changelog))

enum class RunState { kQueued, kRunning, kSuccess, kFailure, kCancelled };
BOOST_DESCRIBE_ENUM(RunState, kQueued, kRunning, kSuccess, kFailure, kCancelled)

[[nodiscard]] constexpr bool terminal(RunState state) { return state != RunState::kQueued && state != RunState::kRunning; }

/// What a run's end means beyond its state (upgrade-loop 16), as far as its runner can tell.
enum class RunEnd { kPlain, kPreempted, kPolicyGate, kFailFast, kDeadline };
BOOST_DESCRIBE_ENUM(RunEnd, kPlain, kPreempted, kPolicyGate, kFailFast, kDeadline)

struct RunStatus {
  RunId id;
  std::int64_t attempt = 1;
  std::string marker, recipe, purpose, head;
  RunState state = RunState::kQueued;
  std::int64_t jobs = 0, done = 0, failed = 0;
  std::string started, ended;                ///< ISO 8601, UTC; empty while unknown
  std::optional<model::JobFailure> failure;  ///< the first one
  RunEnd end = RunEnd::kPlain;
  bool gate_only = false;           ///< stopped before any benchmark; used no GPU
  std::optional<double> gpu_hours;  ///< absent: unknown
  std::string reason;               ///< code of a policy gate that stopped it, e.g. "stale-base"
};

/// How the runs of one candidate are found, each way by itself: a run may match one and not the others.
struct OwnedQuery {
  std::string marker_prefix;  ///< of `SweepRequest::marker`
  std::int64_t request = 0;   ///< change request; 0: none
  std::string branch;
  std::vector<std::string> heads;
};

/// What a finished run left (sweep-run-results 1.10), as far as a judge needs it.
struct RunEvidence {
  std::vector<codec::Json> rows;   ///< agg_bmk.json
  std::vector<codec::Json> evals;  ///< agg_eval_all.json
  codec::Json manifest;            ///< head, run, attempt, matrix, scale, job states
};

/// Runs, watches, re-runs and cancels one sweep at a time. The steward knows no other way to measure. Every call may
/// be repeated. Thread-safe.
class SweepRunner {
 public:
  virtual ~SweepRunner() = default;
  /// Durable before it returns; the jobs run later. Idempotent by marker.
  virtual Result<RunId> dispatch(const SweepRequest& request) = 0;
  /// The run with this marker, if one was ever dispatched.
  virtual Result<std::optional<RunId>> find(const std::string& marker) = 0;
  virtual Result<RunStatus> status(RunId run) = 0;
  /// Until the run is terminal; kCancelled when `stop` fires first.
  virtual Result<RunStatus> wait(RunId run, std::stop_token stop) = 0;
  /// Whether runs go on while nobody waits: then whoever waits may end and look again later.
  [[nodiscard]] virtual bool runs_by_itself() const { return false; }
  /// Runs a terminal run again on the same head, every job of it when `whole`, else those that failed. Idempotent: when
  /// the run's attempt is already `expected_attempt` + 1, nothing happens.
  virtual Result<RunStatus> rerun(RunId run, std::int64_t expected_attempt, bool whole) = 0;
  /// Every run that matches, also ended ones and those that only a gate saw. An incomplete listing is an error.
  virtual Result<std::vector<RunStatus>> owned(const OwnedQuery& query) = 0;
  /// Asks for the end; durable before it returns. The run is terminal when a `wait` has returned.
  virtual Status cancel(RunId run) = 0;
  /// Only of a terminal run.
  virtual Result<RunEvidence> evidence(RunId run) = 0;
};

}  // namespace pawl::io
