#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "changelog/ledger.h"
#include "codec/describe.h"
#include "model/image.h"
#include "model/point.h"
#include "model/row.h"
#include "plan/image_edit.h"
#include "plan/launch_script.h"
#include "report/thread.h"
#include "steward/judge.h"
#include "steward/policy.h"
#include "steward/steward.h"
#include "steward/upgrade_plan.h"

// How each command of the outbox is performed. All of them may be repeated: a crash between the effect and its record
// leads to a second call with the same arguments.
namespace pawl::steward {
namespace {

using codec::Json;
using control::Candidate;
using control::CommandKind;
using control::Event;
using control::EventKind;
using model::Outcome;

constexpr const char* kAuthor = "pawl";
constexpr const char* kCommitAuthor = "pawl <pawl@localhost>";
constexpr Nanos kCloseLookInterval = Millis{200};

std::optional<Event> happened(EventKind kind) { return Event{.kind = kind}; }

std::optional<Event> refused(EventKind kind, Outcome outcome, std::string reason, std::string detail) {
  return Event{.kind = kind, .reason = std::move(reason), .detail = std::move(detail), .outcome = outcome};
}

std::string link_of(const Candidate& c) { return "pawl:cr/" + std::to_string(c.cr); }

std::vector<std::string> keys_of(const std::vector<Json>& rows) {
  std::vector<std::string> keys;
  for (const Json& row : rows) keys.push_back(model::point_key(row));
  return keys;
}

/// Reason code and sentence, when a candidate cannot be compared with this baseline.
std::optional<std::pair<std::string, std::string>> baseline_problem(const Candidate& c, const std::optional<model::Baseline>& baseline) {
  if (!baseline) return std::pair{std::string("baseline-missing"), fmt::format("no published result of {} covers every point of {}", c.image_old, c.recipe)};
  if (baseline->scale == c.scale.text()) return std::nullopt;
  return std::pair{std::string("baseline-scale"),
                   fmt::format("the published baseline was measured at scale {}, this candidate at {}", baseline->scale, c.scale.text())};
}

}  // namespace

Steward::Answer Steward::perform(const Candidate& c, const control::Command& command, std::stop_token stop) {
  const ChangeRequestId request{c.cr};
  switch (command.kind) {
    case CommandKind::kResearch:
      return research(c);
    case CommandKind::kCommitImage:
      return commit_image(c);
    case CommandKind::kOpenRequest:
      return open_request(c);
    case CommandKind::kFreezeBaseline:
      return freeze_baseline(c);
    case CommandKind::kCheckCapacity: {
      PAWL_ASSIGN(const io::Capacity capacity, world_.capacity.check(c.runner));
      world_.progress.report({"gate", capacity.pass ? "capacity: there is room" : "capacity: no room"});
      return happened(capacity.pass ? EventKind::kCapacityPassed : EventKind::kCapacityFailed);
    }
    case CommandKind::kDispatchSmoke:
      return dispatch(c, false);
    case CommandKind::kDispatchFinal:
      return dispatch(c, true);
    case CommandKind::kReportAttempt:
      PAWL_TRY(report_attempt(c));
      return std::optional<Event>();
    case CommandKind::kAwaitRun:
      return await_run(c, std::move(stop));
    case CommandKind::kJudgeSmoke:
      return judge_run(c, false);
    case CommandKind::kVerifyFinal:
      return judge_run(c, true);
    case CommandKind::kDiagnose:
      return diagnose(c);
    case CommandKind::kCommitRepair:
      return commit_repair(c);
    case CommandKind::kAppendChangelog:
      return append_changelog(c);
    case CommandKind::kCheckFinal:
      return check_final(c);
    case CommandKind::kAddSweepLabel: {
      PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
      PAWL_TRY(world_.forge.set_label(request, policy.sweep_label, true));
      return std::optional<Event>();
    }
    case CommandKind::kPublishReport:
      PAWL_TRY(report_attempt(c));
      return happened(EventKind::kReportWritten);
    case CommandKind::kMarkReady: {
      PAWL_ASSIGN(const io::ChangeRequest now, world_.forge.get(request));
      if (now.head != c.head) {
        return refused(EventKind::kStopRequested, Outcome::kStopped, "head-moved", "somebody else moved the branch after the final sweep");
      }
      PAWL_TRY(world_.forge.set_ready(request, true));
      world_.progress.report({"cr", fmt::format("change request {} is ready for review", c.cr)});
      return happened(EventKind::kReadyConfirmed);
    }
    case CommandKind::kPostPending: {
      PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
      if (c.outcome == Outcome::kCapacityDeferred) PAWL_TRY(comment(c, "deferral", report::deferral_comment(policy.style, c)));
      PAWL_TRY(comment(c, "pending", report::pending_receipt(policy.style, c)));
      return happened(EventKind::kReceiptPosted);
    }
    case CommandKind::kCancelRuns:
      return cancel_runs(c, std::move(stop));
    case CommandKind::kCloseRequest:
      return close_request(c);
    case CommandKind::kPostReceipt: {
      PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
      PAWL_TRY(comment(c, "receipt", report::completion_receipt(policy.style, c)));
      const std::string outcome = c.outcome ? codec::enum_text(*c.outcome) : "unknown";
      world_.progress.report({"receipt", fmt::format("{}; repairs {}; runs {}", outcome, c.repairs, c.runs.size())});
      return happened(EventKind::kReceiptPosted);
    }
  }
  return internal_error("unknown command");
}

Status Steward::comment(const Candidate& c, const std::string& part, const std::string& body) {
  if (c.cr == 0) return {};
  return world_.forge.comment(ChangeRequestId{c.cr}, c.id + "/" + part, kAuthor, body);
}

Steward::Answer Steward::research(const Candidate& c) {
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return internal_error("the forge lost its branch main");
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, *main));
  auto matrix = recipe_matrix(texts, c.recipe);
  if (!matrix && matrix.error().cls == ErrorClass::kNotFound)
    return refused(EventKind::kPlanRefused, Outcome::kRetired, "recipe-gone", "the recipe is gone from the catalogue");
  if (!matrix) return std::move(matrix).error();
  if (model::same_image(matrix->image, c.image_new)) {
    return refused(EventKind::kPlanRefused, Outcome::kAlreadyUpdated, "pin-is-current", fmt::format("{} is on {} already", c.recipe, c.image_new));
  }
  PAWL_ASSIGN(const std::vector<io::ChangeRequest> open, world_.forge.list());
  for (const io::ChangeRequest& other : open) {
    const bool live = other.state == io::ChangeRequestState::kDraft || other.state == io::ChangeRequestState::kReady;
    if (live && other.branch != c.branch && other.title.find(" " + c.recipe + " ") != std::string::npos) {
      return refused(EventKind::kPlanRefused, Outcome::kDuplicate, "open-request", fmt::format("change request {} moves {} already", other.number, c.recipe));
    }
  }
  // Before anything is written anywhere: without a baseline there is nothing to compare with.
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, world_.results.newest(c.recipe, c.image_old, keys_of(matrix->points)));
  if (const auto problem = baseline_problem(c, baseline)) return refused(EventKind::kPlanRefused, Outcome::kFailed, problem->first, problem->second);
  world_.progress.report({"research", fmt::format("{}: {} → {}", c.recipe, c.image_old, c.image_new)});
  return happened(EventKind::kPlanProposed);
}

