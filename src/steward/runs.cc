#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/hash.h"
#include "codec/describe.h"
#include "compare/comparison.h"
#include "model/point.h"
#include "model/row.h"
#include "plan/launch_script.h"
#include "report/thread.h"
#include "steward/answers.h"
#include "steward/matrix_keys.h"

// Runs: dispatched, waited for, judged, diagnosed, reported.
namespace pawl::steward {

using codec::Json;
using control::Attempt;
using control::AttemptStatus;
using control::Candidate;
using control::Event;
using control::EventKind;
using control::RunClass;
using model::Outcome;

namespace {

constexpr Nanos kCloseLookInterval = Millis{200};

/// The same failure in another run has the same text but for its numbers: process ids, times, addresses.
std::string signature_of(const std::string& cls, const std::string& text) {
  std::string shape = cls + "\n";
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      if (shape.back() != '#') shape += '#';
    } else {
      shape += c;
    }
  }
  return sha256_hex(shape).substr(0, 16);
}

std::string reason_of(RunClass cls) {
  switch (cls) {
    case RunClass::kOwnFailure:
    case RunClass::kFailFast:
      return "run-failed";
    case RunClass::kVanished:
      return "run-vanished";
    default:
      return codec::enum_text(cls);
  }
}

Event failed_event(const io::RunStatus& status) {
  const RunClass cls = run_class(status);
  std::string detail = fmt::format("run {} ended as {}", status.id.value, codec::enum_text(status.state));
  std::string first = codec::enum_text(status.state);
  if (status.failure) {
    first = status.failure->evidence.empty() ? status.failure->message : status.failure->evidence.back();
    detail += ": " + status.failure->message;
    if (!status.failure->evidence.empty()) detail += ": " + status.failure->evidence.back();
  }
  std::string reason = cls == RunClass::kPolicyGate && !status.reason.empty() ? status.reason : reason_of(cls);
  return {.kind = EventKind::kRunFailed,
          .reason = std::move(reason),
          .detail = std::move(detail),
          .signature = signature_of(codec::enum_text(cls), first),
          .run = status.id.value,
          .cls = cls};
}

/// What the end of a run means. A run that only a gate saw is never the sweep, whatever colour it has.
Event end_event(const io::RunStatus& status) {
  if (status.state == io::RunState::kSuccess && !status.gate_only) return {.kind = EventKind::kRunSucceeded, .run = status.id.value};
  return failed_event(status);
}

Event vanished(std::int64_t run) {
  return {.kind = EventKind::kRunFailed,
          .reason = reason_of(RunClass::kVanished),
          .detail = fmt::format("run {} cannot be found any more", run),
          .signature = "vanished",
          .run = run,
          .cls = RunClass::kVanished};
}

bool stopped_by_gate(const Attempt& attempt) {
  return attempt.reason == "policy-gate" || attempt.reason == "stale-base" || attempt.reason == "conflicted" || attempt.reason == "label-conflict";
}

}  // namespace

control::OwnedRun owned_run(const io::RunStatus& status) {
  return {.run = status.id.value,
          .attempt = status.attempt,
          .purpose = status.purpose,
          .head = status.head,
          .state = codec::enum_text(status.state),
          .gate_only = status.gate_only,
          .gpu_hours = status.gate_only ? std::optional(0.0) : status.gpu_hours};
}

RunClass run_class(const io::RunStatus& status) {
  if (status.gate_only || status.end == io::RunEnd::kPolicyGate) return RunClass::kPolicyGate;
  if (status.end == io::RunEnd::kPreempted) return RunClass::kPreempted;
  if (status.end == io::RunEnd::kDeadline) return RunClass::kDeadline;
  if (status.failure && status.failure->cls == model::FailureClass::kInfrastructure) return RunClass::kInfrastructure;
  if (status.end == io::RunEnd::kFailFast) return RunClass::kFailFast;
  // Nobody of ours cancels a run that is waited for: without a failed job that was the scheduler.
  if (status.state == io::RunState::kCancelled) return status.failed == 0 && !status.failure ? RunClass::kPreempted : RunClass::kFailFast;
  return RunClass::kOwnFailure;
}

