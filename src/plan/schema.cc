#include "plan/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "plan/object_check.h"
#include "plan/recipe_file.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::YamlEntry;
using codec::YamlNode;

constexpr const char* kScenarios[] = {"fixed-seq-len", "agentic-coding"};
constexpr const char* kBound[] = {"CONFIG_FILE", "EVAL_CONFIG_FILE", "SRT_RECIPE", "EVAL_SRT_RECIPE"};
/// The one framework that keeps its own way of naming recipes in 2026-10.
constexpr const char* kOwnRecipes = "llmd-vllm";

/// The value of a key in either spelling; null when it is missing.
const YamlNode* either(const YamlNode& node, std::string_view kebab) {
  const YamlNode* found = node.find(kebab);
  return found != nullptr || !kebab.contains('-') ? found : node.find(replace_all(std::string(kebab), "-", "_"));
}

/// The same, a null counting as missing.
const YamlNode* set_in(const YamlNode& node, std::string_view kebab) {
  const YamlNode* found = either(node, kebab);
  return found == nullptr || is_null(*found) ? nullptr : found;
}

// ── cross rules of entries and workers ───────────────────────────────────────────────────────────────────────────────

/// M-21. False when it complained.
bool divisible(ObjectCheck& check, const Fields& fields) {
  const YamlNode *tp = fields.value("tp"), *dcp = fields.value("dcp-size");
  if (tp == nullptr || dcp == nullptr) return true;
  const auto size = strict_int(*dcp).value_or(1), all = lax_int(*tp).value_or(0);
  if (all % size == 0) return true;
  check.complain(*dcp, "M-21", ".dcp-size", fmt::format("tp ({}) must be divisible by dcp-size ({})", all, size), "a divisor of tp");
  return false;
}

/// M-20, and O-4 beyond it. False when it complained.
bool concurrency(ObjectCheck& check, const YamlNode& node, const Fields& fields) {
  const YamlNode *start = fields.value("conc-start"), *end = fields.value("conc-end"), *list = fields.value("conc-list");
  const bool has_range = start != nullptr && end != nullptr, has_list = list != nullptr && !list->items.empty();
  const std::size_t before = check.count();
  if (has_range && has_list) {
    check.complain(*list, "M-20", ".conc-list", "Cannot specify both a range (conc-start, conc-end) and conc-list", "one of the two");
  } else if (!has_range && !has_list) {
    check.complain(node, "M-20", "", "Must specify either conc-start and conc-end, or conc-list", "conc-start and conc-end, or a conc-list that is not empty");
  } else if (has_range) {
    const auto first = lax_int(*start).value_or(0), last = lax_int(*end).value_or(0);
    for (const auto& [bound, name, value] : {std::tuple{start, "conc-start", first}, {end, "conc-end", last}}) {
      if (value > 0 || check.count() != before) continue;
      check.complain(*bound, "M-20", fmt::format(".{}", name), fmt::format("'{}' must be greater than 0, found {}", name, value), "an integer above 0");
    }
    if (check.count() == before && first > last) {
      check.complain(*start, "M-20", ".conc-start", fmt::format("conc-start ({}) must be <= conc-end ({})", first, last), "conc-start <= conc-end");
    }
    for (const auto& [bound, name] : {std::pair{start, "conc-start"}, {end, "conc-end"}}) {
      if (check.count() != before || !bound->is_text()) continue;
      check.complain(*bound, "O-4", fmt::format(".{}", name), fmt::format("'{}' is a text: the reference accepts it and then never ends", name),
                     "an integer without quotes");
    }
  } else {
    for (std::size_t i = 0; i < list->items.size() && check.count() == before; ++i) {
      if (lax_int(list->items[i]).value_or(0) > 0) continue;
      check.complain(list->items[i], "M-20", fmt::format(".conc-list[{}]", i),
                     fmt::format("every item of conc-list must be greater than 0, found {}", list->items[i].text), "an integer above 0");
    }
  }
  return check.count() == before;
}

