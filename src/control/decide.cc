#include "control/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "codec/describe.h"

namespace pawl::control {
namespace {

using C = CommandKind;
using E = EventKind;
using S = State;

std::vector<Transition> build_table() {
  std::vector<Transition> table{
      {S::kClaimed, E::kSessionStarted, "", S::kResearching, {C::kResearch}},
      {S::kResearching, E::kPlanProposed, "", S::kEditing, {C::kCommitImage}},
      {S::kResearching, E::kPlanRefused, "", S::kClosed, {}},
      {S::kEditing, E::kEditPushed, "", S::kCrDraft, {C::kOpenRequest}},
      {S::kEditing, E::kPlanRefused, "", S::kClosed, {}},
      {S::kCrDraft, E::kCrOpened, "", S::kCrDraft, {C::kFreezeBaseline}},
      {S::kCrDraft, E::kBaselineReady, "", S::kSmokeGate, {C::kCheckCapacity}},
      {S::kCrDraft, E::kBaselineRefused, "", S::kStopping, {C::kPostPending}},

      {S::kSmokeGate, E::kCapacityPassed, "", S::kSmokeDispatching, {C::kDispatchSmoke}},
      {S::kSmokeGate, E::kCapacityFailed, "capacity-once-more", S::kSmokeGate, {C::kCheckCapacity}},
      {S::kSmokeGate, E::kCapacityFailed, "", S::kStopping, {C::kPostPending}},
      {S::kSmokeDispatching, E::kRunDispatched, "", S::kSmokeRunning, {C::kReportAttempt, C::kAwaitRun}},
      {S::kSmokeRunning, E::kRunSucceeded, "", S::kSmokeRunning, {C::kJudgeSmoke}},
      {S::kSmokeRunning, E::kEvidenceAccepted, "", S::kChangelog, {C::kReportAttempt, C::kAppendChangelog}},
      {S::kSmokeRunning, E::kEvidenceRefused, "", S::kDiagnosing, {C::kReportAttempt, C::kDiagnose}},
      {S::kSmokeRunning, E::kRunFailed, "", S::kDiagnosing, {C::kReportAttempt, C::kDiagnose}},

      {S::kDiagnosing, E::kPlanProposed, "repairs-left", S::kRepairing, {C::kReportAttempt, C::kCommitRepair}},
      {S::kDiagnosing, E::kPlanProposed, "", S::kStopping, {C::kPostPending}},
      {S::kDiagnosing, E::kPlanRefused, "", S::kStopping, {C::kPostPending}},
      {S::kRepairing, E::kEditPushed, "", S::kSmokeGate, {C::kCheckCapacity}},
      {S::kRepairing, E::kPlanRefused, "", S::kStopping, {C::kPostPending}},

      {S::kChangelog, E::kGatePassed, "", S::kFinalPreflight, {C::kCheckFinal}},
      {S::kChangelog, E::kGateFailed, "", S::kStopping, {C::kPostPending}},
      {S::kFinalPreflight, E::kGatePassed, "", S::kFinalGate, {C::kCheckCapacity}},
      {S::kFinalPreflight, E::kGateFailed, "", S::kStopping, {C::kPostPending}},
      {S::kFinalGate, E::kCapacityPassed, "", S::kFinalDispatching, {C::kAddSweepLabel, C::kDispatchFinal}},
      {S::kFinalGate, E::kCapacityFailed, "capacity-once-more", S::kFinalGate, {C::kCheckCapacity}},
      {S::kFinalGate, E::kCapacityFailed, "", S::kStopping, {C::kPostPending}},
      {S::kFinalDispatching, E::kRunDispatched, "", S::kFinalRunning, {C::kReportAttempt, C::kAwaitRun}},
      {S::kFinalRunning, E::kRunSucceeded, "", S::kVerifying, {C::kVerifyFinal}},
      {S::kFinalRunning, E::kRunFailed, "", S::kDiagnosing, {C::kReportAttempt, C::kDiagnose}},
      {S::kVerifying, E::kEvidenceAccepted, "", S::kPublishing, {C::kPublishReport}},
      {S::kVerifying, E::kEvidenceRefused, "", S::kStopping, {C::kReportAttempt, C::kPostPending}},
      {S::kPublishing, E::kReportWritten, "", S::kReadying, {C::kMarkReady}},
      {S::kReadying, E::kReadyConfirmed, "", S::kValidated, {C::kPostReceipt}},

      {S::kStopping, E::kReceiptPosted, "", S::kCancelling, {C::kCancelRuns}},
      {S::kCancelling, E::kRunsEnded, "", S::kClosing, {C::kReportAttempt, C::kCloseRequest}},
      {S::kClosing, E::kRequestClosed, "", S::kClosed, {C::kPostReceipt}},
  };
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>([&](auto d) {
    if (terminal(d.value) || d.value == S::kStopping || d.value == S::kCancelling || d.value == S::kClosing) return;
    table.push_back({d.value, E::kStopRequested, "", S::kStopping, {C::kPostPending}});
  });
  return table;
}

bool holds(const std::string& guard, const Candidate& candidate) {
  if (guard.empty()) return true;
  if (guard == "capacity-once-more") return candidate.capacity_failures + 1 < kCapacityFailuresMax;
  if (guard == "repairs-left") return candidate.repairs < kRepairsMax;
  PAWL_ASSERT(false && "a guard of the table has no meaning");
  return false;
}

void end_as(Candidate& c, model::Outcome outcome, const std::string& reason, const std::string& detail) {
  c.outcome = outcome;
  c.reason = reason;
  c.detail = detail;
}

/// What the event changes in the candidate besides its state.
void apply(Candidate& c, const Event& event, State to) {
  Attempt* attempt = c.attempts.empty() ? nullptr : &c.attempts.back();
  switch (event.kind) {
    case E::kEditPushed:
      if (c.state == S::kEditing) c.base = event.detail;
      c.head = event.commit;
      break;
    case E::kCrOpened:
      c.cr = event.number;
      break;
    case E::kCapacityPassed:
      c.capacity_failures = 0;
      break;
    case E::kCapacityFailed:
      ++c.capacity_failures;
      if (to == S::kStopping) end_as(c, model::Outcome::kCapacityDeferred, "capacity", "the target clusters had no room in two checks in a row");
      break;
    case E::kRunDispatched: {
      Attempt next;
      next.number = static_cast<std::int64_t>(c.attempts.size()) + 1;
      const bool final = c.state == S::kFinalDispatching;
      next.kind = final ? AttemptKind::kFinal : c.repairs > 0 ? AttemptKind::kRepair : AttemptKind::kInitial;
      next.repair = next.kind == AttemptKind::kRepair ? c.repairs : 0;
      next.status = AttemptStatus::kRunning;
      next.run = event.run;
      next.head = event.commit;
      next.started = event.at;
      if (next.kind == AttemptKind::kRepair) {
        next.change = c.planned_change;
        next.change_zh = c.planned_change_zh;
      }
      c.attempts.push_back(std::move(next));
      if (std::ranges::find(c.runs, event.run) == c.runs.end()) c.runs.push_back(event.run);
      break;
    }
    case E::kEvidenceAccepted:
      PAWL_ASSERT(attempt != nullptr);
      attempt->status = AttemptStatus::kPassed;
      attempt->next = c.state == S::kSmokeRunning ? NextStep::kChangelogAndSweep : NextStep::kFinish;
      break;
    case E::kEvidenceRefused:
    case E::kRunFailed:
      PAWL_ASSERT(attempt != nullptr);
      attempt->status = AttemptStatus::kFailed;
      attempt->finding = event.detail;
      attempt->reason = event.reason;
      attempt->next = NextStep::kStop;
      if (to == S::kStopping) end_as(c, model::Outcome::kFailed, event.reason, event.detail);
      break;
    case E::kGatePassed:
      if (!event.commit.empty()) c.head = event.commit;
      break;
    case E::kPlanProposed:
      if (c.state != S::kDiagnosing) break;
      if (to == S::kRepairing) {
        ++c.repairs;
        c.planned_change = event.change;
        c.planned_change_zh = event.change_zh;
        if (attempt != nullptr) attempt->next = NextStep::kRepair;
      } else {
        end_as(c, model::Outcome::kFailed, "repairs-exhausted", fmt::format("{} repairs were made and the run still fails", c.repairs));
      }
      break;
    case E::kPlanRefused:
      if (c.state == S::kDiagnosing && attempt != nullptr) {
        // Nothing can be repaired: the candidate ends for the reason for which the attempt failed.
        end_as(c, event.outcome.value_or(model::Outcome::kFailed), attempt->reason, event.detail);
        break;
      }
      [[fallthrough]];
    case E::kBaselineRefused:
    case E::kGateFailed:
      end_as(c, event.outcome.value_or(model::Outcome::kFailed), event.reason, event.detail);
      break;
    case E::kReadyConfirmed:
      end_as(c, model::Outcome::kValidated, "", "the full sweep is verified");
      break;
    case E::kStopRequested:
      end_as(c, model::Outcome::kStopped, "stop-requested", event.detail);
      if (attempt != nullptr && (attempt->status == AttemptStatus::kQueued || attempt->status == AttemptStatus::kRunning)) {
        attempt->status = AttemptStatus::kCancelled;
        attempt->next = NextStep::kStop;
      }
      break;
    default:
      break;
  }
}

}  // namespace

std::string candidate_id(const std::string& file, const std::string& recipe, const std::string& image_old) {
  return sha256_hex(file + "\n" + recipe).substr(0, 16) + "-" + sha256_hex(image_old).substr(0, 16);
}

const std::vector<Transition>& transition_table() {
  static const std::vector<Transition> table = build_table();
  return table;
}

Decision decide(const Candidate& candidate, const Event& event) {
  Decision decision{.candidate = candidate};
  const bool stale = event.version && *event.version != candidate.version;
  const auto row = std::ranges::find_if(transition_table(),
                                        [&](const Transition& t) { return t.from == candidate.state && t.on == event.kind && holds(t.guard, candidate); });
  if (stale || row == transition_table().end()) {
    decision.ignored = true;
    return decision;
  }
  Candidate& next = decision.candidate;
  apply(next, event, row->to);
  next.state = row->to;
  ++next.version;
  decision.abandons_pending = event.kind == E::kStopRequested;
  for (const CommandKind kind : row->commands) {
    decision.commands.push_back({fmt::format("{}/{}/{}", next.id, next.version, codec::enum_text(kind)), kind, next.version});
  }
  return decision;
}

}  // namespace pawl::control
