#include "steward/policy.h"

#include <fmt/format.h>

#include <boost/describe.hpp>

#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::steward {
namespace {

/// The file as it is written; texts are checked below.
struct PolicyFile {
  std::string profile, statistic, delta_cell, minus;
  bool trim_zeros = false;
  std::string chinese;
  int head_digits = 40;
  std::string smoke_eval, sweep_label;
  bool fail_fast = true;
};
BOOST_DESCRIBE_STRUCT(PolicyFile, (), (profile, statistic, delta_cell, minus, trim_zeros, chinese, head_digits, smoke_eval, sweep_label, fail_fast))

}  // namespace

Result<Policy> load_policy(const io::Assets& assets, const std::string& profile) {
  const std::string name = "policies/" + profile + ".yaml";
  PAWL_ASSIGN(const std::string bytes, assets.read(name));
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(bytes, name));
  PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(const PolicyFile file, codec::from_json<PolicyFile>(json, name));

  Status bad;
  const auto choose = [&](const char* key, const std::string& value, const char* yes, const char* no) {
    if (value != yes && value != no && bad) bad = bad_input(fmt::format("{}: {} must be {} or {}, found '{}'", name, key, yes, no, value));
    return value == yes;
  };
  Policy policy;
  policy.style.profile = file.profile;
  policy.style.statistic = choose("statistic", file.statistic, "mean", "median") ? compare::Statistic::kMean : compare::Statistic::kMedian;
  policy.style.old_value_in_cell = choose("delta_cell", file.delta_cell, "old-and-new", "new");
  policy.style.unicode_minus = choose("minus", file.minus, "unicode", "ascii");
  policy.style.trim_zeros = file.trim_zeros;
  policy.style.fold_chinese = choose("chinese", file.chinese, "folded", "after-rule");
  policy.style.head_digits = file.head_digits;
  policy.smoke_eval = choose("smoke_eval", file.smoke_eval, "smoke-concurrency", "canonical-concurrency") ? plan::SmokeEval::kSmokeConcurrency
                                                                                                          : plan::SmokeEval::kCanonicalConcurrency;
  policy.sweep_label = file.sweep_label;
  policy.fail_fast = file.fail_fast;
  if (!bad) return bad.error();
  return policy;
}

}  // namespace pawl::steward
