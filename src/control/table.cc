#include <algorithm>

#include "control/decide.h"

namespace pawl::control {
namespace {

using C = CommandKind;
using D = Delay;
using E = EventKind;
using G = Guard;
using S = State;

const std::vector<Step>& cleanup() {
  static const std::vector<Step> steps{C::kPostReason, C::kPostPending};
  return steps;
}

const std::vector<Step>& after_the_end() {
  static const std::vector<Step> steps{C::kCollectRuns, C::kPostReceipt, C::kReleaseClaim, {C::kWatchLate, D::kLate}};
  return steps;
}

/// States with a change request that are not being cleaned up.
constexpr S kLiveWithRequest[] = {S::kCrDraft,          S::kBaselineFrozen, S::kSmokeGate, S::kSmokeDispatching, S::kSmokeRunning,
                                  S::kDiagnosing,       S::kRepairing,      S::kChangelog, S::kFinalPreflight,   S::kFinalGate,
                                  S::kFinalDispatching, S::kFinalRunning,   S::kVerifying, S::kPublishing,       S::kReadying};
constexpr S kBeforeRequest[] = {S::kDiscovered, S::kReviewed, S::kPreflighted, S::kClaimed, S::kResearching, S::kEditing};

/// What smoke and final have in common while their run is under way.
void add_running(std::vector<Transition>& table, S state, bool final) {
  const auto rule = [&](const char* smoke, const char* full) { return final ? full : smoke; };
  const std::vector<Step> failed =
      final ? std::vector<Step>{C::kRemoveLabel, C::kReportAttempt, C::kDiagnose} : std::vector<Step>{C::kReportAttempt, C::kDiagnose};
  std::vector<Step> deferred{C::kFinishAttempts};
  deferred.insert(deferred.end(), cleanup().begin(), cleanup().end());
  table.insert(table.end(), {
                                {rule("27", "51"), state, E::kRunUpdated, G::kParked, state, {C::kReportAttempt, {C::kWatchRun, D::kPoll}}},
                                {rule("27", "51"), state, E::kRunUpdated, G::kAlways, state, {C::kReportAttempt, C::kAwaitRun}},
                                {"62", state, E::kSessionParked, G::kAlways, state, {C::kPostParked, {C::kWatchRun, D::kPoll}}},
                                {"63", state, E::kWaitEnded, G::kParked, state, {C::kPostResumed, C::kAwaitRun}},
                                {"64", state, E::kRunFailed, G::kParkedRetryLeft, state, {C::kReportAttempt, C::kCheckCapacity}},
                                {rule("29", "55"), state, E::kRunFailed, G::kRetryLeft, state, {C::kReportAttempt, C::kCheckCapacity}},
                                {rule("29", "55"), state, E::kCapacityPassed, G::kAlways, state, {C::kRerun}},
                                {rule("29", "55"), state, E::kCapacityExpired, G::kAlways, state, {C::kCheckCapacity}},
                                {rule("29", "55"), state, E::kRunDispatched, G::kParked, state, {C::kReportAttempt, {C::kWatchRun, D::kPoll}}},
                                {rule("29", "55"), state, E::kRunDispatched, G::kAlways, state, {C::kReportAttempt, C::kAwaitRun}},
                                {rule("23", "47"), state, E::kCapacityFailed, G::kOnceMore, state, {{C::kCheckCapacity, D::kCapacityPause}}},
                                {rule("23", "47"), state, E::kCapacityFailed, G::kAlways, S::kStopping, deferred},
                                {rule("30", "55"), state, E::kRunFailed, G::kRetriesUsed, S::kDiagnosing, failed},
                            });
  if (final) {
    table.push_back({"52", state, E::kRunFailed, G::kPolicyGate, S::kDiagnosing, failed});
  }
  table.push_back({rule("31", "54"), state, E::kRunFailed, G::kFailFast, S::kDiagnosing, failed});
  table.push_back({rule("31", "53"), state, E::kRunFailed, G::kAlways, S::kDiagnosing, failed});
}

std::vector<Transition> build_table() {
  std::vector<Transition> table{
      {"1", S::kDiscovered, E::kTick, G::kAlways, S::kDiscovered, {C::kReviewOverlap}},
      {"2", S::kDiscovered, E::kOverlapClear, G::kAlways, S::kReviewed, {C::kPreflightBaseline}},
      {"3", S::kDiscovered, E::kOverlapFound, G::kAlways, S::kClosed, {}},
      {"4", S::kReviewed, E::kBaselineReady, G::kAlways, S::kPreflighted, {C::kCheckCapacity}},
      {"5", S::kReviewed, E::kBaselineRefused, G::kAlways, S::kClosed, {}},
      {"6", S::kPreflighted, E::kCapacityPassed, G::kAlways, S::kPreflighted, {C::kClaimFamily}},
      {"6", S::kPreflighted, E::kClaimWon, G::kAlways, S::kClaimed, {C::kStartSession}},
      {"7", S::kPreflighted, E::kCapacityFailed, G::kOnceMore, S::kPreflighted, {{C::kCheckCapacity, D::kCapacityPause}}},
      {"7", S::kPreflighted, E::kCapacityFailed, G::kAlways, S::kClosed, {}},
      {"8", S::kPreflighted, E::kClaimLost, G::kAlways, S::kClosed, {}},
      {"9", S::kClaimed, E::kSessionStarted, G::kAlways, S::kResearching, {C::kResearch}},

      {"10-14", S::kResearching, E::kPlanRefused, G::kAlways, S::kClosed, {C::kReleaseClaim}},
      {"16", S::kResearching, E::kPlanProposed, G::kAlways, S::kResearching, {C::kCheckCapacity}},
      {"16", S::kResearching, E::kCapacityPassed, G::kAlways, S::kEditing, {C::kCommitImage}},
      {"15", S::kResearching, E::kCapacityFailed, G::kOnceMore, S::kResearching, {{C::kCheckCapacity, D::kCapacityPause}}},
      {"15", S::kResearching, E::kCapacityFailed, G::kAlways, S::kClosed, {C::kReleaseClaim}},
      {"17", S::kEditing, E::kBranchTaken, G::kAlways, S::kClosed, {C::kReleaseClaim}},
      {"10-14", S::kEditing, E::kPlanRefused, G::kAlways, S::kClosed, {C::kReleaseClaim}},
      {"18", S::kEditing, E::kEditPushed, G::kAlways, S::kCrDraft, {C::kOpenRequest}},

      {"18", S::kCrDraft, E::kCrOpened, G::kAlways, S::kCrDraft, {C::kFreezeBaseline}},
      {"19", S::kCrDraft, E::kBaselineReady, G::kAlways, S::kBaselineFrozen, {C::kWriteBody}},
      {"20", S::kCrDraft, E::kBaselineRefused, G::kAlways, S::kStopping, cleanup()},
      {"21", S::kBaselineFrozen, E::kBodyWritten, G::kAlways, S::kSmokeGate, {C::kCheckCapacity}},

      {"22", S::kSmokeGate, E::kCapacityPassed, G::kAlways, S::kSmokeDispatching, {C::kDispatchSmoke}},
      {"23", S::kSmokeGate, E::kCapacityFailed, G::kOnceMore, S::kSmokeGate, {{C::kCheckCapacity, D::kCapacityPause}}},
      {"23", S::kSmokeGate, E::kCapacityFailed, G::kAlways, S::kStopping, cleanup()},
      {"24", S::kSmokeDispatching, E::kRunDispatched, G::kAlways, S::kSmokeRunning, {C::kReportAttempt, C::kAwaitRun}},
      {"26", S::kSmokeDispatching, E::kRunDoubled, G::kAlways, S::kSmokeRunning, {C::kCancelDoubled, C::kReportAttempt, C::kAwaitRun}},
      {"25", S::kSmokeDispatching, E::kRunMissing, G::kAlways, S::kSmokeDispatching, {{C::kDispatchSmoke, D::kCorrelation}}},
      {"22", S::kSmokeDispatching, E::kCapacityExpired, G::kAlways, S::kSmokeGate, {C::kCheckCapacity}},
      {"28", S::kSmokeRunning, E::kRunSucceeded, G::kAlways, S::kSmokeRunning, {C::kJudgeSmoke}},
      {"28", S::kSmokeRunning, E::kEvidenceAccepted, G::kAlways, S::kChangelog, {C::kReportAttempt, C::kAppendChangelog}},
      {"28", S::kSmokeRunning, E::kEvidenceRefused, G::kAlways, S::kDiagnosing, {C::kReportAttempt, C::kDiagnose}},
  };
  add_running(table, S::kSmokeRunning, false);
  const std::vector<Transition> second{
      {"33", S::kDiagnosing, E::kPlanProposed, G::kSameFailure, S::kStopping, cleanup()},
      {"32", S::kDiagnosing, E::kPlanProposed, G::kRepairLeft, S::kRepairing, {C::kReportAttempt, C::kCommitRepair}},
      {"34", S::kDiagnosing, E::kPlanProposed, G::kAlways, S::kStopping, cleanup()},
      {"35-36", S::kDiagnosing, E::kPlanRefused, G::kAlways, S::kStopping, cleanup()},
      {"37", S::kDiagnosing, E::kMaintenance, G::kFreeOrLeft, S::kChangelog, {C::kReportAttempt, C::kAppendChangelog}},
      {"37", S::kDiagnosing, E::kMaintenance, G::kAlways, S::kStopping, cleanup()},
      {"38", S::kRepairing, E::kEditPushed, G::kAlways, S::kSmokeGate, {C::kCheckCapacity}},
      {"39", S::kRepairing, E::kPlanRefused, G::kAlways, S::kStopping, cleanup()},

      {"40", S::kChangelog, E::kGatePassed, G::kPlannedRepair, S::kFinalPreflight, {C::kReportAttempt, C::kCheckFinal}},
      {"40", S::kChangelog, E::kGatePassed, G::kAlways, S::kFinalPreflight, {C::kCheckFinal}},
      // Row 41 of the contract needs no row here: append-changelog reads main anew whenever it is performed, and what moved
      // after that is seen by check-final (45).
      {"42", S::kChangelog, E::kGateFailed, G::kAlways, S::kDiagnosing, {C::kDiagnose}},
      {"43", S::kFinalPreflight, E::kGatePassed, G::kAlways, S::kFinalGate, {C::kCheckCapacity}},
      {"44", S::kFinalPreflight, E::kGateFailed, G::kAlways, S::kStopping, cleanup()},
      {"45", S::kFinalPreflight, E::kMainAdvanced, G::kAlways, S::kChangelog, {C::kAppendChangelog}},
      {"46", S::kFinalGate, E::kCapacityPassed, G::kParked, S::kFinalDispatching, {C::kPostResumed, C::kAddLabel, C::kDispatchFinal}},
      {"46", S::kFinalGate, E::kCapacityPassed, G::kAlways, S::kFinalDispatching, {C::kAddLabel, C::kDispatchFinal}},
      {"47", S::kFinalGate, E::kCapacityFailed, G::kOnceMore, S::kFinalGate, {{C::kCheckCapacity, D::kCapacityPause}}},
      {"47", S::kFinalGate, E::kCapacityFailed, G::kCheckpoint, S::kFinalGate, {C::kPostParked, {C::kCheckCapacity, D::kDeferralPause}}},
      {"47", S::kFinalGate, E::kCapacityFailed, G::kAlways, S::kStopping, cleanup()},
      {"48", S::kFinalDispatching, E::kRunDispatched, G::kAlways, S::kFinalRunning, {C::kReportAttempt, C::kAwaitRun}},
      {"26", S::kFinalDispatching, E::kRunDoubled, G::kAlways, S::kFinalRunning, {C::kCancelDoubled, C::kReportAttempt, C::kAwaitRun}},
      {"49", S::kFinalDispatching, E::kRunMissing, G::kConflicted, S::kChangelog, {C::kRemoveLabel, C::kAppendChangelog}},
      {"50",
       S::kFinalDispatching,
       E::kRunMissing,
       G::kLabelOnceMore,
       S::kFinalDispatching,
       {C::kRemoveLabel, C::kAddLabel, {C::kDispatchFinal, D::kCorrelation}}},
      {"50", S::kFinalDispatching, E::kRunMissing, G::kAlways, S::kStopping, cleanup()},
      {"45", S::kFinalDispatching, E::kMainAdvanced, G::kAlways, S::kChangelog, {C::kRemoveLabel, C::kAppendChangelog}},
      {"46", S::kFinalDispatching, E::kCapacityExpired, G::kAlways, S::kFinalGate, {C::kRemoveLabel, C::kCheckCapacity}},
      {"56", S::kFinalRunning, E::kRunSucceeded, G::kAlways, S::kVerifying, {C::kVerifyFinal}},
  };
  table.insert(table.end(), second.begin(), second.end());
  add_running(table, S::kFinalRunning, true);
  std::vector<Step> success{C::kCollectRuns, C::kPostReceipt, C::kPostReuse, C::kReleaseClaim, {C::kWatchLate, D::kLate}};
  std::vector<Step> unproven{C::kReportAttempt};
  unproven.insert(unproven.end(), cleanup().begin(), cleanup().end());
  const std::vector<Transition> third{
      {"57", S::kVerifying, E::kEvidenceAccepted, G::kAlways, S::kPublishing, {C::kPublishReport}},
      {"58", S::kVerifying, E::kEvidenceRefused, G::kAlways, S::kStopping, unproven},
      {"59", S::kPublishing, E::kReportWritten, G::kAlways, S::kReadying, {C::kMarkReady}},
      {"60", S::kReadying, E::kReadyConfirmed, G::kAlways, S::kValidated, success},

      {"73", S::kStopping, E::kReceiptPosted, G::kAlways, S::kCancelling, {C::kCancelRuns}},
      {"74", S::kCancelling, E::kRunsEnded, G::kAlways, S::kClosing, {C::kFinishAttempts, C::kRemoveLabel, C::kCloseRequest, C::kDeleteBranch}},
      {"75", S::kCancelling, E::kRunsActive, G::kAlways, S::kCancelling, {{C::kCancelRuns, D::kCancelRetry}}},
      {"76", S::kClosing, E::kRequestClosed, G::kAlways, S::kClosed, after_the_end()},
      {"77", S::kClosing, E::kBranchKept, G::kAlways, S::kClosed, after_the_end()},
  };
  table.insert(table.end(), third.begin(), third.end());

  const auto any = [&](const char* rule, S from, E on, S to, std::vector<Step> steps) {
    table.push_back({rule, from, on, G::kAlways, to, std::move(steps), true});
  };
  const auto overlay = [&](const char* rule, S from, E on, std::vector<Step> steps) {
    table.push_back({rule, from, on, G::kAlways, from, std::move(steps), true, true});
  };
  for (const S state : kLiveWithRequest) {
    any("66", state, E::kRequestClosedBy, S::kStopping, cleanup());
    any("67", state, E::kHandoffRequested, S::kHandedOff, {C::kReleaseClaim});
    any("68", state, E::kRequestMerged, S::kHandedOff, {C::kReleaseClaim});
    any("69", state, E::kHeadMoved, S::kHandedOff, {C::kReleaseClaim});
    any("70", state, E::kStopRequested, S::kStopping, cleanup());
    any("72", state, E::kOwnershipMismatch, S::kHandedOff, {C::kReleaseClaim});
    any("unexpected", state, E::kUnexpectedError, S::kStopping, cleanup());
    overlay("65", state, E::kSessionEnded, {C::kPostResumed});
    if (state < S::kFinalRunning) any("71", state, E::kImageGone, S::kStopping, cleanup());
  }
  for (const S state : kBeforeRequest) {
    any("70", state, E::kStopRequested, S::kStopping, {C::kPostPending});
    any("unexpected", state, E::kUnexpectedError, S::kStopping, {C::kPostPending});
    if (state == S::kResearching || state == S::kEditing) {
      overlay("65", state, E::kSessionEnded, {});
      any("71", state, E::kImageGone, S::kStopping, {C::kPostPending});
    }
  }
  for (const S state : {S::kStopping, S::kCancelling, S::kClosing}) {
    any("78", state, E::kHandoffRequested, S::kHandedOff, {C::kReleaseClaim});
    any("68", state, E::kRequestMerged, S::kHandedOff, {C::kReleaseClaim});
  }
  for (const S state : {S::kValidated, S::kClosed, S::kHandedOff}) {
    overlay("79", state, E::kClaimReleased, {});
  }
  for (const S state : {S::kValidated, S::kClosed}) {
    overlay("60,76", state, E::kRunsDiscovered, {});
    any("78", state, E::kHandoffRequested, S::kHandedOff, {C::kReleaseClaim});
  }
  any("81", S::kClosed, E::kRequestReopened, S::kHandedOff, {C::kReleaseClaim});
  overlay("80", S::kClosed, E::kLateRun, {C::kPostReceipt});
  overlay("80", S::kValidated, E::kLateRun, {C::kPostReceipt});
  overlay("82", S::kValidated, E::kImageNewer, {});
  return table;
}

}  // namespace

const std::vector<Transition>& transition_table() {
  static const std::vector<Transition> table = build_table();
  return table;
}

}  // namespace pawl::control