Steward::Answer Steward::commit_image(const Candidate& c) {
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return internal_error("the forge lost its branch main");
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, *main));
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
  PAWL_ASSIGN(const UpgradePlan plan, plan_upgrade(texts, c.recipe, c.image_new, "XXX", policy.smoke_eval));
  PAWL_ASSIGN(const std::string commit,
              world_.forge.commit({.branch = c.branch,
                                   .parent = *main,
                                   .files = {{plan.image_edit.path, plan.image_edit.after}},
                                   .message = fmt::format("configs: {} moves to {}\n\n{}.\n", c.recipe, c.image_new, plan.entry.description[0]),
                                   .author = kCommitAuthor,
                                   .time = c.created}));
  world_.progress.report({"edit", fmt::format("one image line, commit {} on {}", commit.substr(0, 12), c.branch)});
  return Event{.kind = EventKind::kEditPushed, .commit = commit, .detail = *main};
}

Steward::Answer Steward::open_request(const Candidate& c) {
  const std::string title = report::request_title(c);
  PAWL_ASSIGN(const ChangeRequestId request, world_.forge.open(c.branch, title, report::request_placeholder(c), kAuthor));
  world_.progress.report({"cr", fmt::format("change request {}: {}", request.value, title)});
  return Event{.kind = EventKind::kCrOpened, .number = request.value};
}

