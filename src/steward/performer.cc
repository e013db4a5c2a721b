#include "steward/performer.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/describe.h"
#include "report/thread.h"
#include "steward/answers.h"

namespace pawl::steward {

using control::Candidate;
using control::CommandKind;
using control::Event;
using control::EventKind;
using model::Outcome;

Result<const Policy*> Performer::policy(const std::string& profile) {
  std::map<std::string, Policy>& known = cache().policies;
  if (const auto found = known.find(profile); found != known.end()) return &found->second;
  PAWL_ASSIGN(Policy loaded, load_policy(world_.assets, profile));
  return &known.emplace(profile, std::move(loaded)).first->second;
}

Result<std::shared_ptr<CommitCatalogue>> Performer::catalogue(const std::string& commit) { return cache().at(world_.forge, world_.assets, commit); }

Result<std::shared_ptr<const model::Baseline>> Performer::frozen_baseline(const std::string& id) {
  const auto known = baselines_.find(id);
  if (known != baselines_.end()) return known->second;
  std::string sha256;
  PAWL_TRY(world_.database.query("SELECT sha256 FROM steward_baseline WHERE candidate = ?1", {id}, [&](const store::Row& row) {
    sha256 = row.text(0);
    return Status();
  }));
  if (sha256.empty()) return std::shared_ptr<const model::Baseline>();
  std::shared_ptr<const model::Baseline> found = cache().baseline(sha256);
  if (!found) {
    PAWL_TRY(world_.database.query("SELECT record FROM steward_baseline WHERE candidate = ?1", {id}, [&](const store::Row& row) -> Status {
      PAWL_ASSIGN(const codec::Json json, codec::parse_json(row.text(0), "steward_baseline"));
      PAWL_ASSIGN(model::Baseline read, codec::from_json<model::Baseline>(json, "baseline"));
      found = cache().keep(sha256, std::move(read));
      return {};
    }));
  }
  baselines_.emplace(id, found);  // frozen: it never changes
  return found;
}

Result<std::string> Performer::main_head() {
  PAWL_ASSIGN(const std::optional<std::string> main, world_.forge.head("main"));
  if (!main) return internal_error("the forge lost its branch main");
  return *main;
}

Result<std::optional<Event>> Performer::look(const Candidate& c) {
  const auto seen = [](EventKind kind, std::string detail) { return std::optional<Event>(Event{.kind = kind, .detail = std::move(detail)}); };
  if (c.cr == 0 || c.state == control::State::kHandedOff) return std::optional<Event>();
  PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(ChangeRequestId{c.cr}));
  PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
  const bool ended = control::terminal(c.state), ending = control::ending(c.state);
  const bool closed = request.state == io::ChangeRequestState::kClosed;
  if (request.state == io::ChangeRequestState::kMerged) {
    return ended ? std::optional<Event>() : seen(EventKind::kRequestMerged, fmt::format("change request {} was merged", c.cr));
  }
  if (!ended && !ending && request.author != kAuthor) {
    return seen(EventKind::kOwnershipMismatch, fmt::format("change request {} belongs to {}, not to {}", c.cr, request.author, kAuthor));
  }
  if (std::ranges::find(request.labels, policy->handoff_label) != request.labels.end()) {
    return seen(EventKind::kHandoffRequested, fmt::format("the label {} was set", policy->handoff_label));
  }
  if (c.state == control::State::kClosed && !closed) {
    return seen(EventKind::kRequestReopened, fmt::format("change request {} was opened again", c.cr));
  }
  if (ended || ending) return std::optional<Event>();
  if (closed) return seen(EventKind::kRequestClosedBy, "a person closed the change request");
  if (request.head != c.head) {
    // A push of ours may have been made and not yet recorded: then its command is still pending, and will find out.
    PAWL_ASSIGN(const std::optional<Intent> intent, push_intent(c.id));
    if (intent && intent->version == c.version) return std::optional<Event>();
    return seen(EventKind::kHeadMoved, fmt::format("somebody else moved {} to {}", c.branch, request.head.substr(0, 12)));
  }
  return std::optional<Event>();
}

Status Performer::guard(const Candidate& c) {
  PAWL_ASSIGN(interrupted_, look(c));
  if (interrupted_) return conflict("a person was faster");
  taken_over_ = true;
  PAWL_TRY(world_.database.query("SELECT 1 FROM steward_candidate WHERE id = ?1 AND fence = ?2", {c.id, fence_}, [&](const store::Row&) {
    taken_over_ = false;
    return Status();
  }));
  if (taken_over_) return conflict(fmt::format("candidate {} was taken over by another steward", c.id), "nothing is lost: that one goes on");
  return {};
}

