#include "plan/label_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pawl::plan {
namespace {

std::string outcome(const SweepEvent& event) {
  const SweepPolicy policy = sweep_policy(event);
  const auto word = [](StepOutcome step) { return std::string(step == StepOutcome::kOk ? "ok" : step == StepOutcome::kFailed ? "fail" : "skip"); };
  return word(policy.check) + "/" + word(policy.reuse) + "/" + (policy.run ? "run" : "skip");
}

SweepEvent request(const std::string& action, std::vector<std::string> labels, const std::string& action_label = "") {
  SweepEvent event;
  event.action = action;
  event.labels = std::move(labels);
  event.action_label = action_label;
  return event;
}

TEST(LabelPolicy, TheCatalogueOfTheContractHolds) {
  const std::string full = "full-sweep-enabled";
  SweepEvent event = request("synchronize", {full});
  EXPECT_EQ(outcome(event), "ok/ok/run");  // W1
  event.reuse_granted = true;
  EXPECT_EQ(outcome(event), "ok/ok/skip");
  event.labels = {full, "all-evals"};  // W5
  EXPECT_EQ(outcome(event), "ok/ok/skip");
  for (const std::vector<std::string>& labels :  // W6
       {std::vector<std::string>{full, "evals-only"}, {full, "agentx-fast"}, {full, "evals-only", "all-evals"}}) {
    event.labels = labels;
    EXPECT_EQ(outcome(event), "ok/skip/run");
  }
  EXPECT_EQ(outcome(request("synchronize", {full, "sweep-enabled"})), "fail/skip/skip");  // W2
  event = request("synchronize", {full});
  event.gate_passes = false;
  EXPECT_EQ(outcome(event), "fail/skip/skip");
  EXPECT_EQ(outcome(request("synchronize", {"sweep-enabled"})), "ok/skip/run");  // W3
  for (const char* label : {"all-evals", "evals-only", "agentx-fast"}) {         // W4, W9
    EXPECT_EQ(outcome(request("synchronize", {label})), "ok/skip/skip");
    EXPECT_EQ(outcome(request("labeled", {label}, label)), "ok/skip/skip");
  }
  EXPECT_EQ(outcome(request("synchronize", {})), "ok/skip/skip");
  event = request("synchronize", {full});
  event.fork = true;
  EXPECT_EQ(outcome(event), "ok/ok/skip");  // W7
  for (const std::string& label : relevant_labels()) {
    if (std::ranges::find(primary_labels(), label) != primary_labels().end()) {
      EXPECT_EQ(outcome(request("labeled", {label}, label)), "ok/skip/run");  // W8
      EXPECT_EQ(outcome(request("unlabeled", {}, label)), "ok/skip/skip");    // W12
    } else {
      EXPECT_EQ(outcome(request("labeled", {full, label}, label)), "ok/skip/run");
      EXPECT_EQ(outcome(request("unlabeled", {full}, label)), "ok/skip/run");  // W10
    }
  }
  EXPECT_EQ(outcome(request("labeled", {full, "bug"}, "bug")), "skip/skip/skip");  // W11
  event = request("synchronize", {full});
  event.draft = true;
  EXPECT_EQ(outcome(event), "skip/skip/skip");
  EXPECT_EQ(outcome(request("ready_for_review", {full})), "ok/skip/run");  // W13
  event = request("synchronize", {full});
  event.head_message = "Fix a comment\n\n[skip-sweep]";
  EXPECT_EQ(outcome(event), "ok/ok/skip");  // W14
  event.push = true;
  EXPECT_EQ(outcome(event), "skip/skip/run");  // W15
  EXPECT_EQ(outcome(request("opened", {full})), "skip/skip/skip");
  EXPECT_EQ(relevant_labels().size(), 13u);
}

/// The policy once more, written the other way round: from the conditions of the jobs as section 15 states them, with
/// sets and without early returns. What depends on the labels alone is worked out once for all events with these labels.
struct LabelFacts {
  std::set<std::string> labels, mine;
  explicit LabelFacts(const std::vector<std::string>& all) : labels(all.begin(), all.end()) {
    static const std::set<std::string> primaries{"sweep-enabled", "full-sweep-enabled", "non-canary-full-sweep-enabled", "full-sweep-fail-fast",
                                                 "full-sweep-fail-fast-no-canary"};
    std::ranges::set_intersection(labels, primaries, std::inserter(mine, mine.end()));
    one_full = !mine.empty() && (mine.size() > 1 || !mine.contains("sweep-enabled"));
    whole = !labels.contains("evals-only") && !labels.contains("agentx-fast");
    sweep = labels.contains("sweep-enabled");
    canary = labels.contains("full-sweep-enabled") || labels.contains("full-sweep-fail-fast");
    fast = labels.contains("full-sweep-fail-fast") || labels.contains("full-sweep-fail-fast-no-canary");
  }
  bool one_full = false, whole = false, sweep = false, canary = false, fast = false;
};
struct Expected {
  bool check_runs, check_ok, reuse_runs, setup_runs, restart, trim, canary, fail_fast, reusable;
};
Expected independent(const SweepEvent& e, const LabelFacts& facts) {
  static const std::set<std::string> matter{"sweep-enabled",
                                            "full-sweep-enabled",
                                            "non-canary-full-sweep-enabled",
                                            "full-sweep-fail-fast",
                                            "full-sweep-fail-fast-no-canary",
                                            "all-evals",
                                            "evals-only",
                                            "agentx-fast",
                                            "skip_queue",
                                            "ci-patchwork",
                                            "engine-patch",
                                            "ci-patchwork-waived",
                                            "ci-checklist-complete"};
  static const std::set<std::string> triggers{"ready_for_review", "synchronize", "labeled", "unlabeled"};
  const bool pr = !e.push;
  const bool triggered = e.push || triggers.contains(e.action);
  const bool action_matters = (e.action != "labeled" && e.action != "unlabeled") || matter.contains(e.action_label);
  Expected x{};
  x.check_runs = pr && triggered && !e.draft && action_matters;
  x.check_ok = x.check_runs && facts.mine.size() < 2 && e.gate_passes;
  x.reuse_runs = x.check_ok && e.action == "synchronize" && facts.one_full && facts.whole;
  const bool check_allows = !x.check_runs || x.check_ok;
  const bool reuse_allows = !x.reuse_runs || !e.reuse_granted;
  const bool skip = e.head_message.find("[skip-sweep]") != std::string::npos;
  x.setup_runs = triggered && check_allows && reuse_allows && (e.push || (!e.draft && !e.fork && !skip && !facts.mine.empty() && action_matters));
  x.restart = pr && triggered && action_matters;
  x.trim = x.setup_runs && pr && facts.sweep;
  x.canary = x.setup_runs && pr && facts.canary;
  x.fail_fast = x.setup_runs && pr && facts.fast;
  x.reusable = x.setup_runs && pr && facts.one_full && facts.whole;
  return x;
}

TEST(LabelPolicy, AgreesWithAnIndependentStatementOverTheCrossProduct) {
  std::vector<std::vector<std::string>> primaries{{}};
  for (const std::string& a : primary_labels()) {
    primaries.push_back({a});
    for (const std::string& b : primary_labels()) {
      if (a < b) primaries.push_back({a, b});
    }
  }
  const std::vector<std::string> modifiers{"all-evals", "evals-only", "agentx-fast", "skip_queue"};
  struct Action {
    bool push;
    std::string name, label;
  };
  std::vector<Action> actions{{true, "", ""}, {false, "synchronize", ""}, {false, "ready_for_review", ""}, {false, "opened", ""}, {false, "reopened", ""}};
  std::vector<std::string> labels = relevant_labels();
  labels.emplace_back("documentation");
  for (const std::string& label : labels) {
    actions.push_back({false, "labeled", label});
    actions.push_back({false, "unlabeled", label});
  }
  std::size_t count = 0, runs = 0;
  for (const auto& primary : primaries) {
    for (unsigned mask = 0; mask < (1u << modifiers.size()); ++mask) {
      SweepEvent event;
      event.labels = primary;
      for (std::size_t i = 0; i < modifiers.size(); ++i) {
        if ((mask >> i & 1u) != 0) event.labels.push_back(modifiers[i]);
      }
      const LabelFacts facts(event.labels);
      for (const Action& action : actions) {
        event.push = action.push;
        event.action = action.name;
        event.action_label = action.label;
        for (unsigned bits = 0; bits < 32; ++bits) {
          event.draft = (bits & 1u) != 0;
          event.fork = (bits & 2u) != 0;
          event.head_message = (bits & 4u) != 0 ? "x [skip-sweep] y" : "x";
          event.gate_passes = (bits & 8u) == 0;
          event.reuse_granted = (bits & 16u) != 0;
          const SweepPolicy policy = sweep_policy(event);
          const Expected x = independent(event, facts);
          const StepOutcome check = !x.check_runs ? StepOutcome::kSkipped : x.check_ok ? StepOutcome::kOk : StepOutcome::kFailed;
          const bool same =
              policy.check == check && (policy.reuse == StepOutcome::kOk) == x.reuse_runs && policy.run == x.setup_runs && policy.restart == x.restart &&
              (!policy.run || (policy.trim == x.trim && policy.canary == x.canary && policy.fail_fast == x.fail_fast && policy.reuse_eligible == x.reusable));
          ASSERT_TRUE(same) << "action " << action.name << " " << action.label << ", labels " << testing::PrintToString(event.labels) << ", bits " << bits;
          ++count;
          runs += policy.run ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(count, 16u * 16u * 33u * 32u);
  EXPECT_GT(runs, count / 100);
  RecordProperty("combinations", static_cast<int>(count));
}

}  // namespace
}  // namespace pawl::plan
