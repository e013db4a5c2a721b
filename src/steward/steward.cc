#include "steward/steward.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/describe_text.h"
#include "model/image.h"

namespace pawl::steward {
namespace {

using codec::Json;
using control::Candidate;
using control::Event;
using control::EventKind;

std::optional<control::CommandKind> command_kind(const std::string& text) {
  static const std::map<std::string, control::CommandKind> kinds = [] {
    std::map<std::string, control::CommandKind> all;
    for (const std::string& name : codec::enum_texts<control::CommandKind>()) all.emplace(name, *codec::enum_value<control::CommandKind>(name));
    return all;
  }();
  const auto found = kinds.find(text);
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

/// Events of a forge are hints: whoever forges, repeats or reorders them gains nothing, because the request is read.
bool hint(EventKind kind) {
  switch (kind) {
    case EventKind::kRequestClosedBy:
    case EventKind::kHandoffRequested:
    case EventKind::kRequestMerged:
    case EventKind::kHeadMoved:
    case EventKind::kRequestReopened:
    case EventKind::kRunUpdated:
    case EventKind::kRunSucceeded:
    case EventKind::kRunFailed:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<Candidate> parse_candidate(const std::string& text) {
  PAWL_ASSIGN(const Json json, codec::parse_json(text, "steward_candidate"));
  auto candidate = codec::from_json<Candidate>(json, "candidate");
  if (candidate) return candidate;
  Json whole = codec::to_json(Candidate{});
  for (auto it = json.begin(); it != json.end(); ++it) whole[it.key()] = it.value();
  const Json attempt = codec::to_json(control::Attempt{});
  for (Json& given : whole["attempts"]) {
    Json filled = attempt;
    for (auto it = given.begin(); it != given.end(); ++it) filled[it.key()] = it.value();
    given = std::move(filled);
  }
  return codec::from_json<Candidate>(whole, "candidate");
}

store::Schema steward_schema() {
  return {
      "steward",
      {"CREATE TABLE steward_candidate (id TEXT PRIMARY KEY, recipe TEXT NOT NULL, state TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_journal (seq INTEGER PRIMARY KEY AUTOINCREMENT, candidate TEXT NOT NULL, at TEXT NOT NULL, event TEXT NOT NULL,"
       " state_before TEXT NOT NULL, state_after TEXT NOT NULL, ignored INTEGER NOT NULL) STRICT;"
       "CREATE TABLE steward_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, candidate TEXT NOT NULL, kind TEXT NOT NULL,"
       " version INTEGER NOT NULL, state TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_baseline (candidate TEXT PRIMARY KEY, record TEXT NOT NULL, sha256 TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_proposal (candidate TEXT NOT NULL, attempt INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (candidate, attempt)) STRICT",
       "ALTER TABLE steward_candidate ADD COLUMN holder TEXT NOT NULL DEFAULT '';"
       "ALTER TABLE steward_candidate ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;"
       "ALTER TABLE steward_candidate ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0;"
       "ALTER TABLE steward_candidate ADD COLUMN initial TEXT NOT NULL DEFAULT '';"
       "ALTER TABLE steward_journal ADD COLUMN answers TEXT NOT NULL DEFAULT '';"
       "ALTER TABLE steward_outbox ADD COLUMN due INTEGER NOT NULL DEFAULT 0;"
       "ALTER TABLE steward_outbox ADD COLUMN rank INTEGER NOT NULL DEFAULT 1;"
       "ALTER TABLE steward_outbox ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;"
       "CREATE INDEX steward_outbox_pending ON steward_outbox (candidate, rank, seq) WHERE state = 'pending';"
       "CREATE INDEX steward_journal_candidate ON steward_journal (candidate, seq);"
       "CREATE TABLE steward_inbox (delivery TEXT PRIMARY KEY, candidate TEXT NOT NULL, event TEXT NOT NULL, state TEXT NOT NULL) STRICT;"
       "CREATE INDEX steward_inbox_pending ON steward_inbox (candidate) WHERE state = 'pending';"
       "CREATE TABLE steward_claim (family TEXT PRIMARY KEY, candidate TEXT NOT NULL, since TEXT NOT NULL) STRICT;"
       "CREATE TABLE steward_push (candidate TEXT PRIMARY KEY, version INTEGER NOT NULL, request TEXT NOT NULL, base TEXT NOT NULL) STRICT"}};
}

std::int64_t Steward::now_s() const { return std::chrono::floor<std::chrono::seconds>(world_.clock.wall().since_epoch).count(); }

Result<std::optional<Candidate>> Steward::find(const std::string& id) {
  std::optional<Candidate> found;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_candidate WHERE id = ?1", {id}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(found, parse_candidate(row.text(0)));
    return {};
  }));
  return found;
}

Result<std::vector<Candidate>> Steward::list() {
  std::vector<Candidate> all;
  PAWL_TRY(world_.database.query("SELECT record FROM steward_candidate ORDER BY rowid", {}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(Candidate candidate, parse_candidate(row.text(0)));
    all.push_back(std::move(candidate));
    return {};
  }));
  return all;
}

Result<Candidate> Steward::start(const StartRequest& request) {
  PAWL_ASSIGN(const Policy* policy, performer_.policy(request.policy));
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return not_found("the forge has no branch main", "import a catalogue first: pawl demo does");
  PAWL_ASSIGN(const std::shared_ptr<CommitCatalogue> catalogue, performer_.catalogue(*main));
  PAWL_ASSIGN(const RecipeMatrix* matrix, catalogue->matrix(request.recipe));
  PAWL_TRY(model::parse_image(request.image));
  if (request.accept) PAWL_TRY(request.accept(matrix->image));

  Candidate candidate;
  candidate.recipe = request.recipe;
  candidate.file = matrix->file;
  candidate.image_old = matrix->image;
  candidate.image_new = request.image;
  candidate.runner = matrix->runner;
  candidate.engine = matrix->engine;
  candidate.policy = request.policy;
  candidate.rules = policy->rules;
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
  Held held{1, candidate};
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    const std::string record = codec::described_text(candidate);
    PAWL_TRY(world_.database.execute(
        "INSERT INTO steward_candidate (id, recipe, state, version, record, initial, holder, fence, lease_until) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, 1, ?7)",
        {candidate.id, candidate.recipe, codec::enum_text(candidate.state), candidate.version, record, world_.holder, now_s() + kLeaseSeconds}));
    return absorb(held, nullptr, Event{.kind = EventKind::kTick});
  }));
  Held& kept = held_[candidate.id] = std::move(held);
  return kept.candidate;
}

