#include "plan/object_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/typing.h"

namespace pawl::plan {

using codec::YamlEntry;
using codec::YamlNode;

void SchemaContext::complain(const YamlNode& node, std::string rule, std::string path, std::string message, std::string expected, std::string nearest) {
  out_.push_back({std::move(rule), config_, std::move(path), std::move(message), std::move(expected), std::move(nearest), document_.place(node)});
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

std::string below(const std::string& path, std::string_view key) { return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key); }

}  // namespace

bool ObjectCheck::run(SchemaContext& context, const YamlNode& node, const std::string& path, Fields& out) const {
  const std::size_t before = context.count();
  if (node.kind != YamlNode::Kind::kMapping) {
    context.complain(node, "type", path, fmt::format("{} must be a mapping, found {}", what_, describe(node)), "a mapping");
    return false;
  }
  std::vector<const YamlEntry*> written(fields_.size(), nullptr);  // canonical spelling
  std::vector<const YamlEntry*> snake(fields_.size(), nullptr);
  for (const YamlEntry& entry : node.entries) {
    const std::string& key = entry.key.text;
    if (!entry.key.is_text()) {
      context.complain(entry.key, "key", below(path, key), fmt::format("a key of {} must be a text, found {}", what_, describe(entry.key)),
                       "a text; put it in quotes");
      continue;
    }
    bool known = false;
    for (std::size_t i = 0; i < fields_.size() && !known; ++i) {
      if (key == fields_[i].name) {
        written[i] = &entry;
        known = true;
      } else if (same_but_for_dashes(fields_[i].name, key)) {
        snake[i] = &entry;
        known = true;
      }
    }
    if (known) continue;
    std::vector<std::string> names;
    for (const Field& field : fields_) names.emplace_back(field.name);
    context.complain(entry.key, "key", below(path, key), fmt::format("the key '{}' is not known in {}", key, what_), "one of " + join(names, ", "),
                     nearest(key, names).value_or(""));
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    if (written[i] != nullptr && snake[i] != nullptr) {
      context.complain(snake[i]->key, "key", below(path, snake[i]->key.text),
                       fmt::format("'{}' stands beside '{}': one field, two spellings", snake[i]->key.text, field.name), field.name);
    }
    const YamlEntry* entry = written[i] != nullptr ? written[i] : snake[i];
    if (entry == nullptr) {
      if (field.required) context.complain(node, "missing", below(path, field.name), fmt::format("{} has no '{}'", what_, field.name), field.name);
      continue;
    }
    field.check(context, entry->value, below(path, field.name));
    out.found_.emplace_back(field.name, &entry->value);
  }
  return context.count() == before;
}

namespace {

FieldCheck scalar(std::string expected, std::function<bool(const YamlNode&)> fits, std::string rule = "type", std::string anchor = {}) {
  return [=](SchemaContext& context, const YamlNode& value, const std::string& path) {
    if (fits(value)) return;
    const auto name = path.substr(path.rfind('.') + 1);
    std::string message = fmt::format("'{}' must be {}, found {}", name, expected, describe(value));
    if (!anchor.empty()) message += " (" + anchor + ")";
    context.complain(value, rule, path, std::move(message), expected);
  };
}

}  // namespace

FieldCheck a_text(bool may_be_empty) {
  return [may_be_empty](SchemaContext& context, const YamlNode& value, const std::string& path) {
    const auto name = path.substr(path.rfind('.') + 1);
    if (!value.is_text()) {
      const bool scalar = value.kind == YamlNode::Kind::kScalar && !is_null(value);
      context.complain(value, "type", path, fmt::format("'{}' must be a text, found {}", name, describe(value)),
                       scalar ? fmt::format("a text; written with quotes: \"{}\"", value.text) : "a text");
    } else if (!may_be_empty && value.text.empty()) {
      context.complain(value, "type", path, fmt::format("'{}' must not be empty", name), "a text that is not empty");
    }
  };
}

FieldCheck a_lax_int() {
  return scalar("an integer", [](const YamlNode& v) { return lax_int(v).has_value(); });
}

FieldCheck a_positive_lax_int() {
  return scalar("an integer above 0", [](const YamlNode& v) { return lax_int(v).value_or(0) > 0; });
}

FieldCheck a_size() {
  return scalar("an integer without quotes, greater than 0", [](const YamlNode& v) { return strict_int(v).value_or(0) > 0; });
}

FieldCheck a_lax_bool() {
  return scalar("true or false", [](const YamlNode& v) { return lax_bool(v).has_value(); });
}

FieldCheck one_of(std::vector<std::string> words) {
  return [words = std::move(words)](SchemaContext& context, const YamlNode& value, const std::string& path) {
    if (value.is_text() && std::ranges::find(words, value.text) != words.end()) return;
    const auto name = path.substr(path.rfind('.') + 1);
    context.complain(value, "type", path, fmt::format("'{}' must be one of {}, found {}", name, join(words, ", "), describe(value)),
                     "one of " + join(words, ", "), value.kind == YamlNode::Kind::kScalar ? nearest(value.text, words).value_or("") : "");
  };
}

FieldCheck a_literal(bool wanted, const char* rule) {
  return scalar(
      wanted ? "true" : "false", [wanted](const YamlNode& v) { return is_literal(v, wanted); }, rule);
}

FieldCheck list_of(FieldCheck item) {
  return [item = std::move(item)](SchemaContext& context, const YamlNode& value, const std::string& path) {
    if (value.kind != YamlNode::Kind::kSequence) {
      context.complain(value, "type", path, fmt::format("'{}' must be a list, found {}", path.substr(path.rfind('.') + 1), describe(value)), "a list");
      return;
    }
    for (std::size_t i = 0; i < value.items.size(); ++i) item(context, value.items[i], fmt::format("{}[{}]", path, i));
  };
}

FieldCheck optional(FieldCheck check) {
  return [check = std::move(check)](SchemaContext& context, const YamlNode& value, const std::string& path) {
    if (!is_null(value)) check(context, value, path);
  };
}

}  // namespace pawl::plan
