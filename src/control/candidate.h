#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/job.h"
#include "model/outcome.h"
#include "model/scale.h"

namespace pawl::control {

/// Where a candidate stands (upgrade-loop 8.1, C0 … C40 in this order).
enum class State {
  kDiscovered,
  kReviewed,
  kPreflighted,
  kClaimed,
  kResearching,
  kEditing,
  kCrDraft,
  kBaselineFrozen,
  kSmokeGate,
  kSmokeDispatching,
  kSmokeRunning,
  kDiagnosing,
  kRepairing,
  kChangelog,
  kFinalPreflight,
  kFinalGate,
  kFinalDispatching,
  kFinalRunning,
  kVerifying,
  kPublishing,
  kReadying,
  kValidated,
  kStopping,
  kCancelling,
  kClosing,
  kClosed,
  kHandedOff
};
BOOST_DESCRIBE_ENUM(State, kDiscovered, kReviewed, kPreflighted, kClaimed, kResearching, kEditing, kCrDraft, kBaselineFrozen, kSmokeGate, kSmokeDispatching,
                    kSmokeRunning, kDiagnosing, kRepairing, kChangelog, kFinalPreflight, kFinalGate, kFinalDispatching, kFinalRunning, kVerifying, kPublishing,
                    kReadying, kValidated, kStopping, kCancelling, kClosing, kClosed, kHandedOff)

[[nodiscard]] constexpr bool terminal(State state) { return state == State::kValidated || state == State::kClosed || state == State::kHandedOff; }
/// Cleanup is under way: nothing is started any more.
[[nodiscard]] constexpr bool ending(State state) { return state == State::kStopping || state == State::kCancelling || state == State::kClosing; }

enum class AttemptKind { kInitial, kRepair, kInfrastructureRetry, kFinal };
BOOST_DESCRIBE_ENUM(AttemptKind, kInitial, kRepair, kInfrastructureRetry, kFinal)
enum class AttemptStatus { kPlanned, kQueued, kRunning, kPassed, kFailed, kCancelled, kDeferred };
BOOST_DESCRIBE_ENUM(AttemptStatus, kPlanned, kQueued, kRunning, kPassed, kFailed, kCancelled, kDeferred)
[[nodiscard]] constexpr bool terminal(AttemptStatus status) {
  return status != AttemptStatus::kPlanned && status != AttemptStatus::kQueued && status != AttemptStatus::kRunning;
}

/// What follows an attempt; the report says it in both languages.
enum class NextStep { kAwaitRun, kChangelogAndSweep, kFinish, kRepair, kRetry, kMaintenance, kStop };
BOOST_DESCRIBE_ENUM(NextStep, kAwaitRun, kChangelogAndSweep, kFinish, kRepair, kRetry, kMaintenance, kStop)

/// Why a run ended without success (upgrade-loop 8.3, derived classes, and 16).
enum class RunClass {
  kOwnFailure,
  kInfrastructure,
  kPreempted,   ///< cancelled with no failed job and no action of ours
  kPolicyGate,  ///< stopped by a gate before any GPU was used
  kFailFast,    ///< siblings cancelled after one failure; the finding is that first one
  kDeadline,
  kVanished  ///< the run cannot be found any more: unknown, never success
};
BOOST_DESCRIBE_ENUM(RunClass, kOwnFailure, kInfrastructure, kPreempted, kPolicyGate, kFailFast, kDeadline, kVanished)
/// Retried on the same head without charge (upgrade-loop 11).
[[nodiscard]] constexpr bool retried(RunClass cls) { return cls == RunClass::kInfrastructure || cls == RunClass::kPreempted || cls == RunClass::kDeadline; }

/// One edit and one run of it. A terminal attempt never changes again.
struct Attempt {
  std::int64_t number = 1;  ///< counts all attempts of the candidate, from 1
  AttemptKind kind = AttemptKind::kInitial;
  bool final = false;       ///< its run is the full sweep
  std::int64_t repair = 0;  ///< N of repair N; 0 otherwise
  std::int64_t retry = 0;   ///< N of infrastructure retry N of the same edit; 0 otherwise
  AttemptStatus status = AttemptStatus::kPlanned;
  std::int64_t run = 0, run_attempt = 1;  ///< 0: no run of its own
  std::string head;                       ///< commit measured
  std::string started;                    ///< ISO 8601, UTC
  NextStep next = NextStep::kAwaitRun;
  std::string change, change_zh;  ///< of a repair: what it changed and why, one sentence in each language
  std::string finding;            ///< first error of a failed attempt, English
  std::string reason;             ///< its code: "run-failed", "evals-pass"…
  std::string signature;          ///< of the failure: equal for the same failure, whatever run it happened in
};
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (number, kind, final, repair, retry, status, run, run_attempt, head, started, next, change, change_zh, finding, reason, signature))

