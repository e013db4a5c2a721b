#include "control/decide.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/hash.h"
#include "codec/describe.h"
#include "control/iso_time.h"

namespace pawl::control {
namespace {

using E = EventKind;
using S = State;
using model::Outcome;

bool retry_left(const Candidate& c, const Event& event) {
  return event.cls && retried(*event.cls) && !c.attempts.empty() && c.attempts.back().retry < c.rules.infrastructure_retries;
}

/// Whether the newest failures, as many as the rules say, are one and the same.
bool same_failure(const Candidate& c) {
  std::int64_t same = 0;
  const Attempt* newest = nullptr;
  for (auto it = c.attempts.rbegin(); it != c.attempts.rend(); ++it) {
    if (it->status != AttemptStatus::kFailed || it->next == NextStep::kRetry) continue;
    if (newest == nullptr) newest = &*it;
    if (it->signature.empty() || it->signature != newest->signature || it->final != newest->final) break;
    ++same;
  }
  return same >= c.rules.same_failures;
}

bool holds(Guard guard, const Candidate& c, const Event& event) {
  switch (guard) {
    case Guard::kAlways:
      return true;
    case Guard::kOnceMore:
      return c.capacity_failures + 1 < c.rules.capacity_failures;
    case Guard::kCheckpoint:
      return c.rules.checkpointed_deferral && c.deferral_checks < c.rules.deferral_checks;
    case Guard::kRetryLeft:
      return retry_left(c, event);
    case Guard::kParkedRetryLeft:
      return c.parked && retry_left(c, event);
    case Guard::kRetriesUsed:
      return event.cls && retried(*event.cls);
    case Guard::kPolicyGate:
      return event.cls == RunClass::kPolicyGate;
    case Guard::kFailFast:
      return event.cls == RunClass::kFailFast;
    case Guard::kSameFailure:
      return same_failure(c);
    case Guard::kRepairLeft:
      return c.repairs < c.rules.repairs;
    case Guard::kFreeOrLeft:
      return !c.rules.rebase_charged || c.repairs < c.rules.repairs;
    case Guard::kConflicted:
      return event.reason == "conflicted";
    case Guard::kLabelOnceMore:
      return c.label_retries < 1;
    case Guard::kPlannedRepair:
      return !c.attempts.empty() && c.attempts.back().status == AttemptStatus::kPlanned;
    case Guard::kParked:
      return c.parked.has_value();
  }
  return false;
}

void end_as(Candidate& c, Outcome outcome, const std::string& reason, const std::string& detail) {
  c.outcome = outcome;
  c.reason = reason;
  c.detail = detail;
}

void own(Candidate& c, std::int64_t run) {
  if (run != 0 && std::ranges::find(c.runs, run) == c.runs.end()) c.runs.push_back(run);
}

/// Takes in what is known of owned runs. What was known of one is replaced, never forgotten.
void own(Candidate& c, const std::vector<OwnedRun>& seen) {
  for (const OwnedRun& run : seen) {
    own(c, run.run);
    const auto known = std::ranges::find(c.owned, run.run, &OwnedRun::run);
    if (known == c.owned.end()) {
      c.owned.push_back(run);
    } else {
      *known = run;
    }
  }
  std::ranges::sort(c.owned, {}, &OwnedRun::run);
}

void start_session(Candidate& c) {
  ++c.session;
  c.session_state = SessionState::kWorking;
  c.parked.reset();
}

void charge(Candidate& c, const std::string& change, const std::string& change_zh) {
  ++c.repairs;
  c.planned_change = change;
  c.planned_change_zh = change_zh;
  Attempt repair;
  repair.number = static_cast<std::int64_t>(c.attempts.size()) + 1;
  repair.kind = AttemptKind::kRepair;
  repair.repair = c.repairs;
  repair.change = change;
  repair.change_zh = change_zh;
  c.attempts.push_back(std::move(repair));
}

/// A run exists now: fills the planned attempt, or adds one.
void begin_run(Candidate& c, const Event& event) {
  const bool rerun = c.state == S::kSmokeRunning || c.state == S::kFinalRunning;
  const bool final = c.state == S::kFinalDispatching || c.state == S::kFinalRunning;
  if (rerun || c.attempts.empty() || c.attempts.back().status != AttemptStatus::kPlanned) {
    Attempt next;
    next.number = static_cast<std::int64_t>(c.attempts.size()) + 1;
    if (rerun) {
      next.kind = AttemptKind::kInfrastructureRetry;
      next.retry = c.attempts.back().retry + 1;
      next.repair = c.attempts.back().repair;
    } else {
      next.kind = final ? AttemptKind::kFinal : AttemptKind::kInitial;
    }
    c.attempts.push_back(std::move(next));
  }
  Attempt& attempt = c.attempts.back();
  attempt.final = final;
  attempt.status = event.reason == "queued" ? AttemptStatus::kQueued : AttemptStatus::kRunning;
  attempt.run = event.run;
  attempt.run_attempt = std::max<std::int64_t>(event.number, 1);
  attempt.head = event.commit;
  attempt.started = event.at;
  attempt.next = NextStep::kAwaitRun;
  own(c, event.run);
  own(c, event.owned);
  if (c.parked) c.parked->runs = {event.run};
}

std::string stop_text(E kind) { return kind == E::kStopRequested ? "operator" : "request-closed"; }

/// What the event changes in the candidate besides its state.
void apply(Candidate& c, const Event& event, const Transition& row, std::int64_t now_s) {
  Attempt* attempt = c.attempts.empty() ? nullptr : &c.attempts.back();
  const S to = row.to;
  switch (event.kind) {
    case E::kOverlapFound:
    case E::kBaselineRefused:
    case E::kBranchTaken:
    case E::kClaimLost:
      end_as(c, event.outcome.value_or(event.kind == E::kBaselineRefused ? Outcome::kFailed : Outcome::kDuplicate), event.reason, event.detail);
      break;
    case E::kSessionStarted:
      start_session(c);
      break;
    case E::kEditPushed:
      if (c.state == S::kEditing) c.base = event.detail;
      c.head = event.commit;
      break;
    case E::kCrOpened:
      c.cr = event.number;
      break;
    case E::kCapacityPassed:
      c.capacity_failures = 0;
      c.capacity_at = now_s;
      if (c.state == S::kFinalGate && c.parked) start_session(c);
      break;
    case E::kCapacityFailed:
      ++c.capacity_failures;
      if (row.guard == Guard::kCheckpoint) {
        c.capacity_failures = 0;
        ++c.deferral_checks;
        c.session_state = SessionState::kParked;
        if (!c.parked) c.parked = Parking{c.session, {}, event.at};
      }
      if (to == S::kStopping || to == S::kClosed) {
        end_as(c, Outcome::kCapacityDeferred, "capacity", "the target clusters had no room in two checks in a row");
      }
      break;
    case E::kCapacityExpired:
      c.capacity_at = 0;
      break;
    case E::kRunDispatched:
    case E::kRunDoubled:
      begin_run(c, event);
      break;
    case E::kRunMissing:
      if (to == S::kFinalDispatching) ++c.label_retries;
      if (to == S::kStopping) end_as(c, Outcome::kUncertain, "run-missing", "no run appeared for the sweep label, twice");
      break;
    case E::kRunUpdated:
      if (attempt != nullptr && attempt->status == AttemptStatus::kQueued) attempt->status = AttemptStatus::kRunning;
      break;
    case E::kSessionParked:
      c.session_state = SessionState::kParked;
      c.parked = Parking{c.session, {event.run}, event.at};
      break;
    case E::kWaitEnded:
      start_session(c);
      break;
    case E::kSessionEnded:
      start_session(c);
      break;
    case E::kEvidenceAccepted:
      PAWL_ASSERT(attempt != nullptr);
      attempt->status = AttemptStatus::kPassed;
      attempt->next = c.state == S::kSmokeRunning ? NextStep::kChangelogAndSweep : NextStep::kFinish;
      if (c.state == S::kVerifying) c.proof = Proof{attempt->head, attempt->run, attempt->run_attempt};
      break;
    case E::kEvidenceRefused:
    case E::kRunFailed:
      PAWL_ASSERT(attempt != nullptr);
      attempt->status = AttemptStatus::kFailed;
      attempt->finding = event.detail;
      attempt->reason = event.reason;
      attempt->signature = event.signature;
      attempt->next = row.guard == Guard::kRetryLeft || row.guard == Guard::kParkedRetryLeft ? NextStep::kRetry : NextStep::kStop;
      if (to == S::kStopping) end_as(c, event.outcome.value_or(Outcome::kFailed), event.reason, event.detail);
      break;
    case E::kGatePassed:
      if (!event.commit.empty()) c.head = event.commit;
      if (c.state == S::kChangelog) {
        if (!event.detail.empty()) c.base = event.detail;  // main's bytes were taken
        c.label_retries = 0;
        if (row.guard == Guard::kPlannedRepair) {
          attempt->status = AttemptStatus::kPassed;
          attempt->head = c.head;
          attempt->next = NextStep::kChangelogAndSweep;
        }
      }
      break;
    case E::kGateFailed:
      // In the changelog state this is not the end yet: diagnosis says what follows.
      c.reason = event.reason;
      c.detail = event.detail;
      if (to == S::kStopping) end_as(c, event.outcome.value_or(Outcome::kFailed), event.reason, event.detail);
      break;
    case E::kPlanProposed:
      if (c.state != S::kDiagnosing) break;
      if (to == S::kRepairing) {
        if (attempt != nullptr) attempt->next = NextStep::kRepair;
        charge(c, event.change, event.change_zh);
      } else if (row.guard == Guard::kSameFailure) {
        end_as(c, Outcome::kFailed, "same-failure", fmt::format("the same failure came {} times in a row: {}", c.rules.same_failures, attempt->finding));
      } else {
        end_as(c, Outcome::kFailed, "repairs-exhausted", fmt::format("{} repairs were made and the run still fails", c.repairs));
      }
      break;
    case E::kMaintenance:
      if (to == S::kStopping) {
        end_as(c, Outcome::kFailed, "repairs-exhausted", fmt::format("{} repairs were made, and taking the bytes of main would be one more", c.repairs));
        break;
      }
      c.reason.clear();
      c.detail.clear();
      if (attempt != nullptr) attempt->next = NextStep::kMaintenance;
      if (c.rules.rebase_charged) charge(c, event.change, event.change_zh);
      break;
    case E::kPlanRefused:
      if (c.state == S::kDiagnosing && event.reason == "no-repair") {
        // Nothing can be repaired: the candidate ends for the reason for which the attempt or the gate failed.
        const bool by_run = !gate_failed(c) && attempt != nullptr && attempt->status == AttemptStatus::kFailed;
        end_as(c, event.outcome.value_or(Outcome::kFailed), by_run ? attempt->reason : c.reason, event.detail);
        break;
      }
      end_as(c, event.outcome.value_or(Outcome::kFailed), event.reason, event.detail);
      break;
    case E::kReadyConfirmed:
      end_as(c, Outcome::kValidated, "", "the full sweep is verified");
      break;
    case E::kRunsEnded:
    case E::kRunsDiscovered:
      own(c, event.owned);
      // Nothing found says nothing when a dispatch was never answered: unknown is never zero.
      c.runs_complete = event.reason != "incomplete" && !(c.runs.empty() && c.run_unanswered.value_or(false));
      break;
    case E::kReceiptPosted:
      if (c.cr == 0) c.cr = event.number;
      break;
    case E::kRequestClosed:
      c.branch_kept = false;
      break;
    case E::kBranchKept:
      c.branch_kept = true;
      break;
    case E::kClaimReleased:
      c.claim_released = true;
      break;
    case E::kLateRun:
      own(c, event.run);
      own(c, event.owned);
      break;
    case E::kRequestClosedBy:
    case E::kStopRequested:
      end_as(c, Outcome::kStopped, "stop-requested", event.detail);
      c.stop_source = stop_text(event.kind);
      break;
    case E::kHandoffRequested:
    case E::kRequestMerged:
    case E::kHeadMoved:
    case E::kRequestReopened:
      if (terminal(c.state)) break;  // what it came to stays
      end_as(c, Outcome::kHandoff,
             event.kind == E::kHandoffRequested ? "handoff-label"
             : event.kind == E::kRequestMerged  ? "merged"
                                                : "head-moved",
             event.detail);
      break;
    case E::kOwnershipMismatch:
      end_as(c, Outcome::kUncertain, "ownership", event.detail);
      break;
    case E::kImageGone:
      end_as(c, Outcome::kFailed, "image-withdrawn", event.detail);
      break;
    case E::kImageNewer:
      c.newer_image = event.detail;
      break;
    case E::kUnexpectedError:
      end_as(c, Outcome::kUnexpectedError, event.reason.empty() ? "unexpected-error" : event.reason, event.detail);
      break;
    default:
      break;
  }
  for (const Step& step : row.commands) {
    if (step.kind == CommandKind::kReportAttempt) c.reported_at = now_s;
  }
  if (to == S::kStopping && (c.state == S::kSmokeDispatching || c.state == S::kFinalDispatching)) c.run_unanswered = true;
  if (to == S::kStopping || (terminal(to) && !terminal(c.state))) {
    c.session_state = SessionState::kEnded;
    c.parked.reset();
    if (to == S::kStopping && !c.attempts.empty() && !terminal(c.attempts.back().status)) {
      c.attempts.back().status = c.outcome == Outcome::kCapacityDeferred ? AttemptStatus::kDeferred : AttemptStatus::kCancelled;
      c.attempts.back().next = NextStep::kStop;
    }
    if (terminal(to)) c.ended = event.at;
  }
}

std::int64_t seconds_of_delay(const Rules& rules, Delay delay) {
  switch (delay) {
    case Delay::kNone:
      return 0;
    case Delay::kCapacityPause:
      return rules.capacity_pause_s;
    case Delay::kDeferralPause:
      return rules.deferral_pause_s;
    case Delay::kPoll:
      return rules.poll_s;
    case Delay::kCorrelation:
      return rules.correlation_s;
    case Delay::kCancelRetry:
      return rules.cancel_retry_s;
    case Delay::kLate:
      return kLateWatchSeconds;
  }
  return 0;
}

}  // namespace

std::string candidate_id(const std::string& file, const std::string& recipe, const std::string& image_old) {
  return sha256_hex(file + "\n" + recipe).substr(0, 16) + "-" + sha256_hex(image_old).substr(0, 16);
}

std::optional<std::int64_t> validated_days(const Candidate& c, WallTime now) {
  if (c.state != S::kValidated) return std::nullopt;
  const auto since = parse_iso_utc(c.ended);
  if (!since) return std::nullopt;
  return std::chrono::floor<std::chrono::days>(now - *since).count();
}

bool stale(const Candidate& c, WallTime now) { return validated_days(c, now).value_or(0) > c.rules.stale_after_days; }

std::int64_t charged_repairs(const Candidate& candidate) { return std::ranges::count(candidate.attempts, AttemptKind::kRepair, &Attempt::kind); }

Decision decide(const Candidate& candidate, const Event& event, WallTime now) { return decide(transition_table(), candidate, event, now); }

Decision decide(const std::vector<Transition>& table, const Candidate& candidate, const Event& event, WallTime now) {
  Decision decision{.candidate = candidate};
  decision.stale = event.version && *event.version != candidate.version;
  const auto row = decision.stale ? table.end() : std::ranges::find_if(table, [&](const Transition& t) {
    return t.from == candidate.state && t.on == event.kind && holds(t.guard, candidate, event);
  });
  if (row == table.end()) {
    decision.ignored = true;
    return decision;
  }
  const std::int64_t now_s = std::chrono::floor<std::chrono::seconds>(now.since_epoch).count();
  decision.row = static_cast<int>(row - table.begin());
  Candidate& next = decision.candidate;
  apply(next, event, *row, now_s);
  next.state = row->to;
  if (!row->overlay) ++next.version;
  decision.abandons_pending = !row->overlay;
  decision.overlay = row->overlay;
  for (const Step& step : row->commands) {
    const std::int64_t delay = seconds_of_delay(next.rules, step.delay);
    // An overlay leaves the version as it is; its commands are told apart by the session that it began.
    const std::string mark = row->overlay ? fmt::format("s{}", next.session) : std::string();
    decision.commands.push_back(
        {fmt::format("{}/{}{}/{}", next.id, next.version, mark, codec::enum_text(step.kind)), step.kind, next.version, delay == 0 ? 0 : now_s + delay});
  }
  return decision;
}

}  // namespace pawl::control
