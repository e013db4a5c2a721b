#include "evals/node_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::evals {

using codec::YamlNode;

void NodeReader::wrong(const YamlNode& node, std::string message, std::string remedy) {
  found_.push_back(bad_input(std::move(message), std::move(remedy)).at(document_.place(node)));
}

const YamlNode* NodeReader::need(const YamlNode& mapping, const std::string& key) {
  const YamlNode* node = mapping.find(key);
  if (node == nullptr) wrong(mapping, fmt::format("{} is missing", key));
  return node;
}

bool NodeReader::is_mapping(const YamlNode& node, const std::string& what, const std::vector<std::string>& keys) {
  if (node.kind != YamlNode::Kind::kMapping) {
    wrong(node, fmt::format("{} must be a mapping with the keys {}", what, join(keys, ", ")));
    return false;
  }
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const YamlNode& key = node.entries[i].key;
    if (std::ranges::find(keys, key.text) == keys.end()) {
      const auto near = nearest(key.text, keys);
      wrong(key, fmt::format("{}: unknown key {}", what, key.text), near ? fmt::format("did you mean {}?", *near) : "known keys: " + join(keys, ", "));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (node.entries[j].key.text == key.text) wrong(key, fmt::format("{}: {} stands here twice", what, key.text));
    }
  }
  return true;
}

bool NodeReader::is_list(const YamlNode& node, const std::string& what) {
  if (node.kind == YamlNode::Kind::kSequence && !node.items.empty()) return true;
  wrong(node, fmt::format("{} must be a list of at least one", what));
  return false;
}

std::string NodeReader::text(const YamlNode* node, const std::string& what, bool may_be_empty) {
  if (node == nullptr) return {};
  if (node->kind != YamlNode::Kind::kScalar || (node->text.empty() && !may_be_empty)) {
    wrong(*node, fmt::format("{} must be a text{}", what, may_be_empty ? "" : " that is not empty"));
    return {};
  }
  return node->text;
}

std::int64_t NodeReader::whole(const YamlNode* node, const std::string& what, std::int64_t least) {
  if (node == nullptr) return least;
  const auto value = node->kind == YamlNode::Kind::kScalar ? parse_int(node->text) : std::nullopt;
  if (!value || *value < least) {
    wrong(*node, fmt::format("{} must be a whole number of at least {}", what, least));
    return least;
  }
  return *value;
}

double NodeReader::share(const YamlNode* node, const std::string& what) {
  if (node == nullptr) return 0;
  const auto value = node->kind == YamlNode::Kind::kScalar ? parse_double(node->text) : std::nullopt;
  if (!value || *value < 0 || *value > 1) {
    wrong(*node, fmt::format("{} must be a number from 0 to 1", what));
    return 0;
  }
  return *value;
}

bool NodeReader::truth(const YamlNode* node, const std::string& what) {
  if (node == nullptr) return false;
  if (node->kind == YamlNode::Kind::kScalar && node->type() == YamlNode::Type::kBool) {
    return node->text == "true" || node->text == "True" || node->text == "TRUE" || node->text == "yes" || node->text == "on";
  }
  wrong(*node, fmt::format("{} must be true or false", what));
  return false;
}

Status NodeReader::outcome() && {
  if (found_.empty()) return {};
  Error first = std::move(found_.front());
  for (std::size_t i = 1; i < found_.size(); ++i) {
    const SourcePlace& where = *found_[i].place;
    if (!first.remedy.empty()) first.remedy += "\n  ";
    first.remedy += fmt::format("also {}:{}:{}: {}", where.file, where.line, where.column, found_[i].message);
  }
  return first;
}

}  // namespace pawl::evals
