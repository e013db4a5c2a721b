#include "steward/steward.h"

#include <fmt/format.h>

#include "codec/describe.h"
#include "model/image.h"
#include "steward/policy.h"
#include "steward/upgrade_plan.h"

namespace pawl::steward {
namespace {

using codec::Json;
using control::Candidate;
using control::Event;
using control::EventKind;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }

Result<Candidate> candidate_of(const std::string& text) {
  PAWL_ASSIGN(const Json json, codec::parse_json(text, "steward_candidate"));
  return codec::from_json<Candidate>(json, "candidate");
}

}  // namespace

store::Schema steward_schema() {
  return {
      "steward",
      {"CREATE TABLE steward_candidate (id TEXT PRIMARY KEY, recipe TEXT NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_journal (seq INTEGER PRIMARY KEY AUTOINCREMENT, candidate TEXT NOT NULL, at TEXT NOT NULL, event TEXT NOT NULL,"
       " state_before TEXT NOT NULL, state_after TEXT NOT NULL, ignored INTEGER NOT NULL) STRICT;"
       "CREATE TABLE steward_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, candidate TEXT NOT NULL, kind TEXT NOT NULL,"
       " version INTEGER NOT NULL, state TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_baseline (candidate TEXT PRIMARY KEY, record TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_proposal (candidate TEXT NOT NULL, attempt INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (candidate, attempt)) STRICT"}};
}

Result<std::optional<Candidate>> Steward::find(const std::string& id) {
  std::optional<Candidate> found;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_candidate WHERE id = ?1", {id}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(found, candidate_of(row.text(0)));
    return {};
  }));
  return found;
}

Result<std::vector<Candidate>> Steward::list() {
  std::vector<Candidate> all;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_candidate ORDER BY rowid", {}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(Candidate candidate, candidate_of(row.text(0)));
    all.push_back(std::move(candidate));
    return {};
  }));
  return all;
}

Result<std::optional<model::Baseline>> Steward::frozen_baseline(const std::string& id) {
  std::optional<model::Baseline> found;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_baseline WHERE candidate = ?1", {id}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(const Json json, codec::parse_json(row.text(0), "steward_baseline"));
    PAWL_ASSIGN(found, codec::from_json<model::Baseline>(json, "baseline"));
    return {};
  }));
  return found;
}

Result<Candidate> Steward::start(const StartRequest& request) {
  PAWL_ASSIGN(const Policy policy, load_policy(world_.assets, request.policy));
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return not_found("the forge has no branch main", "import a catalogue first: pawl demo does");
  PAWL_ASSIGN(const CatalogueTexts texts, read_catalogue(world_.forge, world_.assets, *main));
  PAWL_ASSIGN(const RecipeMatrix matrix, recipe_matrix(texts, request.recipe));
  PAWL_TRY(model::parse_image(request.image));

  Candidate candidate;
  candidate.recipe = request.recipe;
  candidate.file = matrix.file;
  candidate.image_old = matrix.image;
  candidate.image_new = request.image;
  candidate.runner = matrix.runner;
  candidate.engine = matrix.engine;
  candidate.policy = request.policy;
  candidate.scale = request.scale;
  candidate.eval_task = request.eval_task;
  candidate.created = iso_utc(world_.clock.wall());
  // A candidate that ended without success may be tried again; its successor gets a name of its own.
  const std::string base_id = control::candidate_id(candidate.file, candidate.recipe, candidate.image_old);
  for (int again = 1;; ++again) {
    candidate.id = again == 1 ? base_id : fmt::format("{}-{}", base_id, again);
    PAWL_ASSIGN(const std::optional<Candidate> known, find(candidate.id));
    if (!known) break;
    if (!control::terminal(known->state)) {
      if (known->image_new == request.image) return *known;
      return conflict(fmt::format("{} is being moved to {} already (candidate {})", request.recipe, known->image_new, known->id),
                      "wait for it, or stop it with pawl cr close " + std::to_string(known->cr));
    }
  }
  candidate.branch = "pawl/auto-" + candidate.id;
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    PAWL_TRY(
        world_.database.execute("INSERT INTO steward_candidate (id, recipe, state, version, record) VALUES (?1, ?2, ?3, ?4, ?5)",
                                {candidate.id, candidate.recipe, codec::enum_text(candidate.state), candidate.version, compact(codec::to_json(candidate))}));
    return absorb(candidate.id, nullptr, Event{.kind = EventKind::kSessionStarted, .at = candidate.created});
  }));
  PAWL_ASSIGN(const std::optional<Candidate> started, find(candidate.id));
  return *started;
}

