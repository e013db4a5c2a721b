#include <fmt/format.h>

#include <algorithm>

#include "changelog/ledger.h"
#include "codec/describe.h"
#include "model/row.h"
#include "plan/launch_script.h"
#include "steward/answers.h"

// What is pushed to the branch, and what is proven about it before the final sweep.
namespace pawl::steward {

using codec::Json;
using control::Candidate;
using control::Event;
using control::EventKind;
using model::Outcome;

namespace {

std::string link_of(const Candidate& c) { return "pawl:cr/" + std::to_string(c.cr); }

}  // namespace

Result<std::optional<Performer::Intent>> Performer::push_intent(const std::string& id) {
  std::optional<Intent> found;
  PAWL_TRY(world_.database.query("SELECT version, request, base FROM steward_push WHERE candidate = ?1", {id}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(const Json json, codec::parse_json(row.text(1), "steward_push"));
    Intent intent{.version = row.whole(0), .base = row.text(2)};
    PAWL_ASSIGN(intent.request, codec::from_json<io::CommitRequest>(json, "push"));
    found = std::move(intent);
    return {};
  }));
  return found;
}

Result<std::string> Performer::push(const Candidate& c, const control::Command& command, const io::CommitRequest& request, const std::string& base) {
  PAWL_ASSIGN(std::optional<Intent> intent, push_intent(c.id));
  if (!intent || intent->version != command.version) {
    // Known before it is done: whatever happens next, the commit on the branch can be told to be ours.
    PAWL_TRY(world_.database.execute("INSERT OR REPLACE INTO steward_push (candidate, version, request, base) VALUES (?1, ?2, ?3, ?4)",
                                     {c.id, command.version, codec::write_json(codec::to_json(request), codec::JsonForm::kCompactUtf8), base}));
    intent = Intent{command.version, request, base};
  }
  PAWL_TRY(guard(c));
  return world_.forge.commit(intent->request);
}

Result<Answer> Performer::commit_repair(const Candidate& c, const control::Command& command) {
  // The planned attempt is the newest; what was proposed belongs to the one that failed before it.
  const std::int64_t failed = c.attempts.back().number - 1;
  std::string text;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_proposal WHERE candidate = ?1 AND attempt = ?2", {c.id, failed}, [&](const store::Row& row) {
    text = row.text(0);
    return Status();
  }));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, "steward_proposal"));
  PAWL_ASSIGN(const io::Proposal proposal, codec::from_json<io::Proposal>(json, "proposal"));
  auto commit = push(c, command,
                     {.branch = c.branch,
                      .parent = c.head,
                      .files = proposal.files,
                      .message = fmt::format("recipe: repair {} of {}\n\n{}\nCause: {}\n", c.repairs, c.recipe, proposal.change, proposal.cause),
                      .author = kCommitAuthor,
                      .time = c.created},
                     c.base);
  if (!commit && commit.error().cls == ErrorClass::kConflict && !disturbed())
    return Answer{Event{.kind = EventKind::kHeadMoved, .detail = commit.error().message}};
  if (!commit && commit.error().cls == ErrorClass::kInvalid)
    return refused(EventKind::kPlanRefused, Outcome::kUncertain, "unusable-edit", commit.error().message);
  if (!commit) return std::move(commit).error();
  world_.progress.report({"edit", fmt::format("repair {}/{}, commit {}", c.repairs, c.rules.repairs, commit->substr(0, 12))});
  return Answer{Event{.kind = EventKind::kEditPushed, .commit = *commit}};
}

