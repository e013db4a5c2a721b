#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "control/candidate.h"

namespace pawl::control {

/// What happened. Past tense: an event is a fact and cannot be refused, only ignored.
enum class EventKind {
  kTick,          ///< a wave or a person proposes the candidate
  kOverlapClear,  ///< nobody else moves the recipe
  kOverlapFound,  ///< somebody does, or there is nothing to move: `outcome`, `reason`
  kBaselineReady,
  kBaselineRefused,  ///< `reason`
  kCapacityPassed,
  kCapacityFailed,
  kCapacityExpired,  ///< the pass is older than a dispatch allows
  kClaimWon,
  kClaimLost,
  kSessionStarted,
  kPlanProposed,  ///< research found that the bump can be tried; in diagnosis: a repair is known
  kPlanRefused,   ///< research or planner ended it: `outcome`, `reason`
  kMaintenance,   ///< diagnosis: the recipe is fine, the branch must take main's bytes
  kEditPushed,    ///< `commit`
  kBranchTaken,   ///< somebody else owns the branch
  kCrOpened,      ///< `number`
  kBodyWritten,
  kRunDispatched,  ///< `run`, `number` = run attempt, `commit`, `owned`: siblings on the same head
  kRunDoubled,     ///< as kRunDispatched, and a second run carries the same marker: `owned` names it
  kRunMissing,     ///< dispatched, and no run is to be found; `reason` "conflicted" when the request conflicts with main
  kRunUpdated,
  kRunSucceeded,   ///< `run`
  kRunFailed,      ///< `run`, `cls`, `reason`, `detail`: the first error, `signature`
  kSessionParked,  ///< nothing to do but wait for `run`
  kWaitEnded,      ///< the run that was waited for is terminal
  kEvidenceAccepted,
  kEvidenceRefused,  ///< `reason`, `detail`
  kGatePassed,       ///< `commit`
  kGateFailed,       ///< `reason`, `detail`
  kMainAdvanced,     ///< `commit`: main's new head
  kReportWritten,
  kReadyConfirmed,
  kReceiptPosted,
  kRunsEnded,   ///< `owned`: all of them, from a complete listing
  kRunsActive,  ///< cancellation is pending
  kRequestClosed,
  kBranchKept,      ///< as kRequestClosed, and the branch was left alone: `reason`
  kRunsDiscovered,  ///< `owned`; `reason` "incomplete" when the listing was not
  kClaimReleased,
  kLateRun,          ///< a run of an ended candidate appeared: `run`
  kSessionEnded,     ///< crash or limit: `reason`
  kRequestClosedBy,  ///< a person closed the request
  kStopRequested,    ///< by an operator
  kHandoffRequested,
  kRequestMerged,
  kHeadMoved,  ///< by somebody else
  kRequestReopened,
  kImageGone,
  kImageNewer,  ///< `detail`: the image
  kOwnershipMismatch,
  kUnexpectedError
};
BOOST_DESCRIBE_ENUM(EventKind, kTick, kOverlapClear, kOverlapFound, kBaselineReady, kBaselineRefused, kCapacityPassed, kCapacityFailed, kCapacityExpired,
                    kClaimWon, kClaimLost, kSessionStarted, kPlanProposed, kPlanRefused, kMaintenance, kEditPushed, kBranchTaken, kCrOpened, kBodyWritten,
                    kRunDispatched, kRunDoubled, kRunMissing, kRunUpdated, kRunSucceeded, kRunFailed, kSessionParked, kWaitEnded, kEvidenceAccepted,
                    kEvidenceRefused, kGatePassed, kGateFailed, kMainAdvanced, kReportWritten, kReadyConfirmed, kReceiptPosted, kRunsEnded, kRunsActive,
                    kRequestClosed, kBranchKept, kRunsDiscovered, kClaimReleased, kLateRun, kSessionEnded, kRequestClosedBy, kStopRequested, kHandoffRequested,
                    kRequestMerged, kHeadMoved, kRequestReopened, kImageGone, kImageNewer, kOwnershipMismatch, kUnexpectedError)

struct Event {
  EventKind kind = EventKind::kTick;
  std::string at;                       ///< ISO 8601, UTC; given by whoever saw it
  std::optional<std::int64_t> version;  ///< of the state that the answered command was issued under; absent: from outside
  std::string commit, reason, detail, signature;
  std::string change, change_zh;  ///< kPlanProposed as a repair: what it changes
  std::int64_t run = 0, number = 0;
  std::optional<RunClass> cls;
  std::optional<model::Outcome> outcome;
  std::vector<OwnedRun> owned;
};
BOOST_DESCRIBE_STRUCT(Event, (), (kind, at, version, commit, reason, detail, signature, change, change_zh, run, number, cls, outcome, owned))

/// What shall happen. Performed after the decision is durable; each kind can be repeated with the same key. At most one
/// mutation of the outside each, so that the request can be looked at again before every one of them.
enum class CommandKind {
  kReviewOverlap,
  kPreflightBaseline,
  kCheckCapacity,
  kClaimFamily,
  kStartSession,
  kResearch,
  kCommitImage,
  kOpenRequest,
  kFreezeBaseline,
  kWriteBody,
  kDispatchSmoke,
  kDispatchFinal,
  kRerun,          ///< the newest attempt's run again, on the same head
  kCancelDoubled,  ///< every active run of ours but the newest attempt's
  kReportAttempt,  ///< creates or edits the comment of the newest attempt
  kAwaitRun,       ///< waits where this process drives the run; otherwise looks once
  kPostParked,
  kWatchRun,  ///< looks at the run that a parked candidate waits for
  kPostResumed,
  kJudgeSmoke,
  kDiagnose,
  kCommitRepair,
  kAppendChangelog,  ///< on main's present bytes
  kCheckFinal,       ///< the four proofs, and coverage of the baseline
  kAddLabel,
  kRemoveLabel,
  kVerifyFinal,
  kPublishReport,
  kMarkReady,
  kPostReason,   ///< deferral or stop, before cleanup
  kPostPending,  ///< receipt "cleanup pending"
  kCancelRuns,
  kFinishAttempts,  ///< the newest attempt's comment gets its last state
  kCloseRequest,
  kDeleteBranch,
  kCollectRuns,
  kPostReceipt,
  kPostReuse,
  kReleaseClaim,
  kWatchLate  ///< runs of an ended candidate that turn up late
};
BOOST_DESCRIBE_ENUM(CommandKind, kReviewOverlap, kPreflightBaseline, kCheckCapacity, kClaimFamily, kStartSession, kResearch, kCommitImage, kOpenRequest,
                    kFreezeBaseline, kWriteBody, kDispatchSmoke, kDispatchFinal, kRerun, kCancelDoubled, kReportAttempt, kAwaitRun, kPostParked, kWatchRun,
                    kPostResumed, kJudgeSmoke, kDiagnose, kCommitRepair, kAppendChangelog, kCheckFinal, kAddLabel, kRemoveLabel, kVerifyFinal, kPublishReport,
                    kMarkReady, kPostReason, kPostPending, kCancelRuns, kFinishAttempts, kCloseRequest, kDeleteBranch, kCollectRuns, kPostReceipt, kPostReuse,
                    kReleaseClaim, kWatchLate)

/// How long after the decision a command is due; the length comes from the candidate's rules.
enum class Delay { kNone, kCapacityPause, kDeferralPause, kPoll, kCorrelation, kCancelRetry, kLate };
BOOST_DESCRIBE_ENUM(Delay, kNone, kCapacityPause, kDeferralPause, kPoll, kCorrelation, kCancelRetry, kLate)
/// A late run is looked for this long after the end.
inline constexpr std::int64_t kLateWatchSeconds = 600;

struct Step {
  CommandKind kind;
  Delay delay = Delay::kNone;
  Step(CommandKind k, Delay d = Delay::kNone) : kind(k), delay(d) {}  // NOLINT: implicit on purpose
  bool operator==(const Step&) const = default;
};

struct Command {
  std::string key;  ///< candidate / version / kind: the same decision always gives the same key
  CommandKind kind = CommandKind::kReviewOverlap;
  std::int64_t version = 0;  ///< of the candidate after the decision
  std::int64_t due = 0;      ///< seconds since 1970; 0: at once
};
BOOST_DESCRIBE_STRUCT(Command, (), (key, kind, version, due))

/// A condition on candidate and event.
enum class Guard {
  kAlways,
  kOnceMore,         ///< capacity: one more check before the candidate is deferred
  kCheckpoint,       ///< policy keeps a deferred candidate waiting, and checks are left
  kRetryLeft,        ///< the failure is retried without charge, and a retry is left
  kParkedRetryLeft,  ///< the same while parked
  kRetriesUsed,      ///< the failure would be retried, and no retry is left
  kPolicyGate,       ///< a gate stopped the run before any GPU
  kFailFast,
  kSameFailure,    ///< the same failure as the attempt before, no progress
  kRepairLeft,     ///< the budget allows another repair
  kFreeOrLeft,     ///< maintenance is free by policy, or the budget allows it
  kConflicted,     ///< the request conflicts with main
  kLabelOnceMore,  ///< the label was not yet set again
  kPlannedRepair,  ///< a charged maintenance is under way
  kParked
};
BOOST_DESCRIBE_ENUM(Guard, kAlways, kOnceMore, kCheckpoint, kRetryLeft, kParkedRetryLeft, kRetriesUsed, kPolicyGate, kFailFast, kSameFailure, kRepairLeft,
                    kFreeOrLeft, kConflicted, kLabelOnceMore, kPlannedRepair, kParked)

struct Decision {
  Candidate candidate;
  std::vector<Command> commands;
  bool ignored = false;           ///< no transition: the event is journalled and changes nothing
  bool stale = false;             ///< ignored because it answers a command of an earlier version
  bool abandons_pending = false;  ///< commands issued before and not yet performed are dropped: always, but for an overlay
  bool overlay = false;           ///< commands come before those that are pending
  int row = -1;                   ///< of the table
};

/// One row of the table.
struct Transition {
  const char* rule;  ///< row of the contract's table (upgrade-loop 10)
  State from;
  EventKind on;
  Guard guard;
  State to;
  std::vector<Step> commands;
  bool any_state = false;  ///< generated for many states from one rule
  bool overlay = false;    ///< commands issued before stay valid, and these come before them
};

/// The whole machine, in the order in which rows are tried. Rows for events of any state are generated.
[[nodiscard]] const std::vector<Transition>& transition_table();

/// Pure: no clock, no I/O. An event that answers a command of an earlier version is ignored. `now`: when the event was
/// taken in; due times count from it. `table`: another machine than the shipped one is for tests only.
[[nodiscard]] Decision decide(const Candidate& candidate, const Event& event, WallTime now);
[[nodiscard]] Decision decide(const std::vector<Transition>& table, const Candidate& candidate, const Event& event, WallTime now);

/// A capacity check is good for a dispatch for this long (upgrade-loop 7).
inline constexpr std::int64_t kCapacityFreshSeconds = 120;

}  // namespace pawl::control