Steward::Answer Steward::freeze_baseline(const Candidate& c) {
  PAWL_ASSIGN(std::optional<model::Baseline> baseline, frozen_baseline(c.id));
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
  if (!baseline) {
    PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, c.base));
    PAWL_ASSIGN(const RecipeMatrix matrix, recipe_matrix(texts, c.recipe));
    PAWL_ASSIGN(baseline, world_.results.newest(c.recipe, c.image_old, keys_of(matrix.points)));
    if (const auto problem = baseline_problem(c, baseline)) return refused(EventKind::kBaselineRefused, Outcome::kFailed, problem->first, problem->second);
    const std::string record = codec::write_json(codec::to_json(*baseline), codec::JsonForm::kCompactUtf8);
    PAWL_TRY(
        world_.database.execute("INSERT OR IGNORE INTO steward_baseline (candidate, record, sha256) VALUES (?1, ?2, ?3)", {c.id, record, sha256_hex(record)}));
  }
  PAWL_TRY(world_.forge.edit(ChangeRequestId{c.cr}, report::request_title(c), report::request_body(policy.style, c, *baseline)));
  world_.progress.report({"baseline", fmt::format("frozen: {} of {}, {} points, {} evals, run {}", baseline->date, baseline->image, baseline->rows.size(),
                                                  baseline->evals.size(), baseline->run)});
  return happened(EventKind::kBaselineReady);
}

Steward::Answer Steward::dispatch(const Candidate& c, bool final) {
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, c.head));
  PAWL_ASSIGN(const RecipeMatrix matrix, recipe_matrix(texts, c.recipe));
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
  io::SweepRequest request{
      .recipe = c.recipe, .purpose = final ? "final" : "smoke", .head = c.head, .scale = c.scale, .eval_task = c.eval_task, .fail_fast = policy.fail_fast};
  request.marker = fmt::format("pawl-{}-{}-{}", c.id, request.purpose, c.attempts.size() + 1);
  request.points = matrix.points;
  request.evals = matrix.evals;
  if (!final) {
    plan::SmokeSelection smoke = plan::select_smoke(matrix.points, matrix.evals, policy.smoke_eval);
    request.points = std::move(smoke.points);
    request.evals = std::move(smoke.evals);
  }
  PAWL_ASSIGN(const std::optional<LaunchScript> script, read_launch_script(world_.forge, c.head, matrix.points));
  if (script) request.launch_flags = plan::launch_flags(script->text);
  PAWL_ASSIGN(const RunId run, world_.runner.dispatch(request));
  world_.progress.report(
      {request.purpose, fmt::format("run {}: {} points, {} evals, scale {}", run.value, request.points.size(), request.evals.size(), c.scale.text())});
  return Event{.kind = EventKind::kRunDispatched, .commit = c.head, .run = run.value};
}

Steward::Answer Steward::await_run(const Candidate& c, std::stop_token stop) {
  const RunId run{c.attempts.back().run};
  std::stop_source either;
  const std::stop_callback passed_on(stop, [&] { either.request_stop(); });
  std::jthread watch;
  if (world_.closed_by_person && c.cr != 0) {
    watch = std::jthread([&](std::stop_token done) {
      while (world_.clock.sleep_for(kCloseLookInterval, done)) {
        if (!world_.closed_by_person(c.cr)) continue;
        either.request_stop();
        return;
      }
    });
  }
  auto status = world_.runner.wait(run, either.get_token());
  if (!status) {
    if (status.error().cls != ErrorClass::kCancelled || stop.stop_requested()) return std::move(status).error();
    return Event{.kind = EventKind::kStopRequested, .detail = "a person closed the change request"};
  }
  if (status->state == io::RunState::kSuccess) return Event{.kind = EventKind::kRunSucceeded, .run = run.value};
  std::string detail = fmt::format("run {} ended as {}", run.value, codec::enum_text(status->state));
  if (status->failure) {
    detail += ": " + status->failure->message;
    if (!status->failure->evidence.empty()) detail += ": " + status->failure->evidence.back();
  }
  return Event{.kind = EventKind::kRunFailed, .reason = "run-failed", .detail = detail, .run = run.value};
}