Result<Answer> Performer::append_changelog(const Candidate& c, const control::Command& command) {
  PAWL_ASSIGN(const std::optional<Intent> intent, push_intent(c.id));
  const auto pushed = [&](Result<std::string> commit, const std::string& base) -> Result<Answer> {
    if (!commit && commit.error().cls == ErrorClass::kConflict && !disturbed())
      return Answer{Event{.kind = EventKind::kHeadMoved, .detail = commit.error().message}};
    if (!commit) return std::move(commit).error();
    world_.progress.report({"changelog", fmt::format("one entry appended, commit {}", commit->substr(0, 12))});
    return Answer{Event{.kind = EventKind::kGatePassed, .commit = *commit, .detail = base}};
  };
  if (intent && intent->version == command.version) return pushed(push(c, command, intent->request, intent->base), intent->base);

  const auto fail = [](Outcome outcome, std::string reason, std::string detail) {
    return refused(EventKind::kGateFailed, outcome, std::move(reason), std::move(detail));
  };
  PAWL_ASSIGN(const std::string main, main_head());
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> base, catalogue(main));
  const std::string& file = base->texts.layout.changelog;
  const std::string& ledger = base->texts.texts.at(file);
  auto wanted = changelog::append(ledger, {{c.recipe}, {changelog::bump_description(c.engine, c.image_old, c.image_new)}, link_of(c)}, file);
  if (!wanted) return fail(Outcome::kFailed, "changelog-gate", wanted.error().message);
  if (Status gate = changelog::check_appended(ledger, *wanted, c.recipe, file); !gate) return fail(Outcome::kFailed, "changelog-gate", gate.error().message);

  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> ours, catalogue(c.head));
  io::CommitRequest request{.branch = c.branch,
                            .parent = c.head,
                            .files = {{file, *wanted}},
                            .message = fmt::format("changelog: {} moves to {}\n", c.recipe, c.image_new),
                            .author = kCommitAuthor,
                            .time = c.created};
  if (main == c.base) {
    const auto there = ours->texts.texts.find(file);
    if (there != ours->texts.texts.end() && there->second == *wanted) return Answer{Event{.kind = EventKind::kGatePassed, .commit = c.head, .detail = main}};
    return pushed(push(c, command, request, main), main);
  }

  // Main moved: all of its bytes are taken, and our edits are made on them again. Never a textual merge.
  auto matrix = base->matrix(c.recipe);
  if (!matrix && matrix.error().cls == ErrorClass::kNotFound) return fail(Outcome::kRetired, "recipe-gone", "main no longer has the recipe");
  if (!matrix) return fail(Outcome::kUncertain, "merge-conflict", matrix.error().message);
  if ((*matrix)->image != c.image_old) {
    return fail(Outcome::kUncertain, "merge-conflict", fmt::format("main moved {} itself, to {}", c.recipe, (*matrix)->image));
  }
  auto edited = base->with_image(c.recipe, c.image_new);
  if (!edited) return fail(Outcome::kUncertain, "merge-conflict", edited.error().message);
  request.files[c.file] = **edited;
  request.onto = main;
  request.message = fmt::format("changelog: {} moves to {}, on main at {}\n", c.recipe, c.image_new, main.substr(0, 12));
  PAWL_ASSIGN(const std::optional<LaunchScript> script, read_launch_script(world_.forge, c.head, (*matrix)->points));
  if (script) {
    const auto at = [&](const std::string& commit) -> Result<std::string> {
      auto text = world_.forge.read(commit, script->path);
      if (!text && text.error().cls == ErrorClass::kNotFound) return std::string();
      return text;
    };
    PAWL_ASSIGN(const std::string was, at(c.base));
    PAWL_ASSIGN(const std::string is, at(main));
    if (script->text != was) {
      if (is != was) return fail(Outcome::kUncertain, "merge-conflict", "main changed " + script->path + ", which a repair changed too");
      request.files[script->path] = script->text;
    }
  }
  return pushed(push(c, command, request, main), main);
}

Result<Answer> Performer::check_final(const Candidate& c) {
  const auto fail = [](std::string reason, std::string detail) {
    return refused(EventKind::kGateFailed, Outcome::kFailed, std::move(reason), std::move(detail));
  };
  PAWL_ASSIGN(const std::string main, main_head());
  if (main != c.base) return Answer{Event{.kind = EventKind::kMainAdvanced, .commit = main}};
  PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(ChangeRequestId{c.cr}));
  if (request.head != c.head) return fail("head-moved", "the branch is not at the commit that was checked");
  if (request.state != io::ChangeRequestState::kDraft) return fail("not-draft", "the change request is " + codec::enum_text(request.state));
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> before, catalogue(c.base));
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> after, catalogue(c.head));

  // The four proofs, in this order.
  const std::string& file = before->texts.layout.changelog;
  const std::string& ledger = before->texts.texts.at(file);
  const auto appended = after->texts.texts.find(file);
  if (appended == after->texts.texts.end() || !appended->second.starts_with(ledger)) {
    return fail("changelog-prefix", "the bytes of main's changelog are not a prefix of the head's");
  }
  if (Status gate = changelog::check_appended(ledger, appended->second, c.recipe, file); !gate) return fail("changelog-gate", gate.error().message);
  PAWL_ASSIGN(const RecipeMatrix* was, before->matrix(c.recipe));
  PAWL_ASSIGN(const RecipeMatrix* is, after->matrix(c.recipe));
  const std::vector<std::string>& keys = is->point_keys;
  if (was->point_keys != keys || was->eval_keys != is->eval_keys) return fail("matrix-changed", "the matrix of the head is not the matrix of the base");
  PAWL_ASSIGN(const std::string* edited, before->with_image(c.recipe, c.image_new));
  for (const auto& [path, bytes] : before->texts.texts) {
    if (path == file) continue;
    const auto now = after->texts.texts.find(path);
    if (now == after->texts.texts.end() || now->second != (path == c.file ? *edited : bytes)) {
      return fail("unexpected-diff", path + " differs from the base in more than the one image");
    }
  }

  PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
  if (!baseline) return internal_error("the frozen baseline is gone");
  for (const Json& row : baseline->rows) {
    if (std::ranges::find(keys, model::row_point_key(row)) == keys.end())
      return fail("baseline-point-mismatch", "a baseline point is not in the matrix: " + model::row_label(row));
  }
  world_.progress.report(
      {"preflight", fmt::format("head {}: one image line, one entry, {} points, {} evals", c.head.substr(0, 12), is->points.size(), is->evals.size())});
  return happened(EventKind::kGatePassed);
}

}  // namespace pawl::steward
