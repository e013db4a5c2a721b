#include "plan/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "plan/typing.h"

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

void Catalogue::take_master(const std::string& master, const std::string& bytes, std::vector<LoadProblem>& problems) {
  auto parsed = codec::parse_yaml(bytes, layout_.shown_folder + master);
  if (!parsed) {
    problems.push_back({"yaml", {}, std::move(parsed).error()});
    return;
  }
  documents_.emplace_back(master, std::make_unique<codec::YamlDocument>(std::move(*parsed)));
  const codec::YamlDocument& document = *documents_.back().second;
  const auto complain = [&](const char* rule, const std::string& key, const YamlNode& node, std::string message, std::string remedy = {}) {
    problems.push_back({rule, key, bad_input(std::move(message), std::move(remedy)).at(document.place(node))});
  };
  if (document.root.kind != YamlNode::Kind::kMapping) {
    complain("M-02", {}, document.root, "a master file must be a mapping from config keys to entries");
    return;
  }
  for (const codec::YamlEntry& entry : document.root.entries) {
    const std::string& key = entry.key.text;
    if (!entry.key.is_text()) {
      complain("M-03", key, entry.key, fmt::format("the config key {} is not a text", key), "put it in quotes");
      continue;
    }
    if (key.find('*') != std::string::npos) {
      complain("M-03", key, entry.key, fmt::format("the config key '{}' must not contain '*'", key));
      continue;
    }
    Recipe recipe{key, master, &entry.value, {}};
    if (entry.value.kind != YamlNode::Kind::kMapping) {
      complain("M-05", key, entry.value, fmt::format("{} failed validation: the entry must be a mapping", key));
    } else if (auto config = codec::yaml_value(document, entry.value)) {
      recipe.config = std::move(*config);
    } else {
      problems.push_back({"value", key, std::move(config).error()});
    }
    const auto [slot, fresh] = index_.try_emplace(key, recipes_.size());
    if (fresh) {
      recipes_.push_back(std::move(recipe));
    } else if (Recipe& same = recipes_[slot->second]; same.file != master) {
      complain("M-04", key, entry.key, fmt::format("Duplicate configuration keys: {} is in {} too", key, same.file));
    } else {
      same = std::move(recipe);  // inside one file the last one wins, as in the reference
    }
  }
}

void Catalogue::take_runners(const std::string& bytes, std::vector<LoadProblem>& problems) {
  auto parsed = codec::parse_yaml(bytes, layout_.shown_folder + layout_.runners);
  if (!parsed) {
    problems.push_back({"yaml", {}, std::move(parsed).error()});
    return;
  }
  runners_ = std::make_unique<codec::YamlDocument>(std::move(*parsed));
  if (const YamlNode* labels = runners_->root.find("labels")) {
    for (const codec::YamlEntry& label : labels->entries) {
      std::vector<std::string>& nodes = labels_[label.key.text];
      nodes.clear();
      for (const YamlNode& node : label.value.items) nodes.push_back(node.text);
    }
  }
  if (const YamlNode* hardware = runners_->root.find("hardware")) {
    for (const codec::YamlEntry& label : hardware->entries) {
      const auto number = [&](const char* kebab, const char* snake) {
        const YamlNode* node = label.value.find(kebab) != nullptr ? label.value.find(kebab) : label.value.find(snake);
        return node != nullptr ? lax_int(*node).value_or(0) : 0;
      };
      hardware_[label.key.text] = {number("available-cpu-dram-mib", "available_cpu_dram_mib"), number("gpus-per-node", "gpus_per_node")};
    }
  }
}

Catalogue Catalogue::read_leniently(const Layout& layout, const std::map<std::string, std::string>& texts, std::vector<LoadProblem>& problems) {
  Catalogue catalogue;
  catalogue.layout_ = layout;
  for (const std::string& master : layout.masters) {
    const auto bytes = texts.find(master);
    if (bytes != texts.end()) {
      catalogue.take_master(master, bytes->second, problems);
    } else {
      problems.push_back({"M-01", {}, not_found(fmt::format("{} does not exist", layout.shown_folder + master))});
    }
  }
  if (const auto bytes = texts.find(layout.runners); bytes != texts.end()) catalogue.take_runners(bytes->second, problems);
  return catalogue;
}

Result<Catalogue> Catalogue::read(const Layout& layout, const std::map<std::string, std::string>& texts) {
  std::vector<LoadProblem> problems;
  Catalogue catalogue = read_leniently(layout, texts, problems);
  if (!problems.empty()) return std::move(problems.front().error);
  return catalogue;
}

std::vector<std::string> Catalogue::keys() const {
  std::vector<std::string> all;
  all.reserve(recipes_.size());
  for (const Recipe& recipe : recipes_) all.push_back(recipe.key);
  return all;
}

Result<const Recipe*> Catalogue::find(std::string_view key) const {
  const auto found = index_.find(std::string(key));
  if (found != index_.end()) return &recipes_[found->second];
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

const std::vector<std::string>* Catalogue::nodes(const std::string& label) const {
  const auto found = labels_.find(label);
  return found == labels_.end() ? nullptr : &found->second;
}

const Hardware* Catalogue::hardware(const std::string& label) const {
  const auto found = hardware_.find(label);
  return found == hardware_.end() ? nullptr : &found->second;
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
