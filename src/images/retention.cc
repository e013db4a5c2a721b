#include "images/retention.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::images {
namespace {

struct RetentionText {
  std::string schema;
  std::vector<RetentionRule> rules;
};
BOOST_DESCRIBE_STRUCT(RetentionText, (), (schema, rules))

double days_of(Nanos d) { return seconds_of(d) / 86400; }

}  // namespace

Result<std::vector<RetentionRule>> parse_retention(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
  PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(auto read, codec::from_json<RetentionText>(json, name));
  for (const RetentionRule& rule : read.rules) {
    if (rule.keep_newest.has_value() == rule.keep_days.has_value()) {
      return bad_input(fmt::format("{}: the rule for {} must have either keep_newest or keep_days", name, rule.repository));
    }
    if (rule.keep_newest.value_or(1) < 1 || rule.keep_days.value_or(1) < 1) {
      return bad_input(fmt::format("{}: the rule for {} keeps nothing", name, rule.repository), "keep_newest and keep_days count from 1");
    }
  }
  return std::move(read.rules);
}

Lifetime lifetime_of(const std::vector<RetentionRule>& rules, const TagGrammars& grammars, const std::string& repository, const std::string& tag,
                     const std::vector<ListedTag>& tags, WallTime now) {
  Lifetime life;
  const TagReading reading = grammars.read(tag);
  const auto rule = std::ranges::find_if(rules, [&](const RetentionRule& r) { return glob_match(r.repository, repository) && r.grammar == reading.grammar; });
  if (rule == rules.end()) {
    life.basis = "no rule of retention is known for this kind of tag";
    return life;
  }
  const auto listed = std::ranges::find(tags, tag, &ListedTag::tag);
  if (listed == tags.end()) {
    life.days_left = 0;
    life.basis = "the tag is not listed any more";
    return life;
  }
  if (rule->keep_days) {
    life.rule = fmt::format("kept {} days ({})", *rule->keep_days, rule->source);
    if (!listed->pushed) {
      life.basis = "its push time is unknown";
      return life;
    }
    life.days_left = std::max(0.0, static_cast<double>(*rule->keep_days) - days_of(now - *listed->pushed));
    life.basis = fmt::format("pushed {}", iso_utc(*listed->pushed));
    return life;
  }
  life.rule = fmt::format("the newest {} are kept ({})", *rule->keep_newest, rule->source);
  std::vector<WallTime> times;
  for (const ListedTag& other : tags) {
    const TagReading r = grammars.read(other.tag);
    if (r.grammar != reading.grammar || r.variant != reading.variant) continue;
    if (!other.pushed) {
      life.basis = "push times are unknown, so its rank is too";
      return life;
    }
    times.push_back(*other.pushed);
  }
  std::ranges::sort(times, std::greater<>());
  const auto rank = static_cast<std::int64_t>(std::ranges::count_if(times, [&](WallTime t) { return t > *listed->pushed; }));
  const std::int64_t to_go = *rule->keep_newest - rank;  // so many newer builds may still come before it falls out
  if (to_go <= 0) {
    life.days_left = 0;
    life.basis = fmt::format("{} newer builds are listed", rank);
    return life;
  }
  if (times.size() < 2) {
    life.basis = "one build alone shows no rhythm";
    return life;
  }
  const double per_build = days_of(times.front() - times.back()) / static_cast<double>(times.size() - 1);
  life.days_left = std::max(0.0, per_build * static_cast<double>(to_go) - days_of(now - times.front()));
  life.basis = fmt::format("{} newer builds are listed, one every {:.1f} days", rank, per_build);
  return life;
}

}  // namespace pawl::images