/// M-22.
void hardware_pair(ObjectCheck& check, const YamlNode& node, const Fields& fields) {
  const auto named = [&](const char* role) {
    const YamlNode* worker = fields.value(role);
    return worker != nullptr && set_in(*worker, "hardware") != nullptr;
  };
  const bool prefill = named("prefill"), decode = named("decode");
  if (prefill == decode) return;
  check.complain(node, "M-22", "",
                 fmt::format("hardware must be given on both prefill and decode or on neither; here only {} has it", prefill ? "prefill" : "decode"),
                 "both or neither");
}

/// Cross rules M-31 to M-34 of an agentic entry, the first that is broken.
void agentic_rules(ObjectCheck& check, const YamlNode& node, const Fields& fields) {
  const YamlNode *offload = fields.value("kv-offloading"), *backend = fields.value("kv-offload-backend");
  const bool dram = offload != nullptr && offload->text == "dram";
  if (backend != nullptr && !dram) {
    check.complain(*backend, "M-31", ".kv-offload-backend", "kv-offload-backend stands only beside kv-offloading: dram", "no kv-offload-backend");
    return;
  }
  if (dram && backend == nullptr) {
    check.complain(*offload, "M-31", ".kv-offloading", "kv-offloading: dram needs a kv-offload-backend", "kv-offload-backend: {name: …}");
    return;
  }
  const bool tp = fields.value("tp") != nullptr, worker = fields.value("worker") != nullptr;
  const bool prefill = fields.value("prefill") != nullptr, decode = fields.value("decode") != nullptr;
  if ((tp ? 1 : 0) + (worker ? 1 : 0) + (prefill || decode ? 1 : 0) != 1 || prefill != decode) {
    const bool later = check.generation().worker_form;
    check.complain(node, "M-32", "", fmt::format("an agentic entry has either tp, or {}both prefill and decode", later ? "worker, or " : ""),
                   later ? "tp (one node); worker, or prefill and decode (several)" : "tp (one node), or prefill and decode (several)");
    return;
  }
  if (tp) {
    if (offload == nullptr) {
      check.complain(node, "M-33", "", "an agentic entry with tp must give kv-offloading", "kv-offloading: none or dram");
      return;
    }
    divisible(check, fields);
    return;
  }
  for (const char* size : {"pp", "dcp-size", "pcp-size"}) {
    const YamlNode* written = fields.given(size);
    if (written == nullptr) continue;
    check.complain(*written, "M-34", fmt::format(".{}", size), fmt::format("'{}' belongs on the workers of a multi-node entry, not on the entry", size),
                   "the workers carry it");
    return;
  }
  hardware_pair(check, node, fields);
}

/// M-30.
void dram_utilization(ObjectCheck& check, const Fields& fields) {
  if (fields.value("dram-utilization") != nullptr) return;
  for (const YamlNode& entry : fields.given("search-space")->items) {
    const YamlNode* offload = either(entry, "kv-offloading");
    if (offload == nullptr || offload->text != "dram") continue;
    check.complain(*offload, "M-30", "", "kv-offloading: dram needs dram-utilization on the agentic-coding item", "dram-utilization: 0.80");
    return;
  }
}

/// M-13.
void some_scenario(ObjectCheck& check, const YamlNode& node, const Fields& fields) {
  for (const char* name : kScenarios) {
    const YamlNode* list = fields.value(name);
    if (list != nullptr && !list->items.empty()) return;
  }
  check.complain(node, "M-13", "", "at least one scenario must have items", "fixed-seq-len or agentic-coding with at least one item");
}

// ── rules of a config entry ──────────────────────────────────────────────────────────────────────────────────────────

