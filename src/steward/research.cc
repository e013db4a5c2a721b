#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "changelog/ledger.h"
#include "codec/describe.h"
#include "model/image.h"
#include "model/point.h"
#include "report/thread.h"
#include "steward/answers.h"

// From a candidate that was thought of to a draft request with a frozen baseline.
namespace pawl::steward {

using control::Candidate;
using control::Event;
using control::EventKind;
using model::Outcome;

namespace {

constexpr const char* kRecipeGone = "the recipe is gone from the catalogue";

/// Reason code and sentence, when a candidate cannot be compared with this baseline.
std::optional<std::pair<std::string, std::string>> baseline_problem(const Candidate& c, const std::optional<model::Baseline>& baseline) {
  if (!baseline) return std::pair{std::string("baseline-missing"), fmt::format("no published result of {} covers every point of {}", c.image_old, c.recipe)};
  if (baseline->scale == c.scale.text()) return std::nullopt;
  return std::pair{std::string("baseline-scale"),
                   fmt::format("the published baseline was measured at scale {}, this candidate at {}", baseline->scale, c.scale.text())};
}

}  // namespace

Result<Answer> Performer::review_overlap(const Candidate& c) {
  PAWL_ASSIGN(const std::string main, main_head());
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(main));
  auto matrix = at->matrix(c.recipe);
  if (!matrix && matrix.error().cls == ErrorClass::kNotFound) return refused(EventKind::kOverlapFound, Outcome::kRetired, "recipe-gone", kRecipeGone);
  if (!matrix) return std::move(matrix).error();
  if (model::same_image((*matrix)->image, c.image_new)) {
    return refused(EventKind::kOverlapFound, Outcome::kAlreadyUpdated, "pin-is-current", fmt::format("{} is on {} already", c.recipe, c.image_new));
  }
  PAWL_ASSIGN(const std::vector<io::ChangeRequest> open, world_.forge.list());
  for (const io::ChangeRequest& other : open) {
    const bool live = other.state == io::ChangeRequestState::kDraft || other.state == io::ChangeRequestState::kReady;
    if (live && other.branch != c.branch && other.title.find(" " + c.recipe + " ") != std::string::npos) {
      return refused(EventKind::kOverlapFound, Outcome::kDuplicate, "open-request", fmt::format("change request {} moves {} already", other.number, c.recipe));
    }
  }
  return happened(EventKind::kOverlapClear);
}

Result<Answer> Performer::preflight_baseline(const Candidate& c) {
  // Before anything is written anywhere: without a baseline there is nothing to compare with.
  PAWL_ASSIGN(const std::string main, main_head());
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(main));
  auto matrix = at->matrix(c.recipe);
  if (!matrix && matrix.error().cls == ErrorClass::kNotFound) return refused(EventKind::kBaselineRefused, Outcome::kRetired, "recipe-gone", kRecipeGone);
  if (!matrix) return std::move(matrix).error();
  PAWL_ASSIGN(const std::optional<model::Baseline> baseline, world_.results.newest(c.recipe, c.image_old, (*matrix)->point_keys));
  if (const auto problem = baseline_problem(c, baseline)) return refused(EventKind::kBaselineRefused, Outcome::kFailed, problem->first, problem->second);
  return happened(EventKind::kBaselineReady);
}

Result<Answer> Performer::research(const Candidate& c) {
  // Looked at again now that the recipe is ours: much may have happened since it was chosen.
  PAWL_ASSIGN(Answer overlap, review_overlap(c));
  if (overlap.event->kind == EventKind::kOverlapFound) {
    overlap.event->kind = EventKind::kPlanRefused;
    return overlap;
  }
  PAWL_ASSIGN(Answer baseline, preflight_baseline(c));
  if (baseline.event->kind == EventKind::kBaselineRefused) {
    baseline.event->kind = EventKind::kPlanRefused;
    return baseline;
  }
  world_.progress.report({"research", fmt::format("{}: {} → {}", c.recipe, c.image_old, c.image_new)});
  return happened(EventKind::kPlanProposed);
}

