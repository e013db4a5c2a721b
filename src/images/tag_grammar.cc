#include "images/tag_grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::images {

namespace {

constexpr std::size_t kTagMax = 128;  // OCI distribution: a tag has at most 128 characters

struct GrammarText {
  std::string name, what, pattern, family;
  std::vector<std::string> variant;
  std::string channel;
  std::vector<OrderPart> order;
};
BOOST_DESCRIBE_STRUCT(GrammarText, (), (name, what, pattern, family, variant, channel, order))

struct GrammarsText {
  std::string schema;
  std::map<std::string, std::string> fragments;
  std::vector<GrammarText> grammars;
};
BOOST_DESCRIBE_STRUCT(GrammarsText, (), (schema, fragments, grammars))

std::string expand(std::string pattern, const std::map<std::string, std::string>& fragments) {
  for (int depth = 0; depth < 3; ++depth) {
    for (const auto& [name, text] : fragments) pattern = replace_all(std::move(pattern), "%" + name + "%", text);
  }
  return pattern;
}

}  // namespace

std::string TagReading::variant_text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : variant) {
    if (name != "prefix") parts.push_back(value.starts_with('-') ? value.substr(1) : value);
  }
  return parts.empty() ? "plain" : join(parts, " ");
}

Result<TagGrammars> TagGrammars::parse(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
  PAWL_ASSIGN(const codec::Json json, codec::yaml_value(document, document.root));
  PAWL_ASSIGN(const auto read, codec::from_json<GrammarsText>(json, name));
  if (read.schema != "pawl.tag-grammars/1") return bad_input(fmt::format("{}: the schema is '{}'", name, read.schema), "this pawl reads pawl.tag-grammars/1");
  static const std::vector<std::string> kChannels = {"version", "dated", "stable", "candidate", "development", "nightly", "none"};
  TagGrammars all;
  for (const GrammarText& g : read.grammars) {
    if (std::ranges::find(kChannels, g.channel) == kChannels.end()) {
      return bad_input(fmt::format("{}: grammar {}: there is no channel '{}'", name, g.name, g.channel), "known: " + join(kChannels, ", "));
    }
    auto pattern = codec::Pattern::compile(expand(g.pattern, read.fragments));
    if (!pattern) return std::move(pattern).error().within(fmt::format("{}: grammar {}", name, g.name));
    all.rules_.push_back({{g.name, g.what, g.family}, *std::move(pattern), g.variant, g.channel, g.order});
  }
  return all;
}

TagReading TagGrammars::read(std::string_view tag) const {
  TagReading reading;
  reading.tag = tag;
  reading.grammar = "other";
  if (tag.size() > kTagMax) return reading;
  for (const Rule& rule : rules_) {
    auto groups = rule.pattern.match(tag);
    if (!groups) continue;
    const auto group = [&](const char* name) {
      const auto found = groups->find(name);
      return found == groups->end() ? std::string() : found->second;
    };
    reading.grammar = rule.grammar.name;
    reading.family = rule.grammar.family;
    reading.order = rule.order;
    for (const std::string& name : rule.variant) {
      if (std::string value = group(name.c_str()); !value.empty()) reading.variant[name] = std::move(value);
    }
    reading.version = Version::parse(group("version"));
    reading.calendar = reading.version && reading.version->is_calendar();
    reading.date = group("date");
    reading.monthday = group("monthday");
    reading.stamp = group("stamp");
    reading.commit = group("commit");
    reading.serial = parse_int(group("serial")).value_or(-1);
    reading.floating = rule.grammar.family == "rolling";
    if (rule.channel == "version" || rule.channel == "dated") {
      const bool dated = rule.channel == "dated" && !(reading.date.empty() && reading.stamp.empty());
      reading.channel = dated ? Channel::kNightly : reading.version ? reading.version->channel() : Channel::kNone;
    } else {
      reading.channel = codec::enum_value<Channel>(rule.channel).value_or(Channel::kNone);
    }
    break;
  }
  return reading;
}

std::vector<TagGrammars::Grammar> TagGrammars::grammars() const {
  std::vector<Grammar> all;
  for (const Rule& rule : rules_) all.push_back(rule.grammar);
  all.push_back({"other", "of no known grammar", ""});
  return all;
}

std::optional<std::strong_ordering> compare_tags(const TagReading& a, const TagReading& b) {
  const auto by = [&](OrderPart part) -> std::optional<std::strong_ordering> {
    switch (part) {
      case OrderPart::kVersion:
        if (a.version && b.version) return *a.version <=> *b.version;
        // A build without a version of its own and one with it are not of one line.
        return a.version || b.version ? std::nullopt : std::optional(std::strong_ordering::equal);
      case OrderPart::kDate:
        return a.date <=> b.date;
      case OrderPart::kMonthday:
        return a.monthday <=> b.monthday;  // only behind a version: within one release no year passes
      case OrderPart::kStamp:
        return a.stamp <=> b.stamp;
      case OrderPart::kSerial:
        return a.serial <=> b.serial;
      case OrderPart::kPush:
        return a.tag == b.tag ? std::optional(std::strong_ordering::equal) : std::nullopt;
    }
    return std::nullopt;
  };
  // Two grammars of one family may differ in what they order by (version, or version and date): the longer one decides, and
  // a part that a tag does not have comes first.
  for (const OrderPart part : a.order.size() >= b.order.size() ? a.order : b.order) {
    const auto found = by(part);
    if (!found || *found != std::strong_ordering::equal) return found;
  }
  return std::strong_ordering::equal;
}

}  // namespace pawl::images
