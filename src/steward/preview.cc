#include "steward/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "codec/describe.h"

namespace pawl::steward {

using control::Candidate;
using control::Command;
using control::CommandKind;
using control::Event;
using control::EventKind;

namespace {

PreviewedStep effect_of(const Candidate& c, CommandKind kind, const Policy& policy) {
  const auto changes = [&](std::string text) { return PreviewedStep{codec::enum_text(kind), std::move(text), true}; };
  const auto reads = [&](std::string text) { return PreviewedStep{codec::enum_text(kind), std::move(text), false}; };
  const std::string request = fmt::format("change request {}", c.cr);
  const auto posts = [&](const char* what) {
    return c.cr == 0 ? reads("nothing: there is no change request") : changes(fmt::format("comment on {}: {}", request, what));
  };
  switch (kind) {
    case CommandKind::kReviewOverlap:
      return reads("reads main and the open change requests");
    case CommandKind::kPreflightBaseline:
      return reads(fmt::format("asks for a published result of {} on every point", c.image_old));
    case CommandKind::kCheckCapacity:
      return reads(fmt::format("asks whether {} has room (less than {} % in use)", c.runner, policy.utilisation_below_percent));
    case CommandKind::kClaimFamily:
      return changes(fmt::format("claims the recipe {}", c.recipe));
    case CommandKind::kStartSession:
      return reads("starts a session");
    case CommandKind::kResearch:
      return reads("looks again at overlap and baseline");
    case CommandKind::kCommitImage:
      return changes(fmt::format("pushes branch {}: one image line of {}, {}", c.branch, c.file, c.image_new));
    case CommandKind::kOpenRequest:
      return changes(fmt::format("opens a draft change request for {}", c.branch));
    case CommandKind::kFreezeBaseline:
      return changes("stores the baseline for good");
    case CommandKind::kWriteBody:
      return changes("writes the body of " + request);
    case CommandKind::kDispatchSmoke:
      return changes(fmt::format("starts the smoke run at head {}", c.head.substr(0, 12)));
    case CommandKind::kDispatchFinal:
      return changes(fmt::format("starts the full sweep at head {}", c.head.substr(0, 12)));
    case CommandKind::kRerun:
      return changes("runs the same run again on the same head");
    case CommandKind::kCancelDoubled:
      return changes("cancels every active run but the newest attempt's");
    case CommandKind::kReportAttempt:
    case CommandKind::kFinishAttempts:
      return c.attempts.empty() ? reads("nothing: there is no attempt") : posts("the newest attempt as it is now");
    case CommandKind::kAwaitRun:
    case CommandKind::kWatchRun:
      return reads(c.attempts.empty() ? "waits for the run" : fmt::format("waits for run {}", c.attempts.back().run));
    case CommandKind::kPostParked:
      return posts("parked");
    case CommandKind::kPostResumed:
      return posts("resumed");
    case CommandKind::kJudgeSmoke:
    case CommandKind::kVerifyFinal:
      return reads("judges what the run left");
    case CommandKind::kDiagnose:
      return reads("asks the planner for a repair");
    case CommandKind::kCommitRepair:
      return changes(fmt::format("pushes the repair to {}", c.branch));
    case CommandKind::kAppendChangelog:
      return changes(fmt::format("pushes one changelog entry to {}, on main's present bytes", c.branch));
    case CommandKind::kCheckFinal:
      return reads("proves the head: changelog prefix, gate, matrix, diff; baseline covered");
    case CommandKind::kAddLabel:
      return changes(fmt::format("sets the label {} on {}", policy.sweep_label, request));
    case CommandKind::kRemoveLabel:
      return c.cr == 0 ? reads("nothing: there is no change request") : changes(fmt::format("takes the label {} off {}", policy.sweep_label, request));
    case CommandKind::kPublishReport:
      return posts("the final report");
    case CommandKind::kMarkReady:
      return changes(fmt::format("marks {} ready for review", request));
    case CommandKind::kPostReason:
      return c.outcome == model::Outcome::kCapacityDeferred ? posts("why it is deferred") : reads("nothing: the receipt says why");
    case CommandKind::kPostPending:
      return posts("cleanup pending");
    case CommandKind::kCancelRuns:
      return changes("cancels every owned run that has not ended, and lists all of them");
    case CommandKind::kCloseRequest:
      return c.cr == 0 ? reads("nothing: there is no change request") : changes(fmt::format("closes {} unless a person did", request));
    case CommandKind::kDeleteBranch:
      return changes(fmt::format(
          "deletes branch {} if it is still at a commit of ours{}", c.branch,
          c.outcome && std::ranges::find(c.rules.keep_branch, *c.outcome) != c.rules.keep_branch.end() ? "; the policy keeps it for this outcome" : ""));
    case CommandKind::kCollectRuns:
      return reads("lists every owned run by marker, head and request");
    case CommandKind::kPostReceipt:
      return posts("the receipt");
    case CommandKind::kPostReuse:
      return c.rules.reuse_command ? posts("the reuse command") : reads("nothing: the policy leaves the reuse command to a maintainer");
    case CommandKind::kReleaseClaim:
      return changes(fmt::format("lets go of the recipe {}", c.recipe));
    case CommandKind::kWatchLate:
      return reads("looks for runs that turn up late");
  }
  return reads("");
}

}  // namespace

std::optional<EventKind> success_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::kReviewOverlap:
      return EventKind::kOverlapClear;
    case CommandKind::kPreflightBaseline:
    case CommandKind::kFreezeBaseline:
      return EventKind::kBaselineReady;
    case CommandKind::kCheckCapacity:
      return EventKind::kCapacityPassed;
    case CommandKind::kClaimFamily:
      return EventKind::kClaimWon;
    case CommandKind::kStartSession:
      return EventKind::kSessionStarted;
    case CommandKind::kResearch:
    case CommandKind::kDiagnose:
      return EventKind::kPlanProposed;
    case CommandKind::kCommitImage:
    case CommandKind::kCommitRepair:
      return EventKind::kEditPushed;
    case CommandKind::kOpenRequest:
      return EventKind::kCrOpened;
    case CommandKind::kWriteBody:
      return EventKind::kBodyWritten;
    case CommandKind::kDispatchSmoke:
    case CommandKind::kDispatchFinal:
    case CommandKind::kRerun:
      return EventKind::kRunDispatched;
    case CommandKind::kAwaitRun:
      return EventKind::kRunSucceeded;
    case CommandKind::kWatchRun:
      return EventKind::kWaitEnded;
    case CommandKind::kJudgeSmoke:
    case CommandKind::kVerifyFinal:
      return EventKind::kEvidenceAccepted;
    case CommandKind::kAppendChangelog:
    case CommandKind::kCheckFinal:
      return EventKind::kGatePassed;
    case CommandKind::kPublishReport:
      return EventKind::kReportWritten;
    case CommandKind::kMarkReady:
      return EventKind::kReadyConfirmed;
    case CommandKind::kPostPending:
      return EventKind::kReceiptPosted;
    case CommandKind::kCancelRuns:
      return EventKind::kRunsEnded;
    case CommandKind::kDeleteBranch:
      return EventKind::kRequestClosed;
    case CommandKind::kCollectRuns:
      return EventKind::kRunsDiscovered;
    case CommandKind::kReleaseClaim:
      return EventKind::kClaimReleased;
    default:
      return std::nullopt;
  }
}

