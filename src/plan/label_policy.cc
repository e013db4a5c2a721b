#include "plan/label_policy.h"

#include <algorithm>
#include <array>

namespace pawl::plan {
namespace {

/// What a primary label asks for.
struct Primary {
  const char* name;
  bool full, canary, fail_fast;
};
constexpr std::array kPrimary{Primary{"sweep-enabled", false, false, false}, Primary{"full-sweep-enabled", true, true, false},
                              Primary{"non-canary-full-sweep-enabled", true, false, false}, Primary{"full-sweep-fail-fast", true, true, true},
                              Primary{"full-sweep-fail-fast-no-canary", true, false, true}};

bool has(const std::vector<std::string>& list, std::string_view wanted) { return std::ranges::find(list, wanted) != list.end(); }

}  // namespace

const std::vector<std::string>& primary_labels() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Primary& primary : kPrimary) all.emplace_back(primary.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& relevant_labels() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = primary_labels();
    for (const char* name :
         {"all-evals", "evals-only", "agentx-fast", "skip_queue", "ci-patchwork", "engine-patch", "ci-patchwork-waived", "ci-checklist-complete"})
      all.emplace_back(name);
    return all;
  }();
  return names;
}

SweepPolicy sweep_policy(const SweepEvent& event) {
  SweepPolicy policy;
  if (event.push) {
    // Labels belong to requests; the marker too.
    policy.run = true;
    policy.why = "a push to main runs its sweep";
    return policy;
  }
  const auto skipped = [&policy](const char* why) {
    policy.why = why;
    return policy;
  };
  const bool label_action = event.action == "labeled" || event.action == "unlabeled";
  if (!label_action && event.action != "synchronize" && event.action != "ready_for_review") return skipped("this action starts nothing");
  if (label_action && !has(relevant_labels(), event.action_label)) return skipped("the label does not matter for sweeps");
  policy.restart = true;

  const Primary* primary = nullptr;
  std::size_t primaries = 0;
  for (const Primary& known : kPrimary) {
    if (!has(event.labels, known.name)) continue;
    primary = &known;
    ++primaries;
  }
  policy.all_evals = has(event.labels, "all-evals");
  policy.evals_only = has(event.labels, "evals-only");
  policy.agentx_fast = has(event.labels, "agentx-fast");
  policy.skip_queue = has(event.labels, "skip_queue");
  if (event.draft) return skipped("a draft runs no sweep");
  policy.check = primaries > 1 || !event.gate_passes ? StepOutcome::kFailed : StepOutcome::kOk;
  if (primaries > 1) return skipped("more than one primary sweep label");
  if (policy.check == StepOutcome::kFailed) return skipped("the changelog gate refuses the head");
  if (primary == nullptr) return skipped("no primary sweep label");
  policy.trim = !primary->full;
  policy.canary = primary->canary;
  policy.fail_fast = primary->fail_fast;
  policy.reuse_eligible = primary->full && !policy.evals_only && !policy.agentx_fast;
  if (policy.reuse_eligible && event.action == "synchronize") {
    policy.reuse = StepOutcome::kOk;
    if (event.reuse_granted) return skipped("an earlier run stands for this one");
  }
  if (event.fork) return skipped("the head lies in another repository");
  if (event.head_message.contains(kSkipMarker)) return skipped("the head commit says [skip-sweep]");
  policy.run = true;
  policy.why = std::string("label ") + primary->name;
  return policy;
}

}  // namespace pawl::plan
