#include <fmt/format.h>

#include <algorithm>

#include "codec/describe.h"
#include "report/thread.h"
#include "steward/answers.h"

// The end: runs cancelled, request closed, branch deleted, everything that ran listed.
namespace pawl::steward {

using control::Candidate;
using control::Event;
using control::EventKind;

Result<std::vector<io::RunStatus>> Performer::owned_runs(const Candidate& c) {
  io::OwnedQuery query{.marker_prefix = fmt::format("pawl-{}-", c.id), .request = c.cr, .branch = c.branch};
  if (!c.head.empty()) query.heads.push_back(c.head);
  for (const control::Attempt& attempt : c.attempts) {
    if (!attempt.head.empty() && std::ranges::find(query.heads, attempt.head) == query.heads.end()) query.heads.push_back(attempt.head);
  }
  PAWL_ASSIGN(std::vector<io::RunStatus> found, world_.runner.owned(query));
  // The ids of retried candidates begin alike ("…-2"): a marker of another one is not ours.
  std::erase_if(found, [&](const io::RunStatus& status) {
    const std::string_view rest = std::string_view(status.marker).substr(std::min(status.marker.size(), query.marker_prefix.size()));
    return status.marker.starts_with(query.marker_prefix) && !rest.starts_with("smoke-") && !rest.starts_with("final-");
  });
  return found;
}

Result<io::RunStatus> Performer::end_run(const Candidate& c, RunId run) {
  PAWL_TRY(guard(c));
  PAWL_TRY(world_.runner.cancel(run));
  // Where this process drives the runs, nobody else would end it.
  return world_.runner.runs_by_itself() ? world_.runner.status(run) : world_.runner.wait(run, {});
}

Result<Answer> Performer::cancel_runs(const Candidate& c) {
  // Listed anew: a run may exist whose number was never stored.
  PAWL_ASSIGN(std::vector<io::RunStatus> owned, owned_runs(c));
  for (const std::int64_t known : c.runs) {
    if (std::ranges::any_of(owned, [&](const io::RunStatus& status) { return status.id.value == known; })) continue;
    auto status = world_.runner.status(RunId{known});
    if (status)
      owned.push_back(std::move(*status));
    else if (status.error().cls != ErrorClass::kNotFound)
      return std::move(status).error();
  }
  Event ended{.kind = EventKind::kRunsEnded};
  bool active = false;
  for (io::RunStatus& status : owned) {
    if (!io::terminal(status.state)) {
      PAWL_ASSIGN(status, end_run(c, status.id));
      world_.progress.report({"stop", fmt::format("run {} is {}", status.id.value, codec::enum_text(status.state))});
    }
    active = active || !io::terminal(status.state);
    ended.owned.push_back(owned_run(status));
  }
  if (active) ended.kind = EventKind::kRunsActive;
  return Answer{std::move(ended)};
}

Result<Answer> Performer::close_request(const Candidate& c) {
  if (c.cr == 0) return done();
  const ChangeRequestId id{c.cr};
  PAWL_ASSIGN(const io::ChangeRequest request, world_.forge.get(id));
  // A request that a person closed stays as the person left it.
  if (request.state == io::ChangeRequestState::kClosed || request.state == io::ChangeRequestState::kMerged) return done();
  if (request.state == io::ChangeRequestState::kReady) {
    PAWL_TRY(guard(c));
    PAWL_TRY(world_.forge.set_ready(id, false));
  }
  PAWL_TRY(guard(c));
  PAWL_TRY(world_.forge.close(id, kAuthor));
  return done();
}

Result<Answer> Performer::delete_branch(const Candidate& c) {
  const auto kept = [&](std::string reason, const std::string& detail) {
    world_.progress.report({"cr", fmt::format("branch {} kept: {}", c.branch, detail)});
    return Answer{Event{.kind = EventKind::kBranchKept, .reason = std::move(reason), .detail = detail}};
  };
  PAWL_ASSIGN(const std::optional<std::string> at, world_.forge.head(c.branch));
  if (!at) return happened(EventKind::kRequestClosed);
  if (c.outcome && std::ranges::find(c.rules.keep_branch, *c.outcome) != c.rules.keep_branch.end()) return kept("policy", "for review, as the policy has it");
  std::string ours = c.head;
  if (*at != ours) {
    // A push of ours may have been made and never recorded: its intent was.
    PAWL_ASSIGN(const std::optional<Intent> intent, push_intent(c.id));
    if (!intent) return kept("not-ours", "somebody else moved it");
    PAWL_TRY(guard(c));
    auto proven = *at == intent->request.parent ? Result<std::string>(*at) : world_.forge.commit(intent->request);
    // A commit that the forge refuses for good was never made: what stands there is not ours.
    if (!proven && (proven.error().cls == ErrorClass::kConflict || proven.error().cls == ErrorClass::kInvalid))
      return kept("not-ours", "somebody else moved it");
    if (!proven) return std::move(proven).error();
    ours = *proven;
  }
  PAWL_TRY(guard(c));
  PAWL_ASSIGN(const bool gone, world_.forge.delete_branch(c.branch, ours));
  if (!gone) return kept("not-ours", "somebody else moved it");
  world_.progress.report({"cr", c.cr == 0 ? fmt::format("branch {} deleted", c.branch) : fmt::format("change request {} closed, branch deleted", c.cr)});
  return happened(EventKind::kRequestClosed);
}

Result<Answer> Performer::collect_runs(const Candidate& c) {
  auto owned = owned_runs(c);
  if (!owned) {
    // A receipt that says "unknown" is better than none; what cannot be listed now is asked for again first.
    if (owned.error().cls == ErrorClass::kTransient || owned.error().cls == ErrorClass::kUnknownOutcome) return std::move(owned).error();
    return Answer{Event{.kind = EventKind::kRunsDiscovered, .reason = "incomplete", .detail = owned.error().message}};
  }
  Event event{.kind = EventKind::kRunsDiscovered};
  for (const io::RunStatus& status : *owned) event.owned.push_back(owned_run(status));
  return Answer{std::move(event)};
}

Result<Answer> Performer::watch_late(const Candidate& c) {
  PAWL_ASSIGN(const std::vector<io::RunStatus> owned, owned_runs(c));
  Event late{.kind = EventKind::kLateRun};
  bool active = false;
  for (io::RunStatus status : owned) {
    const bool known = std::ranges::find(c.runs, status.id.value) != c.runs.end();
    // One that turned up after the others were cancelled may be listed in the receipt, and goes on all the same.
    const bool live = !io::terminal(status.state) && c.state == control::State::kClosed;
    if (live) {
      PAWL_ASSIGN(status, end_run(c, status.id));
      active = active || !io::terminal(status.state);
    }
    if (known && !live) continue;
    late.run = status.id.value;
    late.owned.push_back(owned_run(status));
  }
  if (active) return Answer{{}, c.rules.cancel_retry_s};
  if (late.owned.empty()) return done();
  return Answer{std::move(late)};
}

}  // namespace pawl::steward