namespace {

Result<Expectation> expectation(io::Forge& forge, const io::Assets& assets, const Candidate& c, const Policy& policy, bool final,
                                const std::optional<model::Baseline>& baseline) {
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(forge, assets, c.attempts.back().head));
  PAWL_ASSIGN(RecipeMatrix matrix, recipe_matrix(texts, c.recipe));
  Expectation expected{.head = c.attempts.back().head, .image = c.image_new, .full_sweep = final};
  if (final) {
    expected.points = std::move(matrix.points);
    expected.evals = std::move(matrix.evals);
    if (baseline) expected.baseline = &*baseline;
  } else {
    plan::SmokeSelection smoke = plan::select_smoke(matrix.points, matrix.evals, policy.smoke_eval);
    expected.points = std::move(smoke.points);
    expected.evals = std::move(smoke.evals);
  }
  return expected;
}

}  // namespace

Steward::Answer Steward::judge_run(const Candidate& c, bool final) {
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
  PAWL_ASSIGN(const io::RunEvidence evidence, world_.runner.evidence(RunId{c.attempts.back().run}));
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, frozen_baseline(c.id));
  if (final && !baseline) return internal_error("the frozen baseline is gone");
  PAWL_ASSIGN(const Expectation expected, expectation(world_.forge, world_.assets, c, policy, final, baseline));
  const std::vector<report::Check> checks = judge(evidence, expected);
  const std::string failure = first_failure(checks);
  for (const report::Check& check : checks) {
    world_.progress.report({"judge", fmt::format("{} {}: {} of {}", check.ok ? "ok  " : "FAIL", check.code, check.found, check.wanted)});
  }
  if (failure.empty()) return happened(EventKind::kEvidenceAccepted);
  const auto failed = std::ranges::find(checks, false, &report::Check::ok);
  return Event{.kind = EventKind::kEvidenceRefused, .reason = failed->code, .detail = failure};
}

Steward::Answer Steward::diagnose(const Candidate& c) {
  const control::Attempt& attempt = c.attempts.back();
  world_.progress.report({"diagnose", attempt.finding});
  const auto give_up = [&] { return refused(EventKind::kPlanRefused, Outcome::kFailed, "no-repair", attempt.finding); };
  if (world_.planner == nullptr) return give_up();
  PAWL_ASSIGN(const io::RunStatus run, world_.runner.status(RunId{attempt.run}));
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, frozen_baseline(c.id));
  io::Briefing briefing{.ledger = {{"candidate", codec::to_json(c)},
                                   {"baseline", baseline ? codec::to_json(*baseline) : Json()},
                                   {"repairs_left", control::kRepairsMax - c.repairs}},
                        .engine = c.engine,
                        .failure = run.failure};
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, c.head));
  PAWL_ASSIGN(const RecipeMatrix matrix, recipe_matrix(texts, c.recipe));
  PAWL_ASSIGN(const std::optional<LaunchScript> script, read_launch_script(world_.forge, c.head, matrix.points));
  if (script) briefing.files[script->path] = script->text;
  PAWL_ASSIGN(const std::optional<io::Proposal> proposal, world_.planner->propose(briefing));
  if (!proposal) return give_up();
  for (const auto& [path, bytes] : proposal->files) {
    if (!briefing.files.contains(path)) return refused(EventKind::kPlanRefused, Outcome::kUncertain, "out-of-scope", "the planner wants to edit " + path);
  }
  PAWL_TRY(world_.database.execute("INSERT OR REPLACE INTO steward_proposal (candidate, attempt, record) VALUES (?1, ?2, ?3)",
                                   {c.id, attempt.number, codec::write_json(codec::to_json(*proposal), codec::JsonForm::kCompactUtf8)}));
  world_.progress.report({"repair", fmt::format("{}/{}: {}", c.repairs + 1, control::kRepairsMax, proposal->change)});
  return Event{.kind = EventKind::kPlanProposed, .detail = proposal->cause, .change = proposal->change, .change_zh = proposal->change_zh};
}

