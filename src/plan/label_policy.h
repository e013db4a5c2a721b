#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

/// What happened on the forge, as far as it decides about a sweep.
struct SweepEvent {
  bool push = false;                ///< a push to main that touches the changelog; otherwise a change request
  std::string action;               ///< of a request: opened, reopened, synchronize, ready_for_review, labeled, unlabeled
  std::string action_label;         ///< the label that was added or removed
  std::vector<std::string> labels;  ///< of the request, after the event
  bool draft = false;
  bool fork = false;           ///< its head lies in another repository
  std::string head_message;    ///< of the head commit
  bool gate_passes = true;     ///< the changelog gate accepts the head
  bool reuse_granted = false;  ///< a maintainer let an earlier run stand for this one
};

/// How one step of a sweep ends before any job runs.
enum class StepOutcome { kSkipped, kOk, kFailed };

/// What follows from an event.
struct SweepPolicy {
  StepOutcome check = StepOutcome::kSkipped;  ///< the changelog gate, and no two primary labels
  StepOutcome reuse = StepOutcome::kSkipped;  ///< the question whether an earlier run may stand for this one
  bool run = false;                           ///< a sweep runs
  bool restart = false;                       ///< the running sweep of the request is cancelled first
  bool trim = false;                          ///< the lowest concurrency of every recipe alone
  bool canary = false;                        ///< one row runs first, alone
  bool fail_fast = false;                     ///< a family stops at its first failure
  bool all_evals = false;
  bool evals_only = false;
  bool agentx_fast = false;
  bool skip_queue = false;
  bool reuse_eligible = false;  ///< its result may stand for a later run
  std::string why;              ///< one sentence for people: why it runs or does not
};

/// The label policy (recipes-matrix-changelog 15, sweep-run-results 1.2): the one place where labels are read.
[[nodiscard]] SweepPolicy sweep_policy(const SweepEvent& event);

/// The labels that choose a sweep; a request carries at most one of them.
[[nodiscard]] const std::vector<std::string>& primary_labels();
/// Every label whose coming or going matters: the primary ones, modifiers, scheduling and policy labels.
[[nodiscard]] const std::vector<std::string>& relevant_labels();
/// A head commit whose message contains this starts no sweep of its request.
inline constexpr std::string_view kSkipMarker = "[skip-sweep]";

}  // namespace pawl::plan