Result<Steward::Glance> Steward::glance(const std::string& id) {
  std::optional<Glance> seen;
  PAWL_TRY(world_.database.query(
      "SELECT c.fence, c.lease_until, EXISTS (SELECT 1 FROM steward_inbox i WHERE i.candidate = c.id AND i.state = 'pending'),"
      " o.seq, o.tries, o.key, o.kind, o.version, o.due FROM steward_candidate c LEFT JOIN steward_outbox o ON o.seq ="
      " (SELECT p.seq FROM steward_outbox p WHERE p.candidate = c.id AND p.state = 'pending' ORDER BY p.rank, p.seq LIMIT 1) WHERE c.id = ?1",
      {id}, [&](const store::Row& row) -> Status {
        seen = Glance{row.whole(0), row.whole(1), row.whole(2) != 0, std::nullopt};
        if (row.is_null(3)) return {};
        const auto kind = command_kind(row.text(6));
        if (!kind) return internal_error("unknown command in the outbox: " + row.text(6));
        seen->next = Pending{row.whole(3), row.whole(4), {row.text(5), *kind, row.whole(7), row.whole(8)}};
        return {};
      }));
  if (!seen) return not_found("no candidate " + id, "pawl upgrade status shows those of this workspace");
  return *seen;
}

Result<std::vector<control::Command>> Steward::pending(const std::string& id) {
  std::vector<control::Command> all;
  PAWL_TRY(world_.database.query("SELECT key, kind, version, due FROM steward_outbox WHERE candidate = ?1 AND state = 'pending' ORDER BY rank, seq", {id},
                                 [&](const store::Row& row) -> Status {
                                   const auto kind = command_kind(row.text(1));
                                   if (!kind) return internal_error("unknown command in the outbox: " + row.text(1));
                                   all.push_back({row.text(0), *kind, row.whole(2), row.whole(3)});
                                   return {};
                                 }));
  return all;
}