/// A run that the candidate caused, found by marker, by head or by change request (upgrade-loop 1, 20).
struct OwnedRun {
  std::int64_t run = 0, attempt = 1;
  std::string purpose, head, state;
  bool gate_only = false;           ///< stopped before any benchmark: never judged
  std::optional<double> gpu_hours;  ///< absent: unknown, which is never zero
};
BOOST_DESCRIBE_STRUCT(OwnedRun, (), (run, attempt, purpose, head, state, gate_only, gpu_hours))

/// Waiting without a process (upgrade-loop 18.1).
struct Parking {
  std::int64_t session = 0;        ///< that parked
  std::vector<std::int64_t> runs;  ///< waited for
  std::string since;               ///< ISO 8601, UTC
};
BOOST_DESCRIBE_STRUCT(Parking, (), (session, runs, since))

enum class SessionState { kWorking, kParked, kEnded };
BOOST_DESCRIBE_ENUM(SessionState, kWorking, kParked, kEnded)

/// What of the policy file steers decisions. Frozen with the candidate: a changed file never changes one under way.
struct Rules {
  std::int64_t repairs = 5;                 ///< most that one candidate may be charged (upgrade-loop 11)
  std::int64_t infrastructure_retries = 2;  ///< of one attempt, not charged
  std::int64_t capacity_failures = 2;       ///< in a row that defer a candidate
  std::int64_t same_failures = 2;           ///< identical failures in a row that end it
  bool rebase_charged = false;              ///< taking main's bytes after a failed gate counts as a repair
  bool checkpointed_deferral = false;       ///< deferred at the final gate: wait with the evidence kept, instead of closing
  std::int64_t deferral_checks = 4;         ///< while it waits so: checks before it closes after all
  std::int64_t capacity_pause_s = 1;        ///< between two checks in a row
  std::int64_t deferral_pause_s = 21600;    ///< between checks while a deferral waits
  std::int64_t poll_s = 30;                 ///< between looks at a run that is waited for
  std::int64_t correlation_s = 60;          ///< until a dispatched run that nobody found is looked for again
  std::int64_t cancel_retry_s = 10;         ///< until a pending cancellation is looked at again
  std::int64_t report_refresh_s = 1800;     ///< an attempt's comment is written again after this long without a change
  std::int64_t stale_after_days = 14;       ///< a validated request older than this is listed as stale
  std::vector<model::Outcome> keep_branch;  ///< outcomes after which the branch stays for review
  bool reuse_command = true;                ///< posted once after validation
};
BOOST_DESCRIBE_STRUCT(Rules, (),
                      (repairs, infrastructure_retries, capacity_failures, same_failures, rebase_charged, checkpointed_deferral, deferral_checks,
                       capacity_pause_s, deferral_pause_s, poll_s, correlation_s, cancel_retry_s, report_refresh_s, stale_after_days, keep_branch,
                       reuse_command))

/// What validation rests on: the run that measured exactly this head.
struct Proof {
  std::string head;
  std::int64_t run = 0, attempt = 0;
};
BOOST_DESCRIBE_STRUCT(Proof, (), (head, run, attempt))