Status Performer::comment(const Candidate& c, const std::string& part, const std::string& body) {
  if (c.cr == 0) return {};
  PAWL_TRY(guard(c));
  return world_.forge.comment(ChangeRequestId{c.cr}, c.id + "/" + part, kAuthor, body);
}

Result<Answer> Performer::perform(const Candidate& c, const control::Command& command, std::int64_t fence, std::stop_token stop) {
  const ChangeRequestId request{c.cr};
  interrupted_.reset();
  fence_ = fence;
  taken_over_ = false;
  if (world_.defect) PAWL_TRY(world_.defect(command));
  const auto work = [&]() -> Result<Answer> {
    PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
    const report::Style& style = policy->style;
    switch (command.kind) {
      case CommandKind::kReviewOverlap:
        return review_overlap(c);
      case CommandKind::kPreflightBaseline:
        return preflight_baseline(c);
      case CommandKind::kCheckCapacity:
        return check_capacity(c);
      case CommandKind::kClaimFamily:
        return claim_family(c);
      case CommandKind::kStartSession:
        return happened(EventKind::kSessionStarted);
      case CommandKind::kResearch:
        return research(c);
      case CommandKind::kCommitImage:
        return commit_image(c, command);
      case CommandKind::kOpenRequest:
        return open_request(c);
      case CommandKind::kFreezeBaseline:
        return freeze_baseline(c);
      case CommandKind::kWriteBody:
        return write_body(c);
      case CommandKind::kDispatchSmoke:
        return dispatch(c, false);
      case CommandKind::kDispatchFinal:
        return dispatch(c, true);
      case CommandKind::kRerun:
        return rerun(c);
      case CommandKind::kCancelDoubled:
        return cancel_doubled(c);
      case CommandKind::kReportAttempt:
      case CommandKind::kFinishAttempts:
        PAWL_TRY(report_attempt(c));
        return done();
      case CommandKind::kAwaitRun:
        return await_run(c, std::move(stop));
      case CommandKind::kPostParked:
        if (c.parked) PAWL_TRY(comment(c, fmt::format("parked-{}", c.parked->session), report::parked_comment(style, c)));
        return done();
      case CommandKind::kWatchRun:
        return watch_run(c);
      case CommandKind::kPostResumed:
        PAWL_TRY(comment(c, fmt::format("resumed-{}", c.session), report::resumed_comment(style, c)));
        return done();
      case CommandKind::kJudgeSmoke:
        return judge_run(c, false);
      case CommandKind::kVerifyFinal:
        return judge_run(c, true);
      case CommandKind::kDiagnose:
        return diagnose(c);
      case CommandKind::kCommitRepair:
        return commit_repair(c, command);
      case CommandKind::kAppendChangelog:
        return append_changelog(c, command);
      case CommandKind::kCheckFinal:
        return check_final(c);
      case CommandKind::kAddLabel: {
        // Nothing that was proven holds for another main: asked again at the last moment.
        PAWL_ASSIGN(const std::string main, main_head());
        if (main != c.base) return Answer{Event{.kind = EventKind::kMainAdvanced, .commit = main}};
        PAWL_TRY(guard(c));
        if (!capacity_fresh(c)) return happened(EventKind::kCapacityExpired);
        PAWL_TRY(world_.forge.set_label(request, policy->sweep_label, true));
        return done();
      }
      case CommandKind::kRemoveLabel:
        if (c.cr == 0) return done();
        PAWL_TRY(guard(c));
        PAWL_TRY(world_.forge.set_label(request, policy->sweep_label, false));
        return done();
      case CommandKind::kPublishReport:
        PAWL_TRY(report_attempt(c));
        return happened(EventKind::kReportWritten);
      case CommandKind::kMarkReady:
        return mark_ready(c);
      case CommandKind::kPostReason:
        if (c.outcome == Outcome::kCapacityDeferred) PAWL_TRY(comment(c, "deferral", report::deferral_comment(style, c)));
        return done();
      case CommandKind::kPostPending: {
        // A request of ours may have been opened whose number was never stored: it is closed with the rest.
        Candidate known = c;
        if (known.cr == 0) {
          PAWL_ASSIGN(const std::vector<io::ChangeRequest> all, world_.forge.list());
          for (const io::ChangeRequest& opened : all) {
            if (opened.branch == c.branch && opened.author == kAuthor) known.cr = opened.number;
          }
        }
        PAWL_TRY(comment(known, "pending", report::pending_receipt(style, known)));
        return Answer{Event{.kind = EventKind::kReceiptPosted, .number = known.cr}};
      }
      case CommandKind::kCancelRuns:
        return cancel_runs(c);
      case CommandKind::kCloseRequest:
        return close_request(c);
      case CommandKind::kDeleteBranch:
        return delete_branch(c);
      case CommandKind::kCollectRuns:
        return collect_runs(c);
      case CommandKind::kPostReceipt: {
        PAWL_TRY(comment(c, "receipt", report::completion_receipt(style, c)));
        const std::string outcome = c.outcome ? codec::enum_text(*c.outcome) : "unknown";
        world_.progress.report({"receipt", fmt::format("{}; repairs {}; runs {}", outcome, c.repairs, c.runs.size())});
        return done();
      }
      case CommandKind::kPostReuse:
        if (c.rules.reuse_command && c.proof) PAWL_TRY(comment(c, "reuse", report::reuse_comment(style, c)));
        return done();
      case CommandKind::kReleaseClaim:
        PAWL_TRY(world_.database.execute("DELETE FROM steward_claim WHERE candidate = ?1", {c.id}));
        return happened(EventKind::kClaimReleased);
      case CommandKind::kWatchLate:
        return watch_late(c);
    }
    return internal_error("unknown command");
  };
  auto answer = work();
  if (!answer && interrupted_) {
    Answer by_person{std::move(interrupted_)};
    by_person.event->version = -1;  // it answers no command
    return by_person;
  }
  return answer;
}

