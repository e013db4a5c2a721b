#include "plan/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "plan/typing.h"

namespace pawl::plan {

using codec::Json;
using codec::YamlNode;

Result<CatalogueTexts> collect_catalogue(const std::shared_ptr<const Format>& format, const FileReader& read, const std::string& layout_name,
                                         const std::string& generation) {
  std::vector<Layout> layouts = Format::layouts(format);
  if (!layout_name.empty()) {
    PAWL_ASSIGN(Layout chosen, Format::layout(format, layout_name));
    layouts = {std::move(chosen)};
  }
  if (!generation.empty()) PAWL_TRY(format->generation(generation));
  std::optional<CatalogueTexts> found;
  for (Layout& layout : layouts) {
    CatalogueTexts here{std::move(layout), {}};
    here.layout.generation = generation;
    const auto take = [&](const std::string& path) -> Result<bool> {
      PAWL_ASSIGN(auto bytes, read(path));
      if (!bytes) return false;
      here.texts[path] = std::move(*bytes);
      return true;
    };
    PAWL_ASSIGN(const bool runners, take(here.layout.runners));
    if (!runners) continue;
    std::vector<std::string> masters;
    for (const std::string& master : here.layout.masters) {
      PAWL_ASSIGN(const bool there, take(master));
      if (there) masters.push_back(master);
    }
    if (masters.empty()) continue;
    if (found) {
      return Error{ErrorClass::kConflict, ExitStatus::kBadInput, fmt::format("two layouts fit: {} and {}", found->layout.name, here.layout.name),
                   fmt::format("choose one: --layout {}", found->layout.name)};
    }
    here.layout.masters = std::move(masters);
    PAWL_TRY(take(here.layout.changelog));
    found = std::move(here);
  }
  if (!found) {
    std::vector<std::string> wanted;
    for (const Layout& layout : Format::layouts(format)) {
      if (layout_name.empty() || layout.name == layout_name) wanted.push_back(layout.runners);
    }
    return not_found("there is no recipe catalogue", fmt::format("a catalogue has *-master.yaml beside {}", join(wanted, " or ")));
  }
  for (const std::string& path : named_recipe_files(found->layout, found->texts)) {
    PAWL_ASSIGN(auto bytes, read(path));
    if (bytes) found->texts[path] = std::move(*bytes);
  }
  return std::move(*found);
}

std::optional<std::string> recipe_path(const Recipe& recipe, const std::string& written) {
  if (!recipe.readable) return std::nullopt;
  const YamlNode *dir = recipe.node->find("srt-recipe-dir"), *multi = recipe.node->find("multinode");
  if (dir == nullptr || !dir->is_text() || multi == nullptr) return std::nullopt;
  return fmt::format("benchmarks/{}_node/srt-slurm-recipes/{}/{}", truthy(*multi) ? "multi" : "single", std::string_view(dir->text), written);
}

namespace {

constexpr const char* kSharedBlocks[] = {"fixed-sequence-single", "fixed-sequence-multi", "agentic-single", "agentic-multi", "telemetry-dcgm"};

std::string shared_block_path(const std::string& name) { return "configs/srt-recipes/" + name + ".yaml"; }

/// Calls `each` with every search-space entry of a recipe.
void for_each_space(const Recipe& recipe, const auto& each) {
  const YamlNode* scenarios = recipe.node->find("scenarios");
  if (scenarios == nullptr) return;
  for (const codec::YamlEntry& scenario : scenarios->entries) {
    for (const YamlNode& item : scenario.value.items) {
      const YamlNode* space = item.find("search-space");
      if (space == nullptr) continue;
      for (const YamlNode& entry : space->items) {
        if (entry.kind == YamlNode::Kind::kMapping) each(entry);
      }
    }
  }
}

/// True when a recipe has the mark of a generation: "config.KEY", "entry.KEY", "settings.NAME".
bool has_mark(const Recipe& recipe, std::string_view mark) {
  const auto dot = mark.find('.');
  const std::string_view where = mark.substr(0, dot), key = mark.substr(dot + 1);
  if (where == "config") return recipe.node->find(key) != nullptr;
  bool found = false;
  for_each_space(recipe, [&](const YamlNode& entry) {
    if (where == "entry") found = found || entry.find(key) != nullptr;
    if (where != "settings") return;
    for (const char* role : {"prefill", "decode", "worker"}) {
      const YamlNode* worker = entry.find(role);
      const YamlNode* settings = worker != nullptr ? worker->find("additional-settings") : nullptr;
      if (settings == nullptr) continue;
      for (const YamlNode& setting : settings->items)
        found = found || (setting.is_text() && setting.text.starts_with(key) && setting.text.substr(key.size()).starts_with('='));
    }
  });
  return found;
}

}  // namespace

std::vector<std::string> named_recipe_files(const Layout& layout, const std::map<std::string, std::string>& texts) {
  std::vector<std::string> paths;
  if (!layout.format) return paths;
  const bool looks = std::ranges::any_of(layout.generations, [&](const std::string& id) {
    const auto generation = layout.format->generation(id);
    return generation && (*generation)->check_variant;
  });
  if (!looks && layout.generation.empty()) return paths;
  std::vector<LoadProblem> problems;
  const Catalogue catalogue = Catalogue::read_leniently(layout, texts, problems);
  if (catalogue.generation_or_null() == nullptr || !catalogue.generation().check_variant) return paths;
  for (const Recipe& recipe : catalogue.recipes()) {
    for_each_space(recipe, [&](const YamlNode& entry) {
      for (const char* key : {"srt-recipe", "eval-srt-recipe"}) {
        const YamlNode* named = entry.find(key);
        if (named == nullptr || !named->is_text()) continue;
        const auto name = parse_recipe_name(named->text);
        const auto path = name ? recipe_path(recipe, name->file) : std::nullopt;
        if (path) paths.push_back(layout.project + *path);
      }
    });
  }
  for (const char* name : kSharedBlocks) paths.push_back(layout.project + shared_block_path(name));
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
  return paths;
}

std::string Recipe::text(const char* name) const {
  if (!readable) return {};
  const YamlNode* value = node->find(name);
  if (value == nullptr || value->kind != YamlNode::Kind::kScalar) return {};
  const YamlNode::Type type = value->type();
  return type == YamlNode::Type::kText || type == YamlNode::Type::kTimestamp ? std::string(value->text) : std::string();
}

Json Recipe::config() const {
  static const codec::YamlDocument nowhere{};  // places are for errors, and `readable` says that there are none
  if (!readable) return {};
  auto value = codec::yaml_value(nowhere, *node);
  return value ? std::move(*value) : Json();
}

void Catalogue::take_master(const std::string& master, std::string bytes, const codec::YamlLimits& limits, std::vector<LoadProblem>& problems) {
  auto parsed = codec::parse_yaml(std::move(bytes), layout_.shown_folder + master, limits);
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
    const std::string key = entry.key.text;
    if (!entry.key.is_text()) {
      complain("M-03", key, entry.key, fmt::format("the config key {} is not a text", key), "put it in quotes");
      continue;
    }
    if (key.find('*') != std::string::npos) {
      complain("M-03", key, entry.key, fmt::format("the config key '{}' must not contain '*'", key));
      continue;
    }
    Recipe recipe{key, master, &entry.value};
    if (entry.value.kind != YamlNode::Kind::kMapping) {
      complain("M-05", key, entry.value, fmt::format("{} failed validation: the entry must be a mapping", key));
    } else if (auto held = codec::yaml_values_fit(document, entry.value); held) {
      recipe.readable = true;
    } else {
      problems.push_back({"value", key, std::move(held).error()});
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

void Catalogue::take_runners(std::string bytes, const codec::YamlLimits& limits, std::vector<LoadProblem>& problems) {
  auto parsed = codec::parse_yaml(std::move(bytes), layout_.shown_folder + layout_.runners, limits);
  if (!parsed) {
    problems.push_back({"yaml", {}, std::move(parsed).error()});
    return;
  }
  runners_ = std::make_unique<codec::YamlDocument>(std::move(*parsed));
  if (const YamlNode* labels = layout_.flat_runners ? &runners_->root : runners_->root.find("labels")) {
    for (const codec::YamlEntry& label : labels->entries) {
      std::vector<std::string>& nodes = labels_[label.key.text];
      nodes.clear();
      for (const YamlNode& node : label.value.items) nodes.push_back(node.text);
    }
  }
  const auto machine = [](const YamlNode& record) {
    const auto number = [&](const char* kebab, const char* snake) {
      const YamlNode* node = record.find(kebab) != nullptr ? record.find(kebab) : record.find(snake);
      return node != nullptr ? lax_int(*node).value_or(0) : 0;
    };
    return Hardware{number("available-cpu-dram-mib", "available_cpu_dram_mib"), number("gpus-per-node", "gpus_per_node")};
  };
  if (const YamlNode* hardware = runners_->root.find("hardware")) {
    for (const codec::YamlEntry& label : hardware->entries) hardware_[label.key.text] = machine(label.value);
  }
  const YamlNode* clusters = runners_->root.find("clusters");
  if (clusters == nullptr) return;
  std::map<std::string, std::vector<Hardware>> families;
  for (const codec::YamlEntry& cluster : clusters->entries) {
    const Hardware found = machine(cluster.value);
    hardware_["cluster:" + cluster.key.text] = found;
    families[std::string(cluster.key.text.substr(0, cluster.key.text.find('-')))].push_back(found);
  }
  for (const auto& [family, all] : families) {
    const bool agree = std::ranges::all_of(all, [&](const Hardware& h) { return h.gpus_per_node == all[0].gpus_per_node; });
    if (agree) hardware_.try_emplace(family, Hardware{0, all[0].gpus_per_node});
  }
}

void Catalogue::find_generation(std::vector<LoadProblem>& problems) {
  if (!layout_.format) return;
  if (!layout_.generation.empty()) {
    auto chosen = layout_.format->generation(layout_.generation);
    if (chosen)
      generation_ = *chosen;
    else
      problems.push_back({"generation", {}, std::move(chosen).error()});
    return;
  }
  for (const std::string& id : layout_.generations) {
    const auto candidate = layout_.format->generation(id);
    if (!candidate) continue;
    if (generation_ == nullptr) generation_ = *candidate;
    if (layout_.generations.size() == 1) return;
    for (const std::string& mark : (*candidate)->marks) {
      if (!std::ranges::any_of(recipes_, [&](const Recipe& recipe) { return has_mark(recipe, mark); })) continue;
      generation_ = *candidate;
      return;
    }
  }
}

void Catalogue::take_recipe_files(const std::map<std::string, std::string>& texts) {
  if (generation_ == nullptr || !generation_->check_variant) return;
  for (const auto& [path, bytes] : texts) {
    if (!path.starts_with(layout_.project + "benchmarks/") || !path.ends_with(".yaml")) continue;
    recipe_files_.emplace(path.substr(layout_.project.size()), RecipeFile::read(bytes, layout_.shown_folder + path));
  }
  for (const char* name : kSharedBlocks) {
    const auto bytes = texts.find(layout_.project + shared_block_path(name));
    if (bytes == texts.end()) continue;
    const auto file = RecipeFile::read(bytes->second, layout_.shown_folder + bytes->first);
    if (!file) continue;
    if (const auto block = file->variant("")) shared_blocks_[name] = *block;
  }
}

const Generation& Catalogue::generation() const {
  PAWL_ASSERT(generation_ != nullptr);
  return *generation_;
}

Result<Json> Catalogue::variant(const std::string& path, const Json* below) const {
  const auto colon = path.find(':');
  const std::string file = path.substr(0, colon);
  const auto found = recipe_files_.find(file);
  if (found == recipe_files_.end()) return not_found(fmt::format("the recipe {} does not exist", layout_.project + file), "a file of the recipe folder");
  if (!found->second) return found->second.error();
  const std::string_view selector = colon == std::string::npos ? std::string_view() : std::string_view(path).substr(colon + 1);
  // On one node the point picks its variant of a bundle, so that none needs to be named.
  if (selector.empty() && found->second->is_bundle() && path.starts_with("benchmarks/single_node/")) return found->second->variant("base", below);
  return found->second->variant(selector, below);
}

const Json* Catalogue::shared_block(const std::string& name) const {
  const auto found = shared_blocks_.find(name);
  return found == shared_blocks_.end() ? nullptr : &found->second;
}

Catalogue Catalogue::read_leniently(const Layout& layout, std::map<std::string, std::string> texts, std::vector<LoadProblem>& problems,
                                    const codec::YamlLimits& limits) {
  Catalogue catalogue;
  catalogue.layout_ = layout;
  for (auto given = layout.masters.begin(); given != layout.masters.end(); ++given) {
    const std::string& master = *given;
    const auto bytes = texts.find(master);
    if (std::find(layout.masters.begin(), given, master) != given) {
      const auto first = std::ranges::find(catalogue.recipes_, master, &Recipe::file);
      if (first == catalogue.recipes_.end()) continue;  // a file without entries may be named twice, as with the reference
      problems.push_back({"M-04", first->key,
                          bad_input(fmt::format("Duplicate configuration keys: {}{} is given twice, {} and all others of it are there already",
                                                layout.shown_folder, master, first->key),
                                    "name every master file once")});
    } else if (bytes != texts.end()) {
      catalogue.take_master(master, std::move(bytes->second), limits, problems);
    } else {
      problems.push_back({"M-01", {}, not_found(fmt::format("{} does not exist", layout.shown_folder + master))});
    }
  }
  if (const auto bytes = texts.find(layout.runners); bytes != texts.end()) catalogue.take_runners(std::move(bytes->second), limits, problems);
  catalogue.find_generation(problems);
  catalogue.take_recipe_files(texts);
  return catalogue;
}

Result<Catalogue> Catalogue::read(const Layout& layout, std::map<std::string, std::string> texts, const codec::YamlLimits& limits) {
  std::vector<LoadProblem> problems;
  Catalogue catalogue = read_leniently(layout, std::move(texts), problems, limits);
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