/// A search-space entry of a valid config, with what its path is made of.
struct Space {
  const YamlNode* node;
  const char* scenario;
  std::size_t item, entry;
  [[nodiscard]] std::string path(std::string_view key = {}) const {
    return fmt::format(".scenarios.{}[{}].search-space[{}]{}{}", scenario, item, entry, key.empty() ? "" : ".", key);
  }
};

std::vector<Space> spaces_of(const YamlNode& scenarios) {
  std::vector<Space> all;
  for (const char* name : kScenarios) {
    const YamlNode* items = either(scenarios, name);
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->items.size(); ++i) {
      const YamlNode* space = either(items->items[i], "search-space");
      for (std::size_t k = 0; space != nullptr && k < space->items.size(); ++k) all.push_back({&space->items[k], name, i, k});
    }
  }
  return all;
}

/// M-14 to M-17, the first that is broken. False when it complained.
bool config_rules(ObjectCheck& check, const Fields& fields, bool multi, const std::vector<Space>& spaces) {
  const YamlNode* agentic = either(*fields.given("scenarios"), "agentic-coding");
  const YamlNode& runner = *fields.given("runner");
  if (agentic != nullptr && !agentic->items.empty() && !runner.text.starts_with("cluster:")) {
    check.complain(runner, "M-14", ".runner", fmt::format("Agentic master configs must use a runner that begins with 'cluster:', found '{}'", runner.text),
                   "cluster:<fleet>");
    return false;
  }
  for (const char* name : {"router", "kv-p2p-transfer"}) {
    if (fields.value(name) == nullptr) continue;
    for (const Space& space : spaces) {
      const YamlNode* here = set_in(*space.node, name);
      if (here == nullptr) continue;
      check.complain(*here, "M-15", space.path(name), fmt::format("{} must be declared either on the entry or in its search-space entries, not both", name),
                     "one place");
      return false;
    }
  }
  std::size_t with_transfer = 0;
  for (const Space& space : spaces) {
    const YamlNode* here = set_in(*space.node, "kv-p2p-transfer");
    if (here == nullptr) continue;
    ++with_transfer;
    if (multi) continue;
    check.complain(*here, "M-16", space.path("kv-p2p-transfer"), "a single-node entry cannot have kv-p2p-transfer", "no kv-p2p-transfer");
    return false;
  }
  const YamlNode* disagg = fields.value("disagg");
  if (!multi || disagg == nullptr || !lax_bool(*disagg).value_or(false) || fields.value("kv-p2p-transfer") != nullptr) return true;
  if (!spaces.empty() && with_transfer == spaces.size()) return true;
  check.complain(*disagg, "M-17", ".disagg", "disagg=true requires kv-p2p-transfer on the entry or on every search-space entry", "kv-p2p-transfer: <name>");
  return false;
}

/// Which keys a search-space entry must and must not have, from generation 2026-09a on (october-layout 3.3).
void form_rules(ObjectCheck& check, const Fields& fields, bool multi, const std::vector<Space>& spaces) {
  const YamlNode* disagg = fields.value("disagg");
  const bool apart = multi && disagg != nullptr && lax_bool(*disagg).value_or(false);
  const auto needed = multi ? apart ? std::vector{"prefill", "decode"} : std::vector{"worker", "num-nodes"} : std::vector<const char*>{};
  const auto refused = !multi  ? std::vector{"worker", "prefill", "decode", "num-nodes"}
                       : apart ? std::vector{"worker", "num-nodes"}
                               : std::vector{"prefill", "decode"};
  const char* what = !multi ? "on one node" : apart ? "with disagg: true" : "on several nodes with disagg: false";
  for (const Space& space : spaces) {
    for (const char* key : refused) {
      const YamlNode* here = set_in(*space.node, key);
      if (here != nullptr) check.complain(*here, "M-50", space.path(key), fmt::format("an entry {} must not have '{}'", what, key), "no " + std::string(key));
    }
    for (const char* key : needed) {
      if (set_in(*space.node, key) == nullptr) check.complain(*space.node, "M-50", space.path(key), fmt::format("an entry {} needs '{}'", what, key), key);
    }
    const YamlNode* power = set_in(*space.node, "power");
    if (!multi && power != nullptr && lax_bool(*power).value_or(false))
      check.complain(*power, "M-51", space.path("power"), "power is measured on several nodes only", "no power");
  }
}

