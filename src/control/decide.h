#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/candidate.h"

namespace pawl::control {

/// What happened. Past tense: an event is a fact and cannot be refused, only ignored.
enum class EventKind {
  kSessionStarted,
  kPlanProposed,  ///< research found that the bump can be tried
  kPlanRefused,   ///< research or planner ended it: `outcome`, `reason`
  kEditPushed,    ///< `commit`
  kCrOpened,      ///< `number`
  kBaselineReady,
  kBaselineRefused,  ///< `reason`
  kCapacityPassed,
  kCapacityFailed,
  kRunDispatched,  ///< `run`, `commit`
  kRunSucceeded,   ///< `run`
  kRunFailed,      ///< `run`, `detail`: the first error
  kEvidenceAccepted,
  kEvidenceRefused,  ///< `reason`, `detail`
  kGatePassed,       ///< `commit`
  kGateFailed,       ///< `reason`, `detail`
  kReportWritten,
  kReadyConfirmed,
  kReceiptPosted,
  kRunsEnded,
  kRequestClosed,
  kStopRequested  ///< by closing the request or by an operator
};
BOOST_DESCRIBE_ENUM(EventKind, kSessionStarted, kPlanProposed, kPlanRefused, kEditPushed, kCrOpened, kBaselineReady, kBaselineRefused, kCapacityPassed,
                    kCapacityFailed, kRunDispatched, kRunSucceeded, kRunFailed, kEvidenceAccepted, kEvidenceRefused, kGatePassed, kGateFailed, kReportWritten,
                    kReadyConfirmed, kReceiptPosted, kRunsEnded, kRequestClosed, kStopRequested)

struct Event {
  EventKind kind = EventKind::kSessionStarted;
  std::string at;                       ///< ISO 8601, UTC; given by whoever saw it
  std::optional<std::int64_t> version;  ///< of the state that the answered command was issued under; absent: from outside
  std::string commit, reason, detail;
  std::string change, change_zh;  ///< kPlanProposed as a repair: what it changes
  std::int64_t run = 0, number = 0;
  std::optional<model::Outcome> outcome;
};
BOOST_DESCRIBE_STRUCT(Event, (), (kind, at, version, commit, reason, detail, change, change_zh, run, number, outcome))

/// What shall happen. Performed after the decision is durable; each kind can be repeated with the same key.
enum class CommandKind {
  kResearch,
  kCommitImage,
  kOpenRequest,
  kFreezeBaseline,
  kCheckCapacity,
  kDispatchSmoke,
  kDispatchFinal,
  kReportAttempt,  ///< creates or edits the comment of the newest attempt
  kAwaitRun,
  kJudgeSmoke,
  kDiagnose,
  kCommitRepair,
  kAppendChangelog,
  kCheckFinal,
  kAddSweepLabel,
  kVerifyFinal,
  kPublishReport,
  kMarkReady,
  kPostPending,  ///< receipt "cleanup pending"
  kCancelRuns,
  kCloseRequest,
  kPostReceipt
};
BOOST_DESCRIBE_ENUM(CommandKind, kResearch, kCommitImage, kOpenRequest, kFreezeBaseline, kCheckCapacity, kDispatchSmoke, kDispatchFinal, kReportAttempt,
                    kAwaitRun, kJudgeSmoke, kDiagnose, kCommitRepair, kAppendChangelog, kCheckFinal, kAddSweepLabel, kVerifyFinal, kPublishReport, kMarkReady,
                    kPostPending, kCancelRuns, kCloseRequest, kPostReceipt)

struct Command {
  std::string key;  ///< candidate / version / kind: the same decision always gives the same key
  CommandKind kind = CommandKind::kResearch;
  std::int64_t version = 0;  ///< of the candidate after the decision
};
BOOST_DESCRIBE_STRUCT(Command, (), (key, kind, version))

struct Decision {
  Candidate candidate;
  std::vector<Command> commands;
  bool ignored = false;           ///< no transition: the event is journalled and changes nothing
  bool abandons_pending = false;  ///< commands issued before and not yet performed are dropped
};

/// One row of the table. `guard` names a condition on candidate and event, empty for none.
struct Transition {
  State from;
  EventKind on;
  std::string guard;
  State to;
  std::vector<CommandKind> commands;
};

/// The whole machine, in the order in which rows are tried. Rows for a stop from any state are generated.
[[nodiscard]] const std::vector<Transition>& transition_table();

/// Pure: no clock, no I/O. An event that answers a command of an earlier version is ignored.
[[nodiscard]] Decision decide(const Candidate& candidate, const Event& event);

/// Most repairs that one candidate may be charged (upgrade-loop 11).
inline constexpr std::int64_t kRepairsMax = 5;
/// Failed capacity checks in a row that defer a candidate.
inline constexpr std::int64_t kCapacityFailuresMax = 2;

}  // namespace pawl::control