/// Everything durable about one candidate: a recipe and the image it shall move to. Written only by `decide`.
struct Candidate {
  std::string schema = "pawl.candidate/1";
  std::string id;  ///< 16 hex of (file + key), "-", 16 hex of the current image
  std::string recipe, file, image_old, image_new, digest_new, runner, engine;
  std::string policy;  ///< "2026-09"
  Rules rules;
  model::Scale scale;
  std::string eval_task;
  std::string branch, base, head;
  std::string created;  ///< ISO 8601, UTC
  State state = State::kDiscovered;
  std::int64_t version = 0;  ///< raised by every decision; commands carry it
  std::int64_t session = 0;  ///< number of the newest session; only ever raised
  SessionState session_state = SessionState::kEnded;
  std::optional<Parking> parked;
  std::int64_t cr = 0;  ///< 0: none yet
  std::vector<Attempt> attempts;
  std::vector<std::int64_t> runs;      ///< every run that the candidate caused
  std::vector<OwnedRun> owned;         ///< the same with what is known of each; filled when they are listed
  bool runs_complete = false;          ///< `owned` comes from a complete listing
  std::optional<bool> run_unanswered;  ///< it ended while a dispatch was ordered and not answered: a run may have been, and be gone
  std::int64_t repairs = 0;
  std::int64_t capacity_failures = 0;  ///< in a row, at the present gate
  std::int64_t capacity_at = 0;        ///< seconds since 1970 of the last passed check; 0: none
  std::int64_t reported_at = 0;        ///< seconds since 1970 of the last report of an attempt
  std::int64_t deferral_checks = 0;    ///< while a checkpointed deferral waits
  std::int64_t label_retries = 0;      ///< of the present final sweep
  std::optional<model::Outcome> outcome;
  std::string planned_change, planned_change_zh;  ///< of the repair that is being made
  std::string reason;                             ///< code, e.g. "baseline-missing"; empty for success
  std::string detail;                             ///< one sentence for people
  std::string stop_source;                        ///< "request-closed", "operator", …; empty when nobody asked for a stop
  bool branch_kept = false;
  std::optional<Proof> proof;
  std::string ended;        ///< ISO 8601, UTC; when it became terminal
  std::string newer_image;  ///< seen after validation; nothing follows from it without a person
  bool claim_released = false;
};
BOOST_DESCRIBE_STRUCT(Candidate, (),
                      (schema, id, recipe, file, image_old, image_new, digest_new, runner, engine, policy, rules, scale, eval_task, branch, base, head, created,
                       state, version, session, session_state, parked, cr, attempts, runs, owned, runs_complete, repairs, capacity_failures, capacity_at,
                       reported_at, deferral_checks, label_retries, outcome, planned_change, planned_change_zh, reason, detail, stop_source, branch_kept, proof,
                       ended, newer_image, claim_released, run_unanswered))

/// `candidate_id` of upgrade-loop 2.
[[nodiscard]] std::string candidate_id(const std::string& file, const std::string& recipe, const std::string& image_old);

/// Whole days since a candidate was validated; nothing for one that was not. Nothing follows from it: superseding a
/// request is for a person.
[[nodiscard]] std::optional<std::int64_t> validated_days(const Candidate& candidate, WallTime now);
/// Whether a validated request is older than its policy lets pass without a word.
[[nodiscard]] bool stale(const Candidate& candidate, WallTime now);

/// While it is diagnosed: whether a gate of the branch failed (`reason` and `detail` name it), and not its newest run.
[[nodiscard]] inline bool gate_failed(const Candidate& candidate) { return candidate.state == State::kDiagnosing && !candidate.reason.empty(); }

/// Repairs as the ledger of attempts proves them; equals `repairs` always.
[[nodiscard]] std::int64_t charged_repairs(const Candidate& candidate);

}  // namespace pawl::control