/// How an entry names its recipe, from generation 2026-09b on.
void recipe_rules(ObjectCheck& check, const YamlNode& node, const Fields& fields, bool multi, const std::vector<Space>& spaces) {
  const bool directory = check.generation().recipe == Generation::RecipePlace::kDirectory;
  const bool own = directory && fields.given("framework")->text == kOwnRecipes;
  const YamlNode* dir = fields.value("srt-recipe-dir");
  if (directory && multi && own && dir != nullptr)
    check.complain(*dir, "M-52", ".srt-recipe-dir", fmt::format("{} names its recipes in additional-settings", kOwnRecipes), "no srt-recipe-dir");
  if (directory && multi && !own && dir == nullptr)
    check.complain(node, "M-52", ".srt-recipe-dir", "a multi-node entry has no 'srt-recipe-dir'", "srt-recipe-dir: <directory of the recipe files>");
  for (const Space& space : spaces) {
    const YamlNode *recipe = set_in(*space.node, "srt-recipe"), *eval = set_in(*space.node, "eval-srt-recipe");
    if (directory && !own && recipe == nullptr)
      check.complain(*space.node, "M-52", space.path("srt-recipe"), "a search-space entry has no 'srt-recipe'", "srt-recipe: <file>[:<variant>]");
    if (directory && !multi && eval != nullptr)
      check.complain(*eval, "M-52", space.path("eval-srt-recipe"), "eval-srt-recipe stands on multi-node entries only", "no eval-srt-recipe");
    for (const auto& [written, key] : {std::pair{recipe, "srt-recipe"}, {eval, "eval-srt-recipe"}}) {
      if (!directory || written == nullptr || parse_recipe_name(written->text)) continue;
      check.complain(*written, "M-53", space.path(key), fmt::format("'{}' is no recipe name: {}", key, written->text),
                     "<file>, <file>:base, <file>:override_<name> or <file>:zip_override_<name>[<i>]");
    }
    for (const char* role : {"prefill", "decode", "worker"}) {
      const YamlNode* worker = set_in(*space.node, role);
      const YamlNode* settings = worker == nullptr ? nullptr : set_in(*worker, "additional-settings");
      if (settings == nullptr || own) continue;
      for (std::size_t i = 0; i < settings->items.size(); ++i) {
        for (const char* name : kBound) {
          if (!settings->items[i].text.starts_with(std::string(name) + "=")) continue;
          const char* instead = std::string_view(name).starts_with("EVAL") ? "eval-srt-recipe" : "srt-recipe";
          check.complain(settings->items[i], "M-54", fmt::format("{}.additional-settings[{}]", space.path(role), i),
                         fmt::format("{} is not written in additional-settings of generation {}", name, check.generation().id),
                         fmt::format("the key '{}' on the search-space entry", instead));
        }
      }
    }
  }
}

/// pawl's own image sources, besides container images: what is wrong with one that begins like it.
std::optional<std::string> image_source_trouble(std::string_view image) {
  constexpr std::string_view kPypi = "pypi:", kDir = "dir:";
  if (image.starts_with(kPypi)) {
    const auto equals = image.find("==");
    if (equals == std::string_view::npos || equals == kPypi.size() || equals + 2 == image.size()) return fmt::format("'{}' names no exact version", image);
  }
  if (image.starts_with(kDir) && !image.substr(kDir.size()).starts_with('/')) return fmt::format("'{}' is no absolute folder", image);
  return std::nullopt;
}