Result<Steward::Held*> Steward::take(const std::string& id) {
  const std::int64_t now = now_s();
  std::string record, before;
  std::int64_t fence = 0;
  bool taken = false;
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    PAWL_TRY(world_.database.query("SELECT record, holder, fence, lease_until FROM steward_candidate WHERE id = ?1", {id}, [&](const store::Row& row) {
      record = row.text(0);
      before = row.text(1);
      fence = row.whole(2) + 1;
      taken = before.empty() || before == world_.holder || world_.alone || row.whole(3) < now;
      return Status();
    }));
    if (record.empty()) return not_found("no candidate " + id, "pawl upgrade status shows those of this workspace");
    if (!taken) return {};
    return world_.database.execute("UPDATE steward_candidate SET holder = ?2, fence = ?3, lease_until = ?4 WHERE id = ?1",
                                   {id, world_.holder, fence, now + kLeaseSeconds});
  }));
  if (!taken) return nullptr;
  PAWL_ASSIGN(Candidate candidate, parse_candidate(record));
  Held& held = held_[id] = Held{fence, std::move(candidate)};
  if (held.candidate.session_state == control::SessionState::kWorking && !control::terminal(held.candidate.state)) {
    // Whoever worked on it neither finished nor parked: that session is over, and this one goes on with its ledger.
    PAWL_TRY(absorb(held, nullptr, Event{.kind = EventKind::kSessionEnded, .reason = before.empty() ? "interrupted" : "crash"}));
  }
  return &held;
}

Status Steward::let_go(const std::string& id) {
  const auto known = held_.find(id);
  if (known == held_.end()) return {};
  const std::int64_t fence = known->second.fence;
  held_.erase(known);
  return world_.database.execute("UPDATE steward_candidate SET holder = '', lease_until = 0 WHERE id = ?1 AND fence = ?2", {id, fence});
}

Status Steward::absorb(Held& held, const Pending* answered, std::optional<Event> event, const std::string& delivery) {
  store::Database& db = world_.database;
  const std::string& id = held.candidate.id;
  std::optional<control::Decision> decision;
  PAWL_TRY(db.transaction([&]() -> Status {
    if (answered != nullptr) PAWL_TRY(db.execute("UPDATE steward_outbox SET state = 'done' WHERE seq = ?1", {answered->seq}));
    if (!delivery.empty()) PAWL_TRY(db.execute("UPDATE steward_inbox SET state = 'done' WHERE delivery = ?1", {delivery}));
    if (!event) return {};
    const WallTime now = world_.clock.wall();
    event->at = iso_utc(now);
    decision = world_.table == nullptr ? control::decide(held.candidate, *event, now) : control::decide(*world_.table, held.candidate, *event, now);
    const Candidate& after = decision->candidate;
    PAWL_TRY(db.execute("INSERT INTO steward_journal (candidate, at, event, state_before, state_after, ignored, answers) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                        {id, event->at, codec::described_text(*event), codec::enum_text(held.candidate.state), codec::enum_text(after.state), decision->ignored,
                         answered == nullptr ? std::string() : codec::enum_text(answered->command.kind)}));
    if (decision->ignored) return {};
    // The fence: a holder that lost the candidate in the meantime writes nothing.
    PAWL_TRY(db.execute("UPDATE steward_candidate SET state = ?2, version = ?3, record = ?4, lease_until = ?5 WHERE id = ?1 AND fence = ?6",
                        {id, codec::enum_text(after.state), after.version, codec::described_text(after), now_s() + kLeaseSeconds, held.fence}));
    if (db.changes() != 1) return conflict(fmt::format("candidate {} was taken over by another steward", id), "nothing is lost: that one goes on");
    if (decision->abandons_pending) PAWL_TRY(db.execute("UPDATE steward_outbox SET state = 'dropped' WHERE candidate = ?1 AND state = 'pending'", {id}));
    for (const control::Command& command : decision->commands) {
      PAWL_TRY(db.execute("INSERT INTO steward_outbox (key, candidate, kind, version, state, due, rank) VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6)",
                          {command.key, id, codec::enum_text(command.kind), command.version, command.due, decision->overlay ? 0 : 1}));
    }
    return {};
  }));
  if (!decision) return {};
  const Candidate before = std::exchange(held.candidate, decision->candidate);
  if (world_.observer) world_.observer({before, *event, *decision});
  return {};
}

