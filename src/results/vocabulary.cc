#include "results/vocabulary.h"

#include <fmt/format.h>

#include "codec/yaml.h"
#include "results/deployment.h"

namespace pawl::results {
namespace {

using codec::YamlDocument;
using codec::YamlNode;

/// The items of the list `key` of the root, each a mapping unless `texts`.
Status each_item(const YamlDocument& document, const char* key, const std::function<Status(const YamlNode&)>& take) {
  const YamlNode* list = document.root.kind == YamlNode::Kind::kMapping ? document.root.find(key) : nullptr;
  if (list == nullptr || list->kind != YamlNode::Kind::kSequence) return bad_input(fmt::format("{}: a list is missing", key)).at(document.place(document.root));
  for (const YamlNode& item : list->items) PAWL_TRY(take(item));
  return {};
}

Result<std::string> text_member(const YamlDocument& document, const YamlNode& item, const char* key) {
  const YamlNode* found = item.kind == YamlNode::Kind::kMapping ? item.find(key) : nullptr;
  if (found == nullptr || found->kind != YamlNode::Kind::kScalar || found->text.empty()) {
    return bad_input(fmt::format("{} is missing", key)).at(document.place(item));
  }
  return std::string(found->text);
}

bool flag_member(const YamlNode& item, const char* key) {
  const YamlNode* found = item.find(key);
  return found != nullptr && found->type() == YamlNode::Type::kBool && (found->text == "true" || found->text == "yes");
}

}  // namespace

std::string hardware_word(std::string hw) {
  hw = lower_case(std::move(hw));
  if (const auto colon = hw.rfind(':'); colon != std::string::npos) hw.erase(0, colon + 1);
  hw = hw.substr(0, hw.find('-'));
  const auto bar = hw.rfind('_');
  if (bar != std::string::npos && bar + 1 < hw.size() && hw.find_first_not_of("0123456789", bar + 1) == std::string::npos) hw.erase(bar);
  return hw;
}

Result<Vocabulary> Vocabulary::parse(std::string yaml, const std::string& name, ModelNames models) {
  PAWL_ASSIGN(const YamlDocument document, codec::parse_yaml(std::move(yaml), name));
  Vocabulary v;
  v.models_ = std::move(models);
  PAWL_TRY(each_item(document, "hardware", [&](const YamlNode& item) -> Status {
    PAWL_ASSIGN(const std::string key, text_member(document, item, "key"));
    if (!v.hardware_.insert(key).second) return bad_input(fmt::format("{}: stands here twice", key)).at(document.place(item));
    return {};
  }));
  PAWL_TRY(each_item(document, "frameworks", [&](const YamlNode& item) -> Status {
    PAWL_ASSIGN(const std::string key, text_member(document, item, "key"));
    const bool by_default = flag_member(item, "disagg-default");
    if (!v.frameworks_.emplace(key, FrameworkName{key, true, false, by_default}).second) {
      return bad_input(fmt::format("{}: stands here twice", key)).at(document.place(item));
    }
    const YamlNode* aliases = item.find("aliases");
    if (aliases == nullptr) return {};
    if (aliases->kind != YamlNode::Kind::kSequence) return bad_input("not a list").at(document.place(*aliases));
    for (const YamlNode& alias : aliases->items) {
      PAWL_ASSIGN(const std::string other, text_member(document, alias, "name"));
      if (!v.frameworks_.emplace(other, FrameworkName{key, true, flag_member(alias, "disagg"), by_default}).second) {
        return bad_input(fmt::format("{}: stands here twice", other)).at(document.place(alias));
      }
    }
    return {};
  }));
  PAWL_TRY(each_item(document, "precisions", [&](const YamlNode& item) -> Status {
    PAWL_ASSIGN(const std::string key, text_member(document, item, "key"));
    v.precisions_.emplace(key, key);
    const YamlNode* aliases = item.find("aliases");
    if (aliases == nullptr) return {};
    for (const YamlNode& alias : aliases->items) v.precisions_.emplace(std::string(alias.text), key);
    return {};
  }));
  PAWL_TRY(each_item(document, "spec-methods", [&](const YamlNode& item) -> Status {
    v.spec_methods_.insert(std::string(item.text));
    return {};
  }));
  return v;
}

Result<Vocabulary> Vocabulary::load(const io::Assets& assets) {
  PAWL_ASSIGN(ModelNames models, ModelNames::load(assets));
  PAWL_ASSIGN(std::string yaml, assets.read("vocabulary.yaml"));
  return parse(std::move(yaml), "vocabulary.yaml", std::move(models));
}

std::optional<std::string> Vocabulary::hardware(const std::string& raw) const {
  std::string word = hardware_word(raw);
  if (!hardware_.contains(word)) return std::nullopt;
  return word;
}

FrameworkName Vocabulary::framework(const std::string& raw) const {
  std::string word = lower_case(raw);
  const auto found = frameworks_.find(word);
  if (found != frameworks_.end()) return found->second;
  FrameworkName unknown;
  unknown.key = std::move(word);
  return unknown;
}

std::pair<std::string, bool> Vocabulary::precision(const std::string& raw) const {
  std::string word = lower_case(raw);
  const auto found = precisions_.find(word);
  if (found != precisions_.end()) return {found->second, true};
  return {std::move(word), false};
}

std::pair<std::string, bool> Vocabulary::spec_method(const std::string& raw) const {
  std::string word = lower_case(raw);
  if (word.empty()) word = "none";
  const bool known = spec_methods_.contains(word);
  return {std::move(word), known};
}

}  // namespace pawl::results