Result<std::optional<Steward::Pending>> Steward::next_command(const std::string& id) {
  std::optional<Pending> next;
  PAWL_TRY(world_.database.query("SELECT seq, key, kind, version FROM steward_outbox WHERE candidate = ?1 AND state = 'pending' ORDER BY seq LIMIT 1", {id},
                                 [&](const store::Row& row) -> Status {
                                   const auto kind = codec::enum_value<control::CommandKind>(row.text(2));
                                   if (!kind) return internal_error("unknown command in the outbox: " + row.text(2));
                                   next = Pending{row.whole(0), {row.text(1), *kind, row.whole(3)}};
                                   return {};
                                 }));
  return next;
}

Status Steward::absorb(const std::string& id, const Pending* answered, const std::optional<Event>& event) {
  store::Database& db = world_.database;
  return db.transaction([&]() -> Status {
    if (answered != nullptr) PAWL_TRY(db.execute("UPDATE steward_outbox SET state = 'done' WHERE seq = ?1", {answered->seq}));
    if (!event) return {};
    PAWL_ASSIGN(const std::optional<Candidate> before, find(id));
    if (!before) return internal_error("no candidate " + id);
    const control::Decision decision = control::decide(*before, *event);
    const Candidate& after = decision.candidate;
    PAWL_TRY(db.execute("INSERT INTO steward_journal (candidate, at, event, state_before, state_after, ignored) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        {id, event->at, compact(codec::to_json(*event)), codec::enum_text(before->state), codec::enum_text(after.state), decision.ignored}));
    if (decision.ignored) return {};
    PAWL_TRY(db.execute("UPDATE steward_candidate SET state = ?2, version = ?3, record = ?4 WHERE id = ?1",
                        {id, codec::enum_text(after.state), after.version, compact(codec::to_json(after))}));
    if (decision.abandons_pending) PAWL_TRY(db.execute("UPDATE steward_outbox SET state = 'dropped' WHERE candidate = ?1 AND state = 'pending'", {id}));
    for (const control::Command& command : decision.commands) {
      PAWL_TRY(db.execute("INSERT INTO steward_outbox (key, candidate, kind, version, state) VALUES (?1, ?2, ?3, ?4, 'pending')",
                          {command.key, id, codec::enum_text(command.kind), command.version}));
    }
    return {};
  });
}

Result<bool> Steward::stopped_by_person(const Candidate& candidate) {
  using control::State;
  const bool ending =
      control::terminal(candidate.state) || candidate.state == State::kStopping || candidate.state == State::kCancelling || candidate.state == State::kClosing;
  if (ending || candidate.cr == 0) return false;
  PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(ChangeRequestId{candidate.cr}));
  return request.state == io::ChangeRequestState::kClosed && request.closed_by != "pawl";
}

Result<Candidate> Steward::run(const std::string& id, std::stop_token stop) {
  for (;;) {
    if (stop.stop_requested()) return cancelled();
    PAWL_ASSIGN(const std::optional<Candidate> candidate, find(id));
    if (!candidate) return not_found("no candidate " + id, "pawl upgrade status shows those of this workspace");
    // A person may close the request at any moment: looked at again before every effect.
    PAWL_ASSIGN(const bool closed, stopped_by_person(*candidate));
    if (closed) {
      PAWL_TRY(
          absorb(id, nullptr, Event{.kind = EventKind::kStopRequested, .at = iso_utc(world_.clock.wall()), .detail = "a person closed the change request"}));
      continue;
    }
    PAWL_ASSIGN(const std::optional<Pending> next, next_command(id));
    if (!next) {
      if (control::terminal(candidate->state)) return *candidate;
      return internal_error(fmt::format("candidate {} stands in {} with nothing to do", id, codec::enum_text(candidate->state)));
    }
    auto answer = perform(*candidate, next->command, stop);
    if (!answer) {
      if (answer.error().cls == ErrorClass::kCancelled) return std::move(answer).error();
      return std::move(answer).error().within(fmt::format("{} ({})", candidate->recipe, codec::enum_text(next->command.kind)));
    }
    if (*answer) {
      (*answer)->at = iso_utc(world_.clock.wall());
      if ((*answer)->kind != EventKind::kStopRequested) (*answer)->version = next->command.version;
    }
    PAWL_TRY(absorb(id, &*next, *answer));
  }
}

}  // namespace pawl::steward