Status Steward::take_inbox(Held& held) {
  std::optional<std::pair<std::string, Event>> next;
  PAWL_TRY(world_.database.query("SELECT delivery, event FROM steward_inbox WHERE candidate = ?1 AND state = 'pending' ORDER BY rowid LIMIT 1",
                                 {held.candidate.id}, [&](const store::Row& row) -> Status {
                                   PAWL_ASSIGN(const Json json, codec::parse_json(row.text(1), "steward_inbox"));
                                   PAWL_ASSIGN(Event event, codec::from_json<Event>(json, "event"));
                                   next.emplace(row.text(0), std::move(event));
                                   return {};
                                 }));
  if (!next) return {};
  std::optional<Event> event = std::move(next->second);
  if (hint(event->kind)) {
    PAWL_ASSIGN(event, performer_.look(held.candidate));
  }
  return absorb(held, nullptr, std::move(event), next->first);
}

Result<bool> Steward::deliver(const std::string& delivery, const std::string& id, const Event& event) {
  PAWL_TRY(world_.database.execute("INSERT OR IGNORE INTO steward_inbox (delivery, candidate, event, state) VALUES (?1, ?2, ?3, 'pending')",
                                   {delivery, id, codec::described_text(event)}));
  return world_.database.changes() == 1;
}

Status Steward::release(const std::string& id) {
  PAWL_ASSIGN(const std::optional<Candidate> candidate, find(id));
  if (!candidate) return not_found("no candidate " + id, "pawl upgrade status shows those of this workspace");
  if (!control::terminal(candidate->state)) {
    return conflict(fmt::format("candidate {} has not ended ({}): its recipe stays claimed", id, codec::enum_text(candidate->state)),
                    "stop it first: pawl upgrade stop " + id);
  }
  return world_.database.execute("DELETE FROM steward_claim WHERE candidate = ?1", {id});
}

Result<Steward::Stepped> Steward::trouble(Held& held, const Pending& pending, Error error) {
  if (error.cls == ErrorClass::kCancelled) return error;
  const bool outside = error.cls == ErrorClass::kTransient || error.cls == ErrorClass::kUnknownOutcome;
  const std::string doing = fmt::format("{} ({})", held.candidate.recipe, codec::enum_text(pending.command.kind));
  if (!outside && error.cls != ErrorClass::kInternal) return std::move(error).within(doing);
  const std::int64_t tries = pending.tries + 1;
  if (!outside && tries >= kInternalTries && !control::ending(held.candidate.state) && !control::terminal(held.candidate.state)) {
    PAWL_TRY(absorb(held, &pending, Event{.kind = EventKind::kUnexpectedError, .detail = fmt::format("{}: {}", doing, error.message)}));
    return Stepped{};
  }
  // A refusal of the outside is asked again, each time after twice as long; the effect stays in the outbox.
  const std::int64_t again = outside && tries < kTransientTries ? now_s() + std::min<std::int64_t>(std::int64_t{1} << tries, 960) : 0;
  PAWL_TRY(world_.database.execute("UPDATE steward_outbox SET tries = ?2, due = ?3 WHERE seq = ?1", {pending.seq, again == 0 && outside ? 0 : tries, again}));
  if (again == 0) return std::move(error).within(doing);
  world_.progress.report({"wait", fmt::format("{}: {}; again in {} s", doing, error.message, again - now_s())});
  return Stepped{};
}

