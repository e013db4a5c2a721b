#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/text.h"
#include "codec/describe.h"
#include "posix/embedded_assets.h"
#include "sim/play.h"
#include "steward/policy.h"

// Every setting of the policy file: what it is in the two shipped profiles, seen from outside, and that another value is
// seen from outside too. The table in docs/upgrade-loop.md names these tests.
namespace pawl::sim {
namespace {

std::string shipped(const std::string& profile) { return *posix::EmbeddedAssets().read("policies/" + profile + ".yaml"); }

std::string flipped(const std::string& text, const std::string& key, const std::string& value) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += (line.starts_with(key + ":") ? fmt::format("{}: {}", key, value) : std::string(line)) + "\n";
  return out;
}

std::string word(bool value) { return value ? "yes" : "no"; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string comment(const Played& p, const std::string& key) {
  const auto found = p.comments.find(key);
  return found == p.comments.end() ? std::string() : found->second;
}
std::string outcome(const Played& p) {
  if (p.violation) return fmt::format("breaks invariant {}", p.violation->number);
  return p.candidate && p.candidate->outcome ? codec::enum_text(*p.candidate->outcome) : "none";
}

struct Setting {
  std::string key, other;  ///< the key, and a value that neither profile has (or that one of them has not)
  Scenario scenario;       ///< the world in which it shows
  std::function<std::string(const Played&)> seen;
  std::string in_september, in_october;  ///< what is seen with the shipped profiles
};

std::string attempt_comment(const Played& p) {
  for (const auto& [key, text] : p.comments) {
    if (key.starts_with("attempt-") && (has(text, "Final full sweep"))) return text;
  }
  return {};
}

Scenario world(std::vector<Fate> fates = {}, std::vector<std::int64_t> full_at = {}, std::vector<Fault> faults = {}) {
  Scenario s;
  s.fates = std::move(fates);
  s.full_at = std::move(full_at);
  s.faults = std::move(faults);
  return s;
}

std::vector<std::int64_t> from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

/// Where main moves between the label and the dispatch of the final run, so that the run is stopped by its gate. Found by
/// trying.
Scenario main_moves(const std::string& text) {
  Player player;
  for (std::int64_t at = 1; at < 20; ++at) {
    Scenario s = world({}, {}, {{at, FaultKind::kMainMoves, control::State::kFinalDispatching}});
    const Played p = player.play(s, {.policy_text = text});
    if (std::ranges::any_of(p.runs, [](const Run& run) { return run.reason == "stale-base"; })) return s;
  }
  return world();
}

std::vector<Setting> settings() {
  const auto count = [](const Played& p, const char* kind) { return std::ranges::count(p.mutations, kind, &std::pair<std::string, std::string>::first); };
  const auto seconds = [](const Played& p) { return std::to_string(p.seconds); };
  const std::vector<Fate> own(8, Fate::kOwnFailure), same(8, Fate::kSameFailure), infra(8, Fate::kInfrastructure);
  std::vector<Setting> all;
  all.push_back({"schema", "pawl.policy/2", world(), [](const Played& p) { return word(p.candidate.has_value()); }, "yes", "yes"});
  all.push_back({"profile", "\"mine\"", world(),
                 [](const Played& p) { return word(has(comment(p, "receipt"), "(profile 2026-09)")) + word(has(comment(p, "receipt"), "(profile 2026-10)")); },
                 "yesno", "noyes"});
  all.push_back({"statistic", "median", world(), [](const Played& p) { return word(has(attempt_comment(p), "mean TPOT")); }, "yes", "yes"});
  all.push_back({"delta_cell", "old-and-new", world(), [](const Played& p) { return word(has(attempt_comment(p), " → 56.9 (+13.7%)")); }, "yes", "no"});
  all.push_back({"minus", "unicode", world(), [](const Played& p) { return word(has(attempt_comment(p), "−8.7%")); }, "yes", "no"});
  all.push_back({"trim_zeros", "false", world(), [](const Played& p) { return word(has(p.body, "| 50.0 |")); }, "yes", "no"});
  all.push_back({"chinese", "after-rule", world(), [](const Played& p) { return word(has(p.body, "<details>")); }, "no", "yes"});
  all.push_back({"head_digits", "9", world(),
                 [](const Played& p) {
                   const std::string text = attempt_comment(p);
                   const auto at = text.find("head `");
                   return std::to_string(text.find('`', at + 6) - at - 6);
                 },
                 "40", "12"});
  all.push_back({"smoke_eval", "smoke-concurrency", world(),
                 [](const Played& p) {
                   return p.runs.at(0).request.evals.empty()
                              ? "none"
                              : codec::write_json(p.runs.at(0).request.evals.at(0).value("conc", codec::Json()), codec::JsonForm::kCompactUtf8);
                 },
                 "4", "16"});
  all.push_back({"sweep_label", "full-sweep-other", world(),
                 [](const Played& p) {
                   const auto on = std::ranges::find(p.mutations, "label-on", &std::pair<std::string, std::string>::first);
                   return on == p.mutations.end() ? "none" : on->second;
                 },
                 "full-sweep-enabled", "full-sweep-fail-fast"});
  all.push_back({"handoff_label", "another-label", world({}, {}, {{5, FaultKind::kPersonHandsOff, control::State::kSmokeRunning}}),
                 [](const Played& p) { return outcome(p); }, "handoff", "handoff"});
  all.push_back({"fail_fast", "false", world(), [](const Played& p) { return word(p.runs.at(0).request.fail_fast); }, "no", "yes"});
  all.push_back({"repairs", "3", world(own), [](const Played& p) { return std::to_string(p.candidate->repairs); }, "5", "5"});
  all.push_back({"infrastructure_retries", "1", world(infra), [](const Played& p) { return std::to_string(p.candidate->attempts.size()); }, "3", "3"});
  all.push_back({"same_failures", "3", world(same), [](const Played& p) { return std::to_string(p.candidate->repairs); }, "1", "1"});
  all.push_back({"capacity_failures", "3", world({}, from(3, 20)), [](const Played& p) { return std::to_string(p.capacity_checks); }, "4", "4"});
  all.push_back({"utilisation_below_percent", "50", world(), [](const Played& p) { return std::to_string(p.capacity_bound); }, "20", "80"});
  all.push_back({"rebase", "charged", {}, [](const Played& p) { return std::to_string(p.candidate->repairs); }, "1", "0"});
  all.push_back({"deferral", "checkpoint", world({}, from(4, 3)), [](const Played& p) { return outcome(p); }, "capacity-deferred", "capacity-deferred"});
  all.push_back({"reuse_command", "leave", world(), [](const Played& p) { return word(p.comments.contains("reuse")); }, "no", "yes"});
  all.push_back({"keep_branch", "[failed]", world(same), [](const Played& p) { return word(p.branches.size() > 1); }, "yes", "no"});
  all.push_back({"stale_after_days", "2", world(),
                 [](const Played& p) {
                   return word(control::stale(*p.candidate, WallTime{Seconds{1'790'000'000 + 10 * 86'400}})) +
                          word(control::stale(*p.candidate, WallTime{Seconds{1'790'000'000 + 20 * 86'400}}));
                 },
                 "noyes", "noyes"});
  all.push_back({"report_refresh_s", "120", world(), [count](const Played& p) { return word(count(p, "comment") > 12); }, "no", "no"});
  // How long things take is seen in the time that the whole takes; the number itself is not pinned but compared.
  all.push_back({"capacity_pause_s", "500", world({}, {1}), seconds, "", ""});
  all.push_back({"poll_s", "600", world(), seconds, "", ""});
  all.push_back({"correlation_s", "3000", world({}, {}, {{1, FaultKind::kRunGetsLost, control::State::kSmokeDispatching}}), seconds, "", ""});
  all.push_back({"cancel_retry_s", "2000",
                 world({}, {}, {{0, FaultKind::kCancelPending, control::State::kSmokeRunning}, {8, FaultKind::kPersonCloses, control::State::kSmokeRunning}}),
                 seconds, "", ""});
  // These two count only where a deferral waits.
  all.push_back({"deferral_checks", "2", world({}, from(4, 100)), [](const Played& p) { return std::to_string(p.capacity_checks); }, "5", "5"});
  all.push_back({"deferral_pause_s", "60", world({}, from(4, 3)), seconds, "", ""});
  return all;
}

class PolicySetting : public testing::TestWithParam<Setting> {};

TEST_P(PolicySetting, IsSeen) {
  const Setting& setting = GetParam();
  Player player;
  const bool waits = setting.key.starts_with("deferral_");
  const auto seen = [&](std::string text) -> std::string {
    if (waits) text = flipped(text, "deferral", "checkpoint");
    const Scenario scenario = setting.key == "rebase" ? main_moves(text) : setting.scenario;
    Scenario named = scenario;
    const Played played = player.play(named, {.policy_text = text});
    if (!played.candidate) return "no";
    return setting.seen(played);
  };
  for (const std::string profile : {"2026-09", "2026-10"}) {
    const std::string text = shipped(profile), before = seen(text);
    const std::string wanted = profile == "2026-09" ? setting.in_september : setting.in_october;
    if (!wanted.empty() && !waits) {
      EXPECT_EQ(before, wanted) << profile;
    }
    const std::string other = flipped(text, setting.key, setting.other);
    if (other == text) continue;
    const std::string after = seen(other);
    // A value that one profile has already says nothing there; in the other it must be seen.
    if (profile == "2026-10" || setting.in_september == setting.in_october) {
      EXPECT_NE(before, after) << profile << ": " << setting.key << " at " << setting.other << " changes nothing";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, PolicySetting, testing::ValuesIn(settings()), [](const auto& instance) { return instance.param.key; });

TEST(PolicySettings, EverySettingHasItsTestAndItsLineInTheDocumentation) {
  std::ifstream file(PAWL_SOURCE_DIR "/docs/upgrade-loop.md");
  std::stringstream docs;
  docs << file.rdbuf();
  const std::vector<Setting> all = settings();
  for (const std::string& key : steward::policy_keys()) {
    EXPECT_NE(std::ranges::find(all, key, &Setting::key), all.end()) << key << " has no test";
    const std::string line = fmt::format("| `{}` |", key), test = fmt::format("`Each/PolicySetting.IsSeen/{}`", key);
    const auto at = docs.str().find(line);
    ASSERT_NE(at, std::string::npos) << key << " is not in the table of docs/upgrade-loop.md";
    EXPECT_TRUE(has(docs.str().substr(at, docs.str().find('\n', at) - at), test)) << key << ": the table does not name its test";
  }
  EXPECT_EQ(all.size(), steward::policy_keys().size());
}

}  // namespace
}  // namespace pawl::sim