Result<Answer> Performer::dispatch(const Candidate& c, bool final) {
  const bool planned = !c.attempts.empty() && c.attempts.back().status == AttemptStatus::kPlanned;
  const auto number = static_cast<std::int64_t>(c.attempts.size()) + (planned ? 0 : 1);
  const std::string purpose = final ? "final" : "smoke";
  const std::string marker = fmt::format("pawl-{}-{}-{}", c.id, purpose, number);
  PAWL_ASSIGN(std::optional<RunId> run, world_.runner.find(marker));
  if (!run) {
    if (!capacity_fresh(c)) return happened(EventKind::kCapacityExpired);
    if (world_.image_there) {
      PAWL_ASSIGN(const bool there, world_.image_there(c.image_new));
      if (!there) return Answer{Event{.kind = EventKind::kImageGone, .detail = fmt::format("the registry no longer has {}", c.image_new)}};
    }
    // One run of a candidate at a time: what an earlier attempt left active is superseded by this one.
    PAWL_ASSIGN(const std::vector<io::RunStatus> owned, owned_runs(c));
    bool active = false, ended_any = false;
    for (const io::RunStatus& other : owned) {
      if (io::terminal(other.state) || other.gate_only) continue;
      PAWL_ASSIGN(const io::RunStatus ended, end_run(c, other.id));
      ended_any = true;
      active = active || !io::terminal(ended.state);
    }
    // Ending a run may have taken long: whether the capacity check still counts is asked anew.
    if (ended_any) return Answer{{}, active ? c.rules.cancel_retry_s : 1};

    PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(c.head));
    PAWL_ASSIGN(const RecipeMatrix* matrix, at->matrix(c.recipe));
    PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
    io::SweepRequest request{.marker = marker,
                             .recipe = c.recipe,
                             .purpose = purpose,
                             .head = c.head,
                             .points = matrix->points,
                             .evals = matrix->evals,
                             .scale = c.scale,
                             .eval_task = c.eval_task,
                             .fail_fast = policy->fail_fast};
    if (!final) {
      PAWL_ASSIGN(const plan::SmokeSelection* smoke, at->smoke(c.recipe, policy->smoke_eval));
      request.points = smoke->points;
      request.evals = smoke->evals;
    }
    PAWL_ASSIGN(const std::optional<LaunchScript> script, read_launch_script(world_.forge, c.head, matrix->points));
    if (script) {
      request.launch_flags = plan::launch_flags(script->text);
      request.launch_script = model::LaunchScript{script->path, script->text};
    }
    request.package = matrix->package;
    PAWL_TRY(guard(c));
    // Everything since the first look took its time: the last word is asked for right before the effect.
    if (!capacity_fresh(c)) return happened(EventKind::kCapacityExpired);
    auto dispatched = world_.runner.dispatch(request);
    if (dispatched) {
      run = *dispatched;
      world_.progress.report(
          {purpose, fmt::format("run {}: {} points, {} evals, scale {}", run->value, request.points.size(), request.evals.size(), c.scale.text())});
    } else {
      const Error& error = dispatched.error();
      if (error.cls == ErrorClass::kNotFound) return Answer{Event{.kind = EventKind::kRunMissing, .detail = error.message}};
      if (error.cls == ErrorClass::kConflict) return Answer{Event{.kind = EventKind::kRunMissing, .reason = "conflicted", .detail = error.message}};
      if (error.cls != ErrorClass::kUnknownOutcome) return error;
      // It may run all the same: only the marker tells.
      PAWL_ASSIGN(run, world_.runner.find(marker));
      if (!run) return Answer{Event{.kind = EventKind::kRunMissing, .detail = error.message}};
    }
  }
  // Which runs there are now: a label and a push make one each, and only one of them measures.
  PAWL_ASSIGN(const std::vector<io::RunStatus> owned, owned_runs(c));
  Event event{.kind = EventKind::kRunDispatched, .commit = c.head, .run = run->value};
  const io::RunStatus* chosen = nullptr;
  for (const io::RunStatus& status : owned) {
    if (status.head == c.head) event.owned.push_back(owned_run(status));
    if (status.marker != marker || status.gate_only) continue;
    if (chosen == nullptr || status.id < chosen->id) {
      if (chosen != nullptr) event.kind = EventKind::kRunDoubled;
      chosen = &status;
    } else {
      event.kind = EventKind::kRunDoubled;
    }
  }
  if (chosen != nullptr) {
    event.run = chosen->id.value;
    event.number = chosen->attempt;
  }
  event.reason = world_.runner.runs_by_itself() && chosen != nullptr && chosen->state == io::RunState::kQueued ? "queued" : "running";
  return Answer{event};
}