Steward::Answer Steward::commit_repair(const Candidate& c) {
  std::string text;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_proposal WHERE candidate = ?1 AND attempt = ?2", {c.id, c.attempts.back().number},
                                 [&](const store::Row& row) {
                                   text = row.text(0);
                                   return Status();
                                 }));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, "steward_proposal"));
  PAWL_ASSIGN(const io::Proposal proposal, codec::from_json<io::Proposal>(json, "proposal"));
  PAWL_ASSIGN(const std::string commit,
              world_.forge.commit({.branch = c.branch,
                                   .parent = c.head,
                                   .files = proposal.files,
                                   .message = fmt::format("recipe: repair {} of {}\n\n{}\nCause: {}\n", c.repairs, c.recipe, proposal.change, proposal.cause),
                                   .author = kCommitAuthor,
                                   .time = c.created}));
  world_.progress.report({"edit", fmt::format("repair {}/{}, commit {}", c.repairs, control::kRepairsMax, commit.substr(0, 12))});
  return Event{.kind = EventKind::kEditPushed, .commit = commit};
}

Steward::Answer Steward::append_changelog(const Candidate& c) {
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return internal_error("the forge lost its branch main");
  PAWL_ASSIGN(const CatalogueTexts base, read_catalogue(world_.forge, world_.assets, *main));
  PAWL_ASSIGN(const CatalogueTexts branch, read_catalogue(world_.forge, world_.assets, c.base));
  const std::string& file = base.layout.changelog;
  const std::string& ledger = base.texts.at(file);
  if (ledger != branch.texts.at(file)) {
    return refused(EventKind::kGateFailed, Outcome::kFailed, "stale-base", "main has a newer changelog entry than the branch");
  }
  PAWL_ASSIGN(const std::string head,
              changelog::append(ledger, {{c.recipe}, {changelog::bump_description(c.engine, c.image_old, c.image_new)}, link_of(c)}, file));
  if (Status gate = changelog::check_appended(ledger, head, c.recipe, file); !gate) {
    return refused(EventKind::kGateFailed, Outcome::kFailed, "changelog-gate", gate.error().message);
  }
  PAWL_ASSIGN(const std::string commit, world_.forge.commit({.branch = c.branch,
                                                             .parent = c.head,
                                                             .files = {{file, head}},
                                                             .message = fmt::format("changelog: {} moves to {}\n", c.recipe, c.image_new),
                                                             .author = kCommitAuthor,
                                                             .time = c.created}));
  world_.progress.report({"changelog", fmt::format("one entry appended, commit {}", commit.substr(0, 12))});
  return Event{.kind = EventKind::kGatePassed, .commit = commit};
}

Steward::Answer Steward::check_final(const Candidate& c) {
  const auto fail = [](std::string reason, std::string detail) {
    return refused(EventKind::kGateFailed, Outcome::kFailed, std::move(reason), std::move(detail));
  };
  PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(ChangeRequestId{c.cr}));
  if (request.head != c.head) return fail("head-moved", "the branch is not at the commit that was checked");
  if (request.state != io::ChangeRequestState::kDraft) return fail("not-draft", "the change request is " + codec::enum_text(request.state));
  PAWL_ASSIGN(const CatalogueTexts before, read_catalogue(world_.forge, world_.assets, c.base));
  PAWL_ASSIGN(const CatalogueTexts after, read_catalogue(world_.forge, world_.assets, c.head));
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(before.layout, before.texts));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(c.recipe));
  PAWL_ASSIGN(const std::string edited, plan::edit_image(catalogue, *recipe, c.image_new));
  for (const auto& [path, bytes] : before.texts) {
    if (path == before.layout.changelog) continue;
    if (after.texts.at(path) != (path == c.file ? edited : bytes)) return fail("unexpected-diff", path + " differs from the base in more than the one image");
  }
  PAWL_ASSIGN(const RecipeMatrix was, recipe_matrix(before, c.recipe));
  PAWL_ASSIGN(const RecipeMatrix is, recipe_matrix(after, c.recipe));
  if (keys_of(was.points) != keys_of(is.points) || keys_of(was.evals) != keys_of(is.evals))
    return fail("matrix-changed", "the matrix of the head is not the matrix of the base");
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, frozen_baseline(c.id));
  if (!baseline) return internal_error("the frozen baseline is gone");
  const std::vector<std::string> keys = keys_of(is.points);
  for (const Json& row : baseline->rows) {
    if (std::ranges::find(keys, model::row_point_key(row)) == keys.end())
      return fail("baseline-point-mismatch", "a baseline point is not in the matrix: " + model::row_label(row));
  }
  world_.progress.report(
      {"preflight", fmt::format("head {}: one image line, one entry, {} points, {} evals", c.head.substr(0, 12), is.points.size(), is.evals.size())});
  return happened(EventKind::kGatePassed);
}

