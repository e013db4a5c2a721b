#include "results/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "codec/yaml.h"

namespace pawl::results {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

Status read_texts(const codec::YamlDocument& document, const codec::YamlNode& node, std::vector<std::string>& out) {
  if (node.kind != codec::YamlNode::Kind::kSequence) return bad_input("not a list").at(document.place(node));
  for (const codec::YamlNode& item : node.items) {
    if (item.kind != codec::YamlNode::Kind::kScalar || item.text.empty()) return bad_input("not a text").at(document.place(item));
    out.push_back(item.text);
  }
  return {};
}

}  // namespace

Result<ModelNames> ModelNames::parse(std::string yaml, const std::string& name) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::move(yaml), name));
  const codec::YamlNode* models = document.root.kind == codec::YamlNode::Kind::kMapping ? document.root.find("models") : nullptr;
  if (models == nullptr || models->kind != codec::YamlNode::Kind::kSequence) return bad_input("models: a list is missing").at(document.place(document.root));
  ModelNames names;
  for (const codec::YamlNode& item : models->items) {
    if (item.kind != codec::YamlNode::Kind::kMapping) return bad_input("a model is a mapping with key and display").at(document.place(item));
    ModelName model;
    for (const codec::YamlEntry& entry : item.entries) {
      const std::string& key = entry.key.text;
      if (key == "key") {
        model.key = entry.value.text;
      } else if (key == "display") {
        model.display = entry.value.text;
      } else if (key == "label") {
        model.label = entry.value.text;
      } else if (key == "aliases") {
        PAWL_TRY(read_texts(document, entry.value, model.aliases));
      } else if (key == "paths") {
        PAWL_TRY(read_texts(document, entry.value, model.paths));
      } else {
        return bad_input(fmt::format("{}: unknown key", key), "known keys: key, display, label, aliases, paths").at(document.place(entry.key));
      }
    }
    if (model.key.empty() || model.display.empty()) return bad_input("a model needs key and display").at(document.place(item));
    if (std::ranges::find(names.names_, model.key, &ModelName::key) != names.names_.end()) {
      return bad_input(fmt::format("{}: stands here twice", model.key)).at(document.place(item));
    }
    if (model.label.empty()) model.label = model.display;
    names.names_.push_back(std::move(model));
  }
  return names;
}

Result<ModelNames> ModelNames::load(const io::Assets& assets) {
  PAWL_ASSIGN(std::string yaml, assets.read("models.yaml"));
  return parse(std::move(yaml), "models.yaml");
}

std::optional<std::string> ModelNames::resolve(const std::string& prefix, const std::string& path) const {
  const auto by_prefix = [&](const std::string& wanted) -> std::optional<std::string> {
    if (const auto found = std::ranges::find(names_, wanted, &ModelName::key); found != names_.end()) return found->key;
    for (const ModelName& model : names_) {
      if (std::ranges::find(model.aliases, wanted) != model.aliases.end()) return model.key;
    }
    return std::nullopt;
  };
  if (!prefix.empty()) {
    const std::string wanted = lower(prefix);
    if (const auto found = by_prefix(wanted)) return found;
    for (const std::string_view precision : {"-fp4", "-fp8", "-mxfp4", "-nvfp4"}) {
      const auto at = wanted.find(precision);
      if (at == std::string::npos) continue;
      if (const auto found = by_prefix(wanted.substr(0, at))) return found;
    }
  }
  for (const ModelName& model : names_) {
    if (std::ranges::find(model.paths, path) != model.paths.end()) return model.key;
  }
  return std::nullopt;
}

std::string ModelNames::display(const std::string& key) const {
  const auto found = std::ranges::find(names_, key, &ModelName::key);
  return found == names_.end() ? key : found->display;
}

bool ModelNames::knows_display(const std::string& display) const { return std::ranges::find(names_, display, &ModelName::display) != names_.end(); }

}  // namespace pawl::results