Result<Answer> Performer::rerun(const Candidate& c) {
  const Attempt& attempt = c.attempts.back();
  auto now = world_.runner.status(RunId{attempt.run});
  if (!now && now.error().cls == ErrorClass::kNotFound) return Answer{vanished(attempt.run)};
  if (!now) return std::move(now).error();
  if (now->attempt <= attempt.run_attempt) {
    if (!capacity_fresh(c)) return happened(EventKind::kCapacityExpired);
    // Jobs that were cancelled are left out by a re-run of the failed ones: then everything runs again.
    const bool whole = now->state == io::RunState::kCancelled || run_class(*now) != RunClass::kInfrastructure;
    PAWL_TRY(guard(c));
    if (!capacity_fresh(c)) return happened(EventKind::kCapacityExpired);
    PAWL_ASSIGN(*now, world_.runner.rerun(RunId{attempt.run}, attempt.run_attempt, whole));
  }
  world_.progress.report({"retry", fmt::format("run {} again, attempt {}", attempt.run, now->attempt)});
  return Answer{Event{.kind = EventKind::kRunDispatched, .commit = c.head, .reason = "running", .run = attempt.run, .number = now->attempt}};
}

Result<Answer> Performer::cancel_doubled(const Candidate& c) {
  PAWL_ASSIGN(const std::vector<io::RunStatus> owned, owned_runs(c));
  for (const io::RunStatus& status : owned) {
    if (status.id.value == c.attempts.back().run || io::terminal(status.state) || status.gate_only) continue;
    PAWL_TRY(end_run(c, status.id));
  }
  return done();
}

Result<Answer> Performer::await_run(const Candidate& c, std::stop_token stop) {
  const RunId run{c.attempts.back().run};
  if (world_.runner.runs_by_itself()) {
    const auto status = world_.runner.status(run);
    if (!status && status.error().cls == ErrorClass::kNotFound) return Answer{vanished(run.value)};
    if (!status) return status.error();
    if (io::terminal(status->state)) return Answer{end_event(*status)};
    if (c.attempts.back().status == AttemptStatus::kQueued && status->state == io::RunState::kRunning)
      return Answer{Event{.kind = EventKind::kRunUpdated, .run = run.value}};
    return Answer{Event{.kind = EventKind::kSessionParked, .run = run.value}};
  }
  std::stop_source either;
  const std::stop_callback passed_on(stop, [&] { either.request_stop(); });
  std::jthread watch;
  if (world_.closed_by_person && c.cr != 0) {
    watch = std::jthread([&](std::stop_token finished) {
      while (world_.clock.sleep_for(kCloseLookInterval, finished)) {
        if (!world_.closed_by_person(c.cr)) continue;
        either.request_stop();
        return;
      }
    });
  }
  const auto status = world_.runner.wait(run, either.get_token());
  if (!status && status.error().cls == ErrorClass::kNotFound) return Answer{vanished(run.value)};
  if (!status && status.error().cls == ErrorClass::kCancelled && !stop.stop_requested()) {
    return Answer{Event{.kind = EventKind::kRequestClosedBy, .detail = "a person closed the change request"}};
  }
  if (!status) return status.error();
  return Answer{end_event(*status)};
}

Result<Answer> Performer::watch_run(const Candidate& c) {
  const Attempt& attempt = c.attempts.back();
  const auto status = world_.runner.status(RunId{attempt.run});
  if (!status && status.error().cls == ErrorClass::kNotFound) return happened(EventKind::kWaitEnded);
  if (!status) return status.error();
  if (io::terminal(status->state)) {
    Event end = end_event(*status);
    // A preempted run needs nobody who thinks: it runs again while the candidate stays parked.
    const bool again = end.cls && control::retried(*end.cls) && attempt.retry < c.rules.infrastructure_retries;
    if (again) return Answer{std::move(end)};
    return Answer{Event{.kind = EventKind::kWaitEnded, .run = attempt.run}};
  }
  const std::int64_t now_s = std::chrono::floor<std::chrono::seconds>(world_.clock.wall().since_epoch).count();
  const bool changed = attempt.status == AttemptStatus::kQueued && status->state == io::RunState::kRunning;
  if (changed || now_s - c.reported_at >= c.rules.report_refresh_s) return Answer{Event{.kind = EventKind::kRunUpdated, .run = attempt.run}};
  return Answer{{}, c.rules.poll_s};
}