void entry_rules(ObjectCheck& check, const YamlNode& node, const Fields& fields, bool multi) {
  const auto spaces = spaces_of(*fields.given("scenarios"));
  if (const auto trouble = image_source_trouble(fields.given("image")->text)) {
    check.complain(*fields.given("image"), "M-60", ".image", *trouble, "pypi:NAME==VERSION or dir:/absolute/path");
    return;
  }
  if (!config_rules(check, fields, multi, spaces)) return;
  const Generation& generation = check.generation();
  if (generation.worker_form) form_rules(check, fields, multi, spaces);
  if (generation.recipe == Generation::RecipePlace::kEntry || generation.recipe == Generation::RecipePlace::kDirectory)
    recipe_rules(check, node, fields, multi, spaces);
}

/// The recipe files and variants that the entries name must be there.
void variant_rules(ObjectCheck& check, const Catalogue& catalogue, const Recipe& recipe) {
  const YamlNode* scenarios = either(*recipe.node, "scenarios");
  if (scenarios == nullptr) return;
  for (const Space& space : spaces_of(*scenarios)) {
    for (const char* key : {"srt-recipe", "eval-srt-recipe"}) {
      const YamlNode* written = set_in(*space.node, key);
      if (written == nullptr) continue;
      const auto path = recipe_path(recipe, written->text);
      if (!path) continue;
      const auto found = catalogue.variant(*path);
      if (found) continue;
      check.complain(*written, "M-55", space.path(key), found.error().message, found.error().remedy);
    }
  }
}

void validate_config(const Catalogue& catalogue, const Recipe& recipe, std::vector<Violation>& out) {
  if (recipe.node->kind != YamlNode::Kind::kMapping) return;  // said while loading
  const Generation& generation = catalogue.generation();
  ObjectCheck check(catalogue.document(recipe.file), recipe.key, generation, out);
  const YamlNode* multinode = recipe.node->find("multinode");
  const bool multi = multinode != nullptr && truthy(*multinode);
  Fields fields;
  if (check.run(generation.object(multi ? "multi-node-entry" : "single-node-entry"), *recipe.node, fields) && generation.check_variant)
    variant_rules(check, catalogue, recipe);
}

// ── runners.yaml (5) ─────────────────────────────────────────────────────────────────────────────────────────────────

/// Every node in exactly one cluster label, and a record for each of these (october-layout 3.4).
void cluster_rules(ObjectCheck& check, const YamlNode& labels, const YamlNode* clusters) {
  constexpr std::string_view kCluster = "cluster:", kPartition = "partition:";
  std::map<std::string_view, std::string_view> home;
  for (const YamlEntry& label : labels.entries) {
    if (!label.key.text.starts_with(kCluster)) continue;
    const std::string id(label.key.text.substr(kCluster.size()));
    if (clusters == nullptr || clusters->find(id) == nullptr)
      check.complain(label.key, "R-05", ".labels." + label.key.text, fmt::format("'{}' has no record under clusters", label.key.text), "clusters." + id);
    for (const YamlNode& node : label.value.items) {
      const auto [slot, fresh] = home.try_emplace(node.text, label.key.text);
      if (!fresh)
        check.complain(node, "R-06", ".labels." + label.key.text, fmt::format("the node '{}' is in {} too", node.text, slot->second), "one cluster a node");
    }
  }
  for (const YamlEntry& label : labels.entries) {
    if (label.key.text.starts_with(kCluster) || label.key.text.starts_with(kPartition)) continue;
    for (const YamlNode& node : label.value.items) {
      if (!home.contains(node.text))
        check.complain(node, "R-06", ".labels." + label.key.text, fmt::format("the node '{}' is in no cluster", node.text), "a label cluster:<name> with it");
    }
  }
}