Result<Answer> Performer::commit_image(const Candidate& c, const control::Command& command) {
  PAWL_ASSIGN(const std::string main, main_head());
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(main));
  // Main may have moved since research, the recipe with it.
  auto edited = at->with_image(c.recipe, c.image_new);
  if (!edited && edited.error().cls == ErrorClass::kNotFound) return refused(EventKind::kPlanRefused, Outcome::kRetired, "recipe-gone", kRecipeGone);
  if (!edited && edited.error().cls == ErrorClass::kConflict)
    return refused(EventKind::kPlanRefused, Outcome::kAlreadyUpdated, "pin-is-current", edited.error().message);
  if (!edited) return std::move(edited).error();
  const std::string description = changelog::bump_description(c.engine, c.image_old, c.image_new);
  auto commit = push(c, command,
                     {.branch = c.branch,
                      .parent = main,
                      .files = {{c.file, **edited}},
                      .message = fmt::format("configs: {} moves to {}\n\n{}.\n", c.recipe, c.image_new, description),
                      .author = kCommitAuthor,
                      .time = c.created},
                     main);
  if (!commit && commit.error().cls == ErrorClass::kConflict && !disturbed()) {
    return refused(EventKind::kBranchTaken, Outcome::kDuplicate, "branch-taken", fmt::format("the branch {} is somebody else's", c.branch));
  }
  if (!commit) return std::move(commit).error();
  world_.progress.report({"edit", fmt::format("one image line, commit {} on {}", commit->substr(0, 12), c.branch)});
  PAWL_ASSIGN(const std::optional<Intent> intent, push_intent(c.id));
  return Answer{Event{.kind = EventKind::kEditPushed, .commit = *commit, .detail = intent ? intent->base : main}};
}

Result<Answer> Performer::open_request(const Candidate& c) {
  const std::string title = report::request_title(c);
  PAWL_TRY(guard(c));
  PAWL_ASSIGN(const ChangeRequestId request, world_.forge.open(c.branch, title, report::request_placeholder(c), kAuthor));
  world_.progress.report({"cr", fmt::format("change request {}: {}", request.value, title)});
  return Answer{Event{.kind = EventKind::kCrOpened, .number = request.value}};
}

Result<Answer> Performer::freeze_baseline(const Candidate& c) {
  PAWL_ASSIGN(std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
  if (!baseline) {
    PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> at, catalogue(c.base));
    PAWL_ASSIGN(const RecipeMatrix* matrix, at->matrix(c.recipe));
    PAWL_ASSIGN(std::optional<model::Baseline> newest, world_.results.newest(c.recipe, c.image_old, matrix->point_keys));
    if (const auto problem = baseline_problem(c, newest)) return refused(EventKind::kBaselineRefused, Outcome::kFailed, problem->first, problem->second);
    const std::string record = codec::write_json(codec::to_json(*newest), codec::JsonForm::kCompactUtf8);
    // Frozen once: a second, different record would be a defect, and changes nothing.
    PAWL_TRY(
        world_.database.execute("INSERT OR IGNORE INTO steward_baseline (candidate, record, sha256) VALUES (?1, ?2, ?3)", {c.id, record, sha256_hex(record)}));
    PAWL_ASSIGN(baseline, frozen_baseline(c.id));
    if (!baseline) return internal_error("the frozen baseline is gone");
  }
  world_.progress.report({"baseline", fmt::format("frozen: {} of {}, {} points, {} evals, run {}", baseline->date, baseline->image, baseline->rows.size(),
                                                  baseline->evals.size(), baseline->run)});
  return happened(EventKind::kBaselineReady);
}

Result<Answer> Performer::write_body(const Candidate& c) {
  PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, frozen_baseline(c.id));
  if (!baseline) return internal_error("the frozen baseline is gone");
  PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
  PAWL_TRY(guard(c));
  PAWL_TRY(world_.forge.edit(ChangeRequestId{c.cr}, report::request_title(c), report::request_body(policy->style, c, *baseline)));
  return happened(EventKind::kBodyWritten);
}

}  // namespace pawl::steward