Status Steward::report_attempt(const Candidate& c) {
  if (c.attempts.empty()) return {};
  const control::Attempt& attempt = c.attempts.back();
  const bool final = attempt.kind == control::AttemptKind::kFinal;
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
  PAWL_ASSIGN(const io::RunStatus run, world_.runner.status(RunId{attempt.run}));
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, frozen_baseline(c.id));
  report::AttemptFacts facts{.run = run.id.value, .run_attempt = run.attempt, .jobs = run.jobs, .scale = c.scale.text()};
  PAWL_ASSIGN(const Expectation expected, expectation(world_.forge, world_.assets, c, policy, final, baseline));
  if (!final) {
    for (const Json& row : expected.points) {
      PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
      facts.smoke_points.push_back(p.label());
    }
  }
  if (io::terminal(run.state)) {
    PAWL_ASSIGN(const io::RunEvidence evidence, world_.runner.evidence(run.id));
    facts.checks = judge(evidence, expected);
    facts.simulated = !evidence.rows.empty() && evidence.rows[0].contains("pawl") && evidence.rows[0]["pawl"].value("simulated", false);
    if (baseline) {
      // The smoke run measures a part of the curve on purpose: what it leaves out is not missing.
      model::Baseline part = *baseline;
      if (!final) {
        const std::vector<std::string> keys = keys_of(expected.points);
        std::erase_if(part.rows, [&](const Json& row) { return std::ranges::find(keys, model::row_point_key(row)) == keys.end(); });
      }
      PAWL_ASSIGN(facts.comparison, compare::compare(part.rows, evidence.rows, part.evals, evidence.evals, policy.style.statistic));
    }
  }
  return comment(c, fmt::format("attempt-{}", attempt.number), report::attempt_comment(policy.style, c, attempt, facts));
}

Steward::Answer Steward::cancel_runs(const Candidate& c, std::stop_token stop) {
  for (const std::int64_t id : c.runs) {
    const RunId run{id};
    PAWL_ASSIGN(const io::RunStatus status, world_.runner.status(run));
    if (io::terminal(status.state)) continue;
    PAWL_TRY(world_.runner.cancel(run));
    PAWL_ASSIGN(const io::RunStatus ended, world_.runner.wait(run, stop));
    world_.progress.report({"stop", fmt::format("run {} is {}", id, codec::enum_text(ended.state))});
  }
  return happened(EventKind::kRunsEnded);
}

Steward::Answer Steward::close_request(const Candidate& c) {
  if (c.cr != 0) {
    PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, c.policy));
    const ChangeRequestId id{c.cr};
    PAWL_TRY(world_.forge.set_label(id, policy.sweep_label, false));
    PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(id));
    // A request that a person closed stays as the person left it.
    if (request.state != io::ChangeRequestState::kClosed && request.state != io::ChangeRequestState::kMerged) PAWL_TRY(world_.forge.close(id, kAuthor));
    PAWL_ASSIGN(const bool gone, world_.forge.delete_branch(c.branch, c.head));
    world_.progress.report({"cr", fmt::format("change request {} closed, branch {}", c.cr, gone ? "deleted" : "kept: somebody else moved it")});
  }
  return happened(EventKind::kRequestClosed);
}

}  // namespace pawl::steward