void validate_runners(const Catalogue& catalogue, std::vector<Violation>& out) {
  const codec::YamlDocument& document = *catalogue.runners();
  const Generation& generation = catalogue.generation();
  ObjectCheck check(document, {}, generation, out);
  if (catalogue.layout().flat_runners) {
    check.labels(document.root);
    return;
  }
  const YamlNode* labels = document.root.kind == YamlNode::Kind::kMapping ? document.root.find("labels") : nullptr;
  if (labels == nullptr || labels->kind != YamlNode::Kind::kMapping) {
    check.complain(labels == nullptr ? document.root : *labels, "R-01", ".labels", "runners.yaml needs a labels mapping", "labels: {<label>: [<node>, …]}");
    return;
  }
  Fields fields;
  check.run(generation.object("runners"), document.root, fields);
}

}  // namespace

void cross_rules(ObjectCheck& check, const ObjectSpec& object, const YamlNode& node, const Fields& fields) {
  if (object.concurrency && !concurrency(check, node, fields)) return;
  if (object.id == "single-node-space" || object.id == "worker") {
    divisible(check, fields);
  } else if (object.id == "multi-node-space") {
    hardware_pair(check, node, fields);
  } else if (object.id == "agentic-space") {
    agentic_rules(check, node, fields);
  } else if (object.id == "agentic-item") {
    dram_utilization(check, fields);
  } else if (object.id == "single-node-scenarios" || object.id == "multi-node-scenarios") {
    some_scenario(check, node, fields);
  } else if (object.id == "single-node-entry" || object.id == "multi-node-entry") {
    entry_rules(check, node, fields, object.id == "multi-node-entry");
  } else if (object.id == "runners" && check.generation().worker_form) {
    cluster_rules(check, *fields.given("labels"), fields.value("clusters"));
  }
}

Error Violation::error() const {
  std::string text = message;
  if (!config.empty() && !message.contains("failed validation"))
    text = fmt::format("{} failed validation: {}{}", config, path.empty() ? "" : path + ": ", message);
  std::string remedy = !nearest.empty() ? fmt::format("did you mean {}?", nearest) : expected.empty() ? "" : "expected " + expected;
  return bad_input(std::move(text), std::move(remedy)).at(place);
}

std::vector<Violation> validate_recipe(const Catalogue& catalogue, const Recipe& recipe) {
  std::vector<Violation> out;
  validate_config(catalogue, recipe, out);
  return out;
}

std::vector<Violation> validate(const Catalogue& catalogue) {
  std::vector<Violation> out;
  for (const Recipe& recipe : catalogue.recipes()) validate_config(catalogue, recipe, out);
  if (catalogue.runners() != nullptr) validate_runners(catalogue, out);
  return out;
}

Status check(const Catalogue& catalogue) {
  std::vector<Violation> out;
  for (const Recipe& recipe : catalogue.recipes()) {
    validate_config(catalogue, recipe, out);
    if (!out.empty()) return out.front().error();
  }
  if (catalogue.runners() != nullptr) validate_runners(catalogue, out);
  if (!out.empty()) return out.front().error();
  return {};
}

std::vector<Violation> validate_texts(const Layout& layout, const std::map<std::string, std::string>& texts, const codec::YamlLimits& limits) {
  std::vector<LoadProblem> problems;
  const Catalogue catalogue = Catalogue::read_leniently(layout, texts, problems, limits);
  std::vector<Violation> out;
  for (LoadProblem& problem : problems) {
    SourcePlace place = problem.error.place.value_or(SourcePlace{});
    out.push_back({problem.rule, problem.config, {}, problem.error.message, problem.error.remedy, {}, std::move(place)});
  }
  if (!texts.contains(layout.runners)) {
    out.push_back({"R-01",
                   {},
                   {},
                   layout.shown_folder + layout.runners + " does not exist",
                   "a runners file with a labels mapping",
                   {},
                   {layout.shown_folder + layout.runners, 0, 0, {}}});
  }
  std::ranges::move(validate(catalogue), std::back_inserter(out));
  return out;
}

}  // namespace pawl::plan