Result<Answer> Performer::check_capacity(const Candidate& c) {
  PAWL_ASSIGN(const Policy* policy, this->policy(c.policy));
  PAWL_ASSIGN(const io::Capacity capacity, world_.capacity.check(c.runner, policy->utilisation_below_percent));
  world_.progress.report({"gate", capacity.pass ? "capacity: there is room" : "capacity: no room"});
  if (capacity.pass) capacity_seen_[c.id] = world_.clock.now();
  return happened(capacity.pass ? EventKind::kCapacityPassed : EventKind::kCapacityFailed);
}

bool Performer::capacity_fresh(const Candidate& c) const {
  const Nanos age = world_.clock.wall().since_epoch - Seconds{c.capacity_at};
  const auto seen = capacity_seen_.find(c.id);
  if (seen != capacity_seen_.end() && world_.clock.now() - seen->second > Seconds{world_.capacity_fresh_s}) return false;
  return age >= Seconds{-1} && age <= Seconds{world_.capacity_fresh_s};
}

Result<Answer> Performer::claim_family(const Candidate& c) {
  const std::string family = c.file + "\n" + c.recipe;
  std::string owner;
  PAWL_TRY(world_.database.transaction([&]() -> Status {
    PAWL_TRY(world_.database.execute("INSERT OR IGNORE INTO steward_claim (family, candidate, since) VALUES (?1, ?2, ?3)",
                                     {family, c.id, iso_utc(world_.clock.wall())}));
    return world_.database.query("SELECT candidate FROM steward_claim WHERE family = ?1", {family}, [&](const store::Row& row) {
      owner = row.text(0);
      return Status();
    });
  }));
  if (owner == c.id) return happened(EventKind::kClaimWon);
  return refused(EventKind::kClaimLost, Outcome::kDuplicate, "claim-lost", fmt::format("candidate {} moves {} already", owner, c.recipe));
}

Result<Answer> Performer::mark_ready(const Candidate& c) {
  PAWL_TRY(guard(c));
  PAWL_TRY(world_.forge.set_ready(ChangeRequestId{c.cr}, true));
  // Confirmed only by what is there now: a head that moved at the last moment is not the one that was verified.
  PAWL_ASSIGN(const io::ChangeRequest now, world_.forge.get(ChangeRequestId{c.cr}));
  if (now.head != c.head) {
    return Answer{Event{.kind = EventKind::kHeadMoved, .detail = fmt::format("somebody else moved {} to {}", c.branch, now.head.substr(0, 12))}};
  }
  if (now.state == io::ChangeRequestState::kClosed) return Answer{Event{.kind = EventKind::kRequestClosedBy, .detail = "a person closed the change request"}};
  world_.progress.report({"cr", fmt::format("change request {} is ready for review", c.cr)});
  return happened(EventKind::kReadyConfirmed);
}

}  // namespace pawl::steward