Result<Steward::Stepped> Steward::step(const std::string& id, std::stop_token stop) {
  PAWL_ASSIGN(Glance stands, glance(id));
  const auto known = held_.find(id);
  Held* held = known == held_.end() ? nullptr : &known->second;
  if (held == nullptr || held->fence != stands.fence) {
    // Somebody may have taken it after the lease ran out; then what we remember is worth nothing.
    if (held != nullptr) held_.erase(known);
    PAWL_ASSIGN(held, take(id));
    if (held == nullptr) return Stepped{Progress::kBusy};
    PAWL_ASSIGN(stands, glance(id));
  } else if (stands.lease_until < now_s() + kLeaseSeconds / 2) {
    PAWL_TRY(world_.database.execute("UPDATE steward_candidate SET lease_until = ?3 WHERE id = ?1 AND fence = ?2", {id, held->fence, now_s() + kLeaseSeconds}));
  }
  if (stands.told) {
    PAWL_TRY(take_inbox(*held));
    return Stepped{};
  }
  const std::optional<Pending>& next = stands.next;
  if (!next) {
    if (control::terminal(held->candidate.state)) return Stepped{Progress::kEnded};
    return internal_error(fmt::format("candidate {} stands in {} with nothing to do", id, codec::enum_text(held->candidate.state)));
  }
  const bool due = next->command.due <= now_s();
  if (due || held->candidate.parked) {
    // A person may have closed the request, or taken it over, at any moment: looked at again before everything.
    auto seen = performer_.look(held->candidate);
    if (!seen) return trouble(*held, *next, std::move(seen).error());
    if (*seen) {
      PAWL_TRY(absorb(*held, nullptr, std::move(*seen)));
      return Stepped{};
    }
  }
  if (!due) return Stepped{Progress::kWaiting, next->command.due};
  auto answer = performer_.perform(held->candidate, next->command, held->fence, std::move(stop));
  if (!answer) return trouble(*held, *next, std::move(answer).error());
  if (answer->later_s > 0) {
    PAWL_TRY(world_.database.execute("UPDATE steward_outbox SET due = ?2 WHERE seq = ?1", {next->seq, now_s() + answer->later_s}));
    return Stepped{};
  }
  if (answer->event && !answer->event->version) answer->event->version = next->command.version;
  if (answer->event && *answer->event->version < 0) answer->event->version.reset();  // what a person did, seen on the way
  PAWL_TRY(absorb(*held, &*next, std::move(answer->event)));
  return Stepped{};
}

Result<Candidate> Steward::run(const std::string& id, std::stop_token stop) {
  for (;;) {
    if (stop.stop_requested()) {
      PAWL_TRY(let_go(id));
      return cancelled();
    }
    auto stepped = step(id, stop);
    if (!stepped) {
      const Status gone = let_go(id);  // the first error is the one to tell
      return std::move(stepped).error();
    }
    if (stepped->progress == Progress::kWorked) continue;
    if (stepped->progress == Progress::kBusy)
      return conflict(fmt::format("another steward works on candidate {}", id), "wait for it, or look: pawl upgrade watch");
    PAWL_ASSIGN(const std::optional<Candidate> candidate, find(id));
    const bool parked = candidate->parked.has_value();
    if (stepped->progress == Progress::kEnded || control::terminal(candidate->state) || parked) {
      PAWL_TRY(let_go(id));
      return *candidate;
    }
    world_.clock.sleep_for(Seconds{stepped->due - now_s()}, stop);
  }
}

Result<std::int64_t> Steward::pass(std::stop_token stop) {
  std::vector<std::string> ids;
  PAWL_TRY(world_.database.query("SELECT DISTINCT candidate FROM steward_outbox WHERE state = 'pending' ORDER BY candidate", {}, [&](const store::Row& row) {
    ids.push_back(row.text(0));
    return Status();
  }));
  std::int64_t first = 0;
  for (const std::string& id : ids) {
    for (;;) {
      if (stop.stop_requested()) return cancelled();
      PAWL_ASSIGN(const Stepped stepped, step(id, stop));
      if (stepped.progress == Progress::kWorked) continue;
      if (stepped.progress == Progress::kWaiting && (first == 0 || stepped.due < first)) first = stepped.due;
      // What is only pausing stays held: letting go of it would end its session.
      const auto held = held_.find(id);
      if (held != held_.end() && (control::terminal(held->second.candidate.state) || held->second.candidate.parked)) PAWL_TRY(let_go(id));
      break;
    }
  }
  return first;
}

}  // namespace pawl::steward