Result<Expectation> Performer::expectation(const Candidate& c, const Attempt& attempt, const model::Baseline* baseline) {
  PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(attempt.head));
  PAWL_ASSIGN(const RecipeMatrix* matrix, at->matrix(c.recipe));
  Expectation expected{.head = attempt.head, .image = c.image_new, .run = attempt.run, .attempt = attempt.run_attempt, .full_sweep = attempt.final};
  if (attempt.final) {
    expected.points = matrix->points;
    expected.evals = matrix->evals;
    expected.baseline = baseline;
  } else {
    PAWL_ASSIGN(const plan::SmokeSelection* smoke, at->smoke(c.recipe, policy->smoke_eval));
    expected.points = smoke->points;
    expected.evals = smoke->evals;
  }
  return expected;
}

Result<Answer> Performer::judge_run(const Candidate& c, bool final) {
  const Attempt& attempt = c.attempts.back();
  auto evidence = world_.runner.evidence(RunId{attempt.run});
  if (!evidence && evidence.error().cls == ErrorClass::kNotFound) {
    return Answer{Event{.kind = EventKind::kEvidenceRefused,
                        .reason = "evidence-expired",
                        .detail = fmt::format("what run {} left is gone: {}", attempt.run, evidence.error().message),
                        .signature = "evidence-expired",
                        .outcome = Outcome::kUncertain}};
  }
  if (!evidence) return std::move(evidence).error();
  PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
  if (final && !baseline) return internal_error("the frozen baseline is gone");
  PAWL_ASSIGN(const Expectation expected, expectation(c, attempt, baseline.get()));
  const std::vector<report::Check> checks = judge(*evidence, expected);
  for (const report::Check& check : checks) {
    world_.progress.report({"judge", fmt::format("{} {}: {} of {}", check.ok ? "ok  " : "FAIL", check.code, check.found, check.wanted)});
  }
  const auto failed = std::ranges::find(checks, false, &report::Check::ok);
  if (failed == checks.end()) return happened(EventKind::kEvidenceAccepted);
  return Answer{
      Event{.kind = EventKind::kEvidenceRefused, .reason = failed->code, .detail = report::check_sentence(*failed), .signature = "check:" + failed->code}};
}

Result<Answer> Performer::diagnose(const Candidate& c) {
  const Attempt& attempt = c.attempts.back();
  // After a run that a gate stopped, the branch is worked on, and what fails then is not that run again.
  const bool by_run = attempt.status == AttemptStatus::kFailed && !control::gate_failed(c);
  const std::string finding = by_run ? attempt.finding : c.detail;
  world_.progress.report({"diagnose", finding});
  const auto give_up = [&] {
    const bool unsure = !by_run && c.reason == "merge-conflict", gone = !by_run && c.reason == "recipe-gone";
    return refused(EventKind::kPlanRefused, unsure ? Outcome::kUncertain : gone ? Outcome::kRetired : Outcome::kFailed, "no-repair", finding);
  };
  if (!by_run) return give_up();
  if (stopped_by_gate(attempt)) {
    PAWL_ASSIGN(const std::string main, main_head());
    if (main != c.base) {
      return Answer{Event{.kind = EventKind::kMaintenance,
                          .commit = main,
                          .change = "main's newer bytes are taken and the changelog entry is appended to them again; recipe and image are unchanged.",
                          .change_zh = "采用 main 的最新内容并重新追加变更日志条目；配方与镜像不变。"}};
    }
    return refused(EventKind::kPlanRefused, Outcome::kUncertain, attempt.reason, finding);
  }
  if (attempt.reason == "run-vanished" || attempt.reason == "evidence-expired")
    return refused(EventKind::kPlanRefused, Outcome::kUncertain, attempt.reason, finding);
  if (attempt.reason == "infrastructure" || attempt.reason == "preempted" || attempt.reason == "deadline") {
    return refused(EventKind::kPlanRefused, Outcome::kReadinessBlocked, attempt.reason, finding);
  }
  if (world_.planner == nullptr) return give_up();

  std::optional<io::Proposal> proposal;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_proposal WHERE candidate = ?1 AND attempt = ?2", {c.id, attempt.number},
                                 [&](const store::Row& row) -> Status {
                                   PAWL_ASSIGN(const Json json, codec::parse_json(row.text(0), "steward_proposal"));
                                   PAWL_ASSIGN(proposal, codec::from_json<io::Proposal>(json, "proposal"));
                                   return {};
                                 }));
  if (!proposal) {
    PAWL_ASSIGN(const io::RunStatus run, world_.runner.status(RunId{attempt.run}));
    PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
    io::Briefing briefing{.ledger = {{"candidate", codec::to_json(c)},
                                     {"baseline", baseline ? codec::to_json(*baseline) : Json()},
                                     {"repairs_left", c.rules.repairs - c.repairs}},
                          .engine = c.engine,
                          .failure = run.failure};
    PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(c.head));
    PAWL_ASSIGN(const RecipeMatrix* matrix, at->matrix(c.recipe));
    PAWL_ASSIGN(const std::optional<LaunchScript> script, read_launch_script(world_.forge, c.head, matrix->points));
    if (script) briefing.files[script->path] = script->text;
    PAWL_ASSIGN(proposal, world_.planner->propose(briefing));
    if (!proposal) return give_up();
    if (proposal->verdict) return refused(EventKind::kPlanRefused, *proposal->verdict, "planner", proposal->cause);
    if (proposal->files.empty()) return give_up();
    for (const auto& [path, bytes] : proposal->files) {
      const auto offered = briefing.files.find(path);
      if (offered == briefing.files.end()) return refused(EventKind::kPlanRefused, Outcome::kUncertain, "out-of-scope", "the planner wants to edit " + path);
      if (offered->second == bytes) return refused(EventKind::kPlanRefused, Outcome::kFailed, "empty-edit", "the planner's edit changes nothing in " + path);
    }
    PAWL_TRY(world_.database.execute("INSERT OR IGNORE INTO steward_proposal (candidate, attempt, record) VALUES (?1, ?2, ?3)",
                                     {c.id, attempt.number, codec::write_json(codec::to_json(*proposal), codec::JsonForm::kCompactUtf8)}));
  }
  world_.progress.report({"repair", fmt::format("{}/{}: {}", c.repairs + 1, c.rules.repairs, proposal->change)});
  return Answer{Event{.kind = EventKind::kPlanProposed, .detail = proposal->cause, .change = proposal->change, .change_zh = proposal->change_zh}};
}

