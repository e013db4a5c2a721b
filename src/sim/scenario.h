#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/candidate.h"

namespace pawl::sim {

/// What one attempt of a run comes to.
enum class Fate {
  kPass,
  kOwnFailure,      ///< an engine that does not start, each time with another message
  kSameFailure,     ///< always with the same message
  kInfrastructure,  ///< a node was lost
  kPreempted,
  kFailFast,
  kDeadline,
  kMissingRow,  ///< green, and a point has no row
  kWrongImage,  ///< green, and a row names the old image
  kEvalFails,
  kExpired,  ///< green, and what it left is gone
  kVanished  ///< cannot be found any more
};
BOOST_DESCRIBE_ENUM(Fate, kPass, kOwnFailure, kSameFailure, kInfrastructure, kPreempted, kFailFast, kDeadline, kMissingRow, kWrongImage, kEvalFails, kExpired,
                    kVanished)

enum class PlannerMood { kFixes, kKnowsNothing, kOutOfScope, kIncompatible, kNotReady, kUncertain, kEmptyEdit, kUnusable, kBreaks };
BOOST_DESCRIBE_ENUM(PlannerMood, kFixes, kKnowsNothing, kOutOfScope, kIncompatible, kNotReady, kUncertain, kEmptyEdit, kUnusable, kBreaks)

enum class BaselineMood { kThere, kMissing, kOtherScale, kGoneLater };
BOOST_DESCRIBE_ENUM(BaselineMood, kThere, kMissing, kOtherScale, kGoneLater)

/// Something that happens at one call of the steward to the outside, or between two of its steps.
enum class FaultKind {
  kCrashBefore,  ///< the process ends before the call had its effect
  kCrashAfter,   ///< the process ends after it, before the answer is stored
  kLoseReply,    ///< the effect happens, the answer is an unknown outcome
  kRefuse,       ///< a transient refusal without effect
  kBreak,        ///< an internal error without effect
  kPersonCloses,
  kPersonHandsOff,
  kPersonMerges,
  kPersonPushes,
  kPersonReopens,
  kPersonTakesRequest,  ///< the request belongs to another account now
  kOperatorStops,
  kMainMoves,        ///< main gets another changelog entry
  kMainMovesRecipe,  ///< main moves the recipe itself
  kClockForward,     ///< an hour
  kClockBack,
  kImageGone,
  kImageNewer,
  kRunDoubles,     ///< the next dispatch makes two runs with one marker
  kRunGetsLost,    ///< the next dispatch makes no run and says that it does not know
  kLabelIgnored,   ///< no run appears for the label
  kConflicted,     ///< no run appears because the request conflicts with main
  kLateRun,        ///< a run of ours appears that nobody knew of
  kCancelPending,  ///< cancelling takes a while from now on
  kListingPartial,
  kOtherSteward,  ///< another steward works on the same database, in the middle of this one's call
  kDelivery,      ///< deliveries of a forge: forged, repeated, out of order
  kOtherBranch,   ///< the branch exists and is somebody else's
  kOtherRequest,  ///< somebody else opens a request that moves the recipe
  kOtherClaims,   ///< another candidate claims the recipe
  kPersonMarksReady,
  kMainTakesImage,   ///< main moves the recipe to the new image itself
  kMainDropsRecipe,  ///< the recipe is gone from main
  kMainDropsPoint,   ///< main no longer has one of the points of the baseline
  kImageGoneTold     ///< who watches the registry says that the image is gone
};
BOOST_DESCRIBE_ENUM(FaultKind, kCrashBefore, kCrashAfter, kLoseReply, kRefuse, kBreak, kPersonCloses, kPersonHandsOff, kPersonMerges, kPersonPushes,
                    kPersonReopens, kPersonTakesRequest, kOperatorStops, kMainMoves, kMainMovesRecipe, kClockForward, kClockBack, kImageGone, kImageNewer,
                    kRunDoubles, kRunGetsLost, kLabelIgnored, kConflicted, kLateRun, kCancelPending, kListingPartial, kOtherSteward, kDelivery, kOtherBranch,
                    kOtherRequest, kOtherClaims, kPersonMarksReady, kMainTakesImage, kMainDropsRecipe, kMainDropsPoint, kImageGoneTold)

struct Fault {
  std::int64_t at = 0;  ///< number of the call, from 1; 0: between two steps (only with `in`)
  FaultKind kind = FaultKind::kCrashBefore;
  /// Counts only the calls that are made while the candidate stands in this state; absent: all of them.
  std::optional<control::State> in = std::nullopt;
};
BOOST_DESCRIBE_STRUCT(Fault, (), (at, kind, in))

/// One schedule: what the world does, and what goes wrong when. The same scenario always gives the same history.
struct Scenario {
  std::string schema = "pawl.sim-scenario/2";
  std::int64_t seed = 0;
  std::string policy = "2026-10";
  bool runs_by_itself = true;  ///< runs go on while nobody waits, so sessions park
  bool siblings = false;       ///< a label makes a second run that only a gate sees
  bool checkpointed = false;
  std::int64_t queue_seconds = 60, run_seconds = 900;
  std::vector<Fate> fates;            ///< of the first run attempts; later ones pass
  std::vector<std::int64_t> full_at;  ///< capacity checks (counted from 1) that find no room
  PlannerMood planner = PlannerMood::kFixes;
  BaselineMood baseline = BaselineMood::kThere;
  std::vector<Fault> faults;
};
BOOST_DESCRIBE_STRUCT(Scenario, (),
                      (schema, seed, policy, runs_by_itself, siblings, checkpointed, queue_seconds, run_seconds, fates, full_at, planner, baseline, faults))

/// The scenario of a seed.
[[nodiscard]] Scenario scenario_of(std::int64_t seed);
[[nodiscard]] std::string write_scenario(const Scenario& scenario);
[[nodiscard]] Result<Scenario> read_scenario(const std::string& text, const std::string& name);

}  // namespace pawl::sim
