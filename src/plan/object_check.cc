#include "plan/object_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "plan/typing.h"

namespace pawl::plan {

using codec::YamlEntry;
using codec::YamlNode;
using Kind = ValueType::Kind;

std::string ObjectCheck::path() const {
  std::string text;
  for (const Step& step : steps_) {
    if (step.item)
      text += fmt::format("[{}]", step.index);
    else
      text += "." + std::string(step.key);
  }
  return text;
}

void ObjectCheck::complain(const YamlNode& node, std::string rule, const std::string& below, std::string message, std::string expected, std::string nearest) {
  std::string full = path() + below;
  if (full.starts_with('.')) full.erase(0, 1);
  out_.push_back({std::move(rule), config_, std::move(full), std::move(message), std::move(expected), std::move(nearest), document_.place(node)});
}

const YamlNode* Fields::given(std::string_view name) const {
  for (const auto& [field, node] : found_) {
    if (field == name) return node;
  }
  return nullptr;
}

const YamlNode* Fields::value(std::string_view name) const {
  const YamlNode* node = given(name);
  return node == nullptr || is_null(*node) ? nullptr : node;
}

namespace {

bool same_but_for_dashes(std::string_view canonical, std::string_view written) {
  return canonical.size() == written.size() && std::ranges::equal(canonical, written, [](char c, char w) { return c == w ? c != '-' : c == '-' && w == '_'; });
}

/// No absolute path, no '..', no empty part, no ':'.
bool normal_path(std::string_view text) {
  if (text.empty() || text.contains(':') || text.contains("//") || text.front() == '/' || text.back() == '/') return false;
  for (const std::string_view part : split(text, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

}  // namespace

void ObjectCheck::unknown_key(const ObjectSpec& object, const YamlNode& key) {
  std::vector<std::string> names;
  for (const FieldSpec& field : object.fields) names.push_back(field.name);
  std::string message = fmt::format("the key '{}' is not known in {}", key.text, object.title);
  const auto other = object.elsewhere.find(key.text);
  if (other != object.elsewhere.end()) {
    complain(key, "key", "." + key.text, fmt::format("{} of generation {}; it is {}", message, generation_.id, other->second),
             "the files of one generation, or --generation");
    return;
  }
  complain(key, "key", "." + key.text, std::move(message), "one of " + join(names, ", "), nearest(key.text, names).value_or(""));
}

bool ObjectCheck::run(const ObjectSpec& object, const YamlNode& node, Fields& out) {
  const std::size_t before = count();
  if (node.kind != YamlNode::Kind::kMapping) {
    complain(node, "type", "", fmt::format("{} must be a mapping, found {}", object.title, describe(node)), "a mapping");
    return false;
  }
  constexpr std::size_t kFieldsMax = 32;
  std::array<const YamlEntry*, kFieldsMax> written{}, snake{};
  const std::size_t fields = std::min(object.fields.size(), kFieldsMax);
  for (const YamlEntry& entry : node.entries) {
    const std::string_view key = entry.key.text;
    if (!entry.key.is_text()) {
      complain(entry.key, "key", "." + std::string(key), fmt::format("a key of {} must be a text, found {}", object.title, describe(entry.key)),
               "a text; put it in quotes");
      continue;
    }
    bool known = false;
    for (std::size_t i = 0; i < fields && !known; ++i) {
      if (key == object.fields[i].name) {
        written[i] = &entry;
        known = true;
      } else if (same_but_for_dashes(object.fields[i].name, key)) {
        snake[i] = &entry;
        known = true;
      }
    }
    if (!known) unknown_key(object, entry.key);
  }
  out.found_.reserve(fields);
  for (std::size_t i = 0; i < fields; ++i) {
    const FieldSpec& field = object.fields[i];
    if (written[i] != nullptr && snake[i] != nullptr) {
      complain(snake[i]->key, "key", "." + snake[i]->key.text, fmt::format("'{}' stands beside '{}': one field, two spellings", snake[i]->key.text, field.name),
               field.name);
    }
    const YamlEntry* entry = written[i] != nullptr ? written[i] : snake[i];
    if (entry == nullptr) {
      if (field.required) complain(node, "missing", "." + field.name, fmt::format("{} has no '{}'", object.title, field.name), field.name);
      continue;
    }
    if (!field.nullable || !is_null(entry->value)) {
      steps_.push_back({field.name});
      value(field, field.type, entry->value);
      steps_.pop_back();
    }
    out.found_.emplace_back(field.name, &entry->value);
  }
  if (count() != before) return false;
  cross_rules(*this, object, node, out);
  return count() == before;
}

void ObjectCheck::wrong(const FieldSpec& field, const YamlNode& node, const std::string& expected) {
  complain(node, field.rule.empty() ? "type" : field.rule, "", fmt::format("'{}' must be {}, found {}", field.name, expected, describe(node)), expected);
}

void ObjectCheck::text(const FieldSpec& field, const YamlNode& node, bool may_be_empty) {
  if (!node.is_text()) {
    const bool scalar = node.kind == YamlNode::Kind::kScalar && !is_null(node);
    complain(node, "type", "", fmt::format("'{}' must be a text, found {}", field.name, describe(node)),
             scalar ? fmt::format("a text; written with quotes: \"{}\"", node.text) : "a text");
  } else if (!may_be_empty && node.text.empty()) {
    complain(node, "type", "", fmt::format("'{}' must not be empty", field.name), "a text that is not empty");
  }
}

void ObjectCheck::list(const FieldSpec& field, const ValueType& type, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) {
    wrong(field, node, "a list");
    return;
  }
  if (node.items.size() < field.least) complain(node, field.rule, "", fmt::format("'{}' must not be empty", field.name), "a list that is not empty");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    steps_.push_back({{}, i, true});
    value(field, *type.item, node.items[i]);
    steps_.pop_back();
  }
}

void ObjectCheck::map(const FieldSpec& field, const ValueType& type, const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kMapping) {
    wrong(field, node, "a mapping");
    return;
  }
  for (const YamlEntry& entry : node.entries) {
    if (!entry.key.is_text()) {
      complain(entry.key, "R-01", "", fmt::format("a key of '{}' must be a text, found {}", field.name, describe(entry.key)), "a text");
      continue;
    }
    steps_.push_back({entry.key.text});
    value(field, *type.item, entry.value);
    steps_.pop_back();
  }
}

/// for the label that the walk has reached.
void ObjectCheck::nodes(const YamlNode& node) {
  const std::string_view label = steps_.back().key;
  if (node.kind != YamlNode::Kind::kSequence) {
    complain(node, "R-02", "", fmt::format("the label '{}' must be a list of node names, found {}", label, describe(node)), "a list");
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (node.items[i].is_text()) continue;
    complain(node.items[i], "R-03", fmt::format("[{}]", i), fmt::format("the label '{}' must contain only strings, found {}", label, describe(node.items[i])),
             "a text");
  }
  if (node.items.empty()) complain(node, "R-04", "", fmt::format("the label '{}' cannot be an empty list", label), "at least one node");
}

void ObjectCheck::labels(const YamlNode& node) {
  static const FieldSpec field{.name = "labels", .type = {}, .rule = "R-01", .doc = {}};
  static const ValueType type{.kind = Kind::kMap,
                              .words = {},
                              .item = std::make_shared<ValueType>(ValueType{.kind = Kind::kNodes, .words = {}, .item = {}, .object_id = {}}),
                              .object_id = {}};
  map(field, type, node);
}

void ObjectCheck::value(const FieldSpec& field, const ValueType& type, const YamlNode& node) {
  switch (type.kind) {
    case Kind::kText:
      text(field, node, true);
      break;
    case Kind::kFilled:
      text(field, node, false);
      break;
    case Kind::kInteger:
      if (!lax_int(node)) wrong(field, node, "an integer");
      break;
    case Kind::kCount:
      if (lax_int(node).value_or(0) <= 0) wrong(field, node, "an integer above 0");
      break;
    case Kind::kSize:
      if (strict_int(node).value_or(0) <= 0) wrong(field, node, "an integer without quotes, greater than 0");
      break;
    case Kind::kBoolean:
      if (!lax_bool(node)) wrong(field, node, "true or false");
      break;
    case Kind::kSwitch:
      if (node.kind != YamlNode::Kind::kScalar || node.type() != YamlNode::Type::kBool) wrong(field, node, "true or false, without quotes");
      break;
    case Kind::kShare: {
      const auto number = lax_float(node);
      if (!number || !(*number > 0 && *number <= 1))
        complain(node, "type", "", fmt::format("'{}' must be a number above 0 and at most 1, found {}", field.name, describe(node)), "0 < x <= 1");
      break;
    }
    case Kind::kYes:
    case Kind::kNo:
      if (!is_literal(node, type.kind == Kind::kYes)) wrong(field, node, type.kind == Kind::kYes ? "true" : "false");
      break;
    case Kind::kVersion: {
      const std::size_t before = count();
      text(field, node, false);
      if (count() == before && node.text.starts_with("image:")) {
        complain(node, "M-40", "", fmt::format("'{}' is not an image reference: it must not begin with 'image:'", field.name), "a version such as \"0.9.1\"");
      }
      break;
    }
    case Kind::kPath: {
      const std::size_t before = count();
      text(field, node, false);
      if (count() == before && !normal_path(node.text)) wrong(field, node, "a relative path without '..', ':' and double or trailing slashes");
      break;
    }
    case Kind::kNodes:
      nodes(node);
      break;
    case Kind::kAny:
      break;
    case Kind::kOneOf:
      if (!node.is_text() || std::ranges::find(type.words, node.text) == type.words.end()) {
        complain(node, field.rule.empty() ? "type" : field.rule, "",
                 fmt::format("'{}' must be one of {}, found {}", field.name, join(type.words, ", "), describe(node)), "one of " + join(type.words, ", "),
                 node.kind == YamlNode::Kind::kScalar ? nearest(node.text, type.words).value_or("") : "");
      }
      break;
    case Kind::kList:
      list(field, type, node);
      break;
    case Kind::kMap:
      map(field, type, node);
      break;
    case Kind::kObject: {
      Fields fields;
      run(*type.object, node, fields);
      break;
    }
  }
}

}  // namespace pawl::plan