std::vector<PreviewedStep> preview(Candidate candidate, std::vector<Command> pending, const std::optional<Event>& told, const Policy& policy, WallTime now) {
  std::vector<PreviewedStep> steps;
  std::deque<Command> queue(pending.begin(), pending.end());
  const auto take_in = [&](const Event& event) {
    const control::Decision decision = control::decide(candidate, event, now);
    if (decision.ignored) return;
    if (decision.abandons_pending) queue.clear();
    candidate = decision.candidate;
    queue.insert(decision.overlay ? queue.begin() : queue.end(), decision.commands.begin(), decision.commands.end());
  };
  if (told) take_in(*told);
  constexpr std::size_t kStepsMax = 200;
  while (!queue.empty() && steps.size() < kStepsMax) {
    const Command command = queue.front();
    queue.pop_front();
    steps.push_back(effect_of(candidate, command.kind, policy));
    if (command.kind == CommandKind::kAwaitRun || command.kind == CommandKind::kWatchRun) break;
    const auto event = success_of(command.kind);
    if (!event) continue;
    // What a success would bring is not known; what stands for it only lets the walk go on.
    const bool pushes =
        command.kind == CommandKind::kCommitImage || command.kind == CommandKind::kCommitRepair || command.kind == CommandKind::kAppendChangelog;
    take_in(Event{.kind = *event,
                  .version = command.version,
                  .commit = pushes ? "(the new commit)" : candidate.head,
                  .detail = *event == EventKind::kEditPushed ? candidate.base : "",
                  .run = candidate.attempts.empty() ? 0 : candidate.attempts.back().run,
                  .number = candidate.cr});
  }
  return steps;
}

}  // namespace pawl::steward
