#include "plan/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"

namespace pawl::plan {

using codec::Json;
using codec::YamlNode;

const std::vector<Layout>& known_layouts() {
  const auto under = [](const std::string& name, const std::string& configs, const std::string& root) {
    return Layout{name, {configs + "amd-master.yaml", configs + "nvidia-master.yaml"}, configs + "runners.yaml", root + "perf-changelog.yaml"};
  };
  static const std::vector<Layout> layouts{under("inferencex-e2e", "inferencex-e2e/configs/", "inferencex-e2e/"), under("root", "configs/", ""),
                                           under("historical", ".github/configs/", "")};
  return layouts;
}

std::optional<Layout> find_layout(const std::vector<std::string>& paths) {
  const auto has = [&](const std::string& path) { return std::ranges::find(paths, path) != paths.end(); };
  for (const Layout& layout : known_layouts()) {
    if (has(layout.changelog) && has(layout.runners) && std::ranges::any_of(layout.masters, has)) {
      Layout found = layout;
      std::erase_if(found.masters, [&](const std::string& master) { return !has(master); });
      return found;
    }
  }
  return std::nullopt;
}

std::string Recipe::text(const char* name) const {
  const auto it = config.find(name);
  return it != config.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Result<Catalogue> Catalogue::read(const Layout& layout, const std::map<std::string, std::string>& texts) {
  Catalogue catalogue;
  catalogue.layout_ = layout;
  for (const std::string& master : layout.masters) {
    const auto bytes = texts.find(master);
    if (bytes == texts.end()) return not_found(fmt::format("{} does not exist", master));
    PAWL_ASSIGN(codec::YamlDocument parsed, codec::parse_yaml(bytes->second, layout.shown_folder + master));
    auto document = std::make_unique<codec::YamlDocument>(std::move(parsed));
    if (document->root.kind != YamlNode::Kind::kMapping) {
      return bad_input("a master file must be a mapping from config keys to entries").at(document->place(document->root));
    }
    for (const codec::YamlEntry& entry : document->root.entries) {
      const std::string& key = entry.key.text;
      if (key.find('*') != std::string::npos) return bad_input(fmt::format("the config key '{}' must not contain '*'", key)).at(document->place(entry.key));
      if (entry.value.kind != YamlNode::Kind::kMapping)
        return bad_input(fmt::format("the entry of {} must be a mapping", key)).at(document->place(entry.value));
      PAWL_ASSIGN(Json config, codec::yaml_value(*document, entry.value));
      const auto same = std::ranges::find(catalogue.recipes_, key, &Recipe::key);
      if (same != catalogue.recipes_.end()) {
        if (same->file != master)
          return bad_input(fmt::format("Duplicate configuration keys: {} is in {} too", key, same->file)).at(document->place(entry.key));
        *same = Recipe{key, master, &entry.value, std::move(config)};  // inside one file the last one wins, as in the reference
        continue;
      }
      catalogue.recipes_.push_back({key, master, &entry.value, std::move(config)});
    }
    catalogue.documents_.emplace_back(master, std::move(document));
  }
  return catalogue;
}

std::vector<std::string> Catalogue::keys() const {
  std::vector<std::string> all;
  all.reserve(recipes_.size());
  for (const Recipe& recipe : recipes_) all.push_back(recipe.key);
  return all;
}

Result<const Recipe*> Catalogue::find(std::string_view key) const {
  const auto found = std::ranges::find(recipes_, key, &Recipe::key);
  if (found != recipes_.end()) return &*found;
  const auto all = keys();
  const auto near = nearest(key, all);
  return not_found(fmt::format("no recipe '{}' among the {} of this catalogue", key, recipes_.size()),
                   near ? fmt::format("did you mean {}?", *near) : "pawl catalog list --catalog DIR shows them all");
}

const codec::YamlDocument& Catalogue::document(const std::string& file) const {
  const auto found = std::ranges::find_if(documents_, [&](const auto& d) { return d.first == file; });
  PAWL_ASSERT(found != documents_.end());
  return *found->second;
}

SourcePlace Catalogue::place(const Recipe& recipe, const YamlNode& node) const { return document(recipe.file).place(node); }

std::string engine_name(std::string_view framework) {
  const std::pair<std::string_view, std::string_view> names[] = {{"sglang", "SGLang"}, {"vllm", "vLLM"},          {"trt", "TensorRT-LLM"},
                                                                 {"atom", "ATOM"},     {"llamacpp", "llama.cpp"}, {"tilert", "TileRT"}};
  for (const auto& [part, name] : names) {
    if (framework.find(part) != std::string_view::npos) return std::string(name);
  }
  return std::string(framework);
}

}  // namespace pawl::plan
