#include "steward/policy.h"

#include <fmt/format.h>

#include <boost/describe.hpp>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::steward {
namespace {

/// The file as it is written; texts are checked below.
struct PolicyFile {
  std::string schema, profile;
  std::string statistic, delta_cell, minus;
  bool trim_zeros = false;
  std::string chinese;
  int head_digits = 40;
  std::string smoke_eval, sweep_label, handoff_label;
  bool fail_fast = true;
  std::int64_t repairs = 0, infrastructure_retries = 0, same_failures = 0, capacity_failures = 0, utilisation_below_percent = 0;
  std::string rebase, deferral;
  std::int64_t deferral_checks = 0, deferral_pause_s = 0, capacity_pause_s = 0, poll_s = 0, correlation_s = 0, cancel_retry_s = 0, report_refresh_s = 0,
               stale_after_days = 0;
  std::vector<model::Outcome> keep_branch;
  std::string reuse_command;
};
BOOST_DESCRIBE_STRUCT(PolicyFile, (),
                      (schema, profile, statistic, delta_cell, minus, trim_zeros, chinese, head_digits, smoke_eval, sweep_label, handoff_label, fail_fast,
                       repairs, infrastructure_retries, same_failures, capacity_failures, utilisation_below_percent, rebase, deferral, deferral_checks,
                       deferral_pause_s, capacity_pause_s, poll_s, correlation_s, cancel_retry_s, report_refresh_s, stale_after_days, keep_branch,
                       reuse_command))

constexpr const char* kSchema = "pawl.policy/1";

}  // namespace

std::vector<std::string> policy_keys() {
  std::vector<std::string> keys;
  boost::mp11::mp_for_each<boost::describe::describe_members<PolicyFile, boost::describe::mod_any_access>>([&](auto d) { keys.emplace_back(d.name); });
  return keys;
}

Result<Policy> parse_policy(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
  PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(const PolicyFile file, codec::from_json<PolicyFile>(json, name));

  Status bad;
  const auto refuse = [&](std::string message) {
    if (bad) bad = bad_input(std::move(message), "compare with the shipped profiles: docs/upgrade-loop.md names every setting");
  };
  const auto choose = [&](const char* key, const std::string& value, const char* yes, const char* no) {
    if (value != yes && value != no) refuse(fmt::format("{}: {} must be {} or {}, found '{}'", name, key, yes, no, value));
    return value == yes;
  };
  const auto within = [&](const char* key, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) refuse(fmt::format("{}: {} must be between {} and {}, found {}", name, key, low, high, value));
    return value;
  };
  if (file.schema != kSchema) refuse(fmt::format("{}: schema must be {}, found '{}'", name, kSchema, file.schema));
  Policy policy;
  policy.style.profile = file.profile;
  policy.style.statistic = choose("statistic", file.statistic, "mean", "median") ? compare::Statistic::kMean : compare::Statistic::kMedian;
  policy.style.old_value_in_cell = choose("delta_cell", file.delta_cell, "old-and-new", "new");
  policy.style.unicode_minus = choose("minus", file.minus, "unicode", "ascii");
  policy.style.trim_zeros = file.trim_zeros;
  policy.style.fold_chinese = choose("chinese", file.chinese, "folded", "after-rule");
  policy.style.head_digits = static_cast<int>(within("head_digits", file.head_digits, 7, 40));
  policy.smoke_eval = choose("smoke_eval", file.smoke_eval, "smoke-concurrency", "canonical-concurrency") ? plan::SmokeEval::kSmokeConcurrency
                                                                                                          : plan::SmokeEval::kCanonicalConcurrency;
  policy.sweep_label = file.sweep_label;
  policy.handoff_label = file.handoff_label;
  if (file.sweep_label.empty() || file.handoff_label.empty() || file.sweep_label == file.handoff_label) {
    refuse(fmt::format("{}: sweep_label and handoff_label must be two different labels", name));
  }
  policy.fail_fast = file.fail_fast;
  policy.utilisation_below_percent = within("utilisation_below_percent", file.utilisation_below_percent, 1, 100);
  control::Rules& rules = policy.rules;
  rules.repairs = within("repairs", file.repairs, 0, 5);  // upgrade-loop 29, invariant 5
  rules.infrastructure_retries = within("infrastructure_retries", file.infrastructure_retries, 0, 2);
  rules.same_failures = within("same_failures", file.same_failures, 2, 6);
  rules.capacity_failures = within("capacity_failures", file.capacity_failures, 1, 10);
  rules.rebase_charged = choose("rebase", file.rebase, "charged", "maintenance");
  rules.checkpointed_deferral = choose("deferral", file.deferral, "checkpoint", "close");
  rules.deferral_checks = within("deferral_checks", file.deferral_checks, 1, 100);
  rules.deferral_pause_s = within("deferral_pause_s", file.deferral_pause_s, 60, 604'800);
  rules.capacity_pause_s = within("capacity_pause_s", file.capacity_pause_s, 0, 3600);
  rules.poll_s = within("poll_s", file.poll_s, 1, 3600);
  rules.correlation_s = within("correlation_s", file.correlation_s, 1, 3600);
  rules.cancel_retry_s = within("cancel_retry_s", file.cancel_retry_s, 1, 3600);
  rules.report_refresh_s = within("report_refresh_s", file.report_refresh_s, 60, 86'400);
  rules.stale_after_days = within("stale_after_days", file.stale_after_days, 1, 3650);
  rules.keep_branch = file.keep_branch;
  rules.reuse_command = choose("reuse_command", file.reuse_command, "post", "leave");
  if (!bad) return bad.error();
  return policy;
}

Result<Policy> load_policy(const io::Assets& assets, const std::string& profile) {
  const std::string name = "policies/" + profile + ".yaml";
  PAWL_ASSIGN(const std::string bytes, assets.read(name));
  return parse_policy(bytes, name);
}

}  // namespace pawl::steward