Status Performer::report_attempt(const Candidate& c) {
  if (c.attempts.empty()) return {};
  // A repair that is only planned was announced by the attempt before it: that one is written first.
  if (c.attempts.back().run == 0 && c.attempts.size() > 1) PAWL_TRY(report_one(c, c.attempts[c.attempts.size() - 2]));
  return report_one(c, c.attempts.back());
}

Status Performer::report_one(const Candidate& c, const Attempt& attempt) {
  PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
  report::AttemptFacts facts{.run = attempt.run, .run_attempt = attempt.run_attempt, .scale = c.scale.text()};
  if (attempt.run != 0) {
    PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
    PAWL_ASSIGN(const Expectation expected, expectation(c, attempt, baseline.get()));
    auto run = world_.runner.status(RunId{attempt.run});
    if (!run && run.error().cls != ErrorClass::kNotFound) return std::move(run).error();
    if (attempt.status == AttemptStatus::kPassed && (!run || run->state != io::RunState::kSuccess)) {
      return internal_error(fmt::format("attempt {} is to be reported as passed, and its run {} is not successful", attempt.number, attempt.run));
    }
    if (!attempt.final) {
      for (const Json& row : expected.points) {
        PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
        facts.smoke_points.push_back(p.label());
      }
    }
    facts.jobs = run ? run->jobs : 0;
    // What a run left belongs to its newest attempt: an earlier one is told without numbers.
    if (run && io::terminal(run->state) && run->attempt == attempt.run_attempt && !run->gate_only) {
      auto evidence = world_.runner.evidence(run->id);
      if (!evidence && evidence.error().cls != ErrorClass::kNotFound) return std::move(evidence).error();
      if (evidence) {
        facts.checks = judge(*evidence, expected);
        facts.simulated = !evidence->rows.empty() && evidence->rows[0].contains("pawl") && evidence->rows[0]["pawl"].value("simulated", false);
        if (baseline) {
          // The smoke run measures a part of the curve on purpose: what it leaves out is not missing.
          model::Baseline part = *baseline;
          if (!attempt.final) {
            const std::vector<std::string> keys = keys_of(expected.points);
            std::erase_if(part.rows, [&](const Json& row) { return std::ranges::find(keys, model::row_point_key(row)) == keys.end(); });
          }
          PAWL_ASSIGN(facts.comparison, compare::compare(part.rows, evidence->rows, part.evals, evidence->evals, policy->style.statistic));
        }
      }
    }
  }
  return comment(c, fmt::format("attempt-{}", attempt.number), report::attempt_comment(policy->style, c, attempt, facts));
}

}  // namespace pawl::steward
