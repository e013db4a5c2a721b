#include "plan/later_rows.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;

constexpr std::int64_t kPowerIsl = 8192, kPowerOsl = 1024;
constexpr const char* kSizes[] = {"pp", "dcp-size", "pcp-size"};

Error wrong(const Catalogue& catalogue, const Recipe& recipe, const YamlNode& node, std::string message, std::string remedy = {}) {
  return bad_input(fmt::format("{}: {}", recipe.key, message), std::move(remedy)).at(catalogue.place(recipe, node));
}

bool is_true(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && truthy(*found);
}

std::optional<std::string> text_of(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// PREFILL_NODES=2 among a worker's settings.
std::optional<std::int64_t> nodes_setting(const Json& worker, const std::string& name) {
  for (const Json& setting : worker.value("additional-settings", Json::array())) {
    if (setting.is_string() && setting.get_ref<const std::string&>().starts_with(name + "="))
      return parse_int(setting.get<std::string>().substr(name.size() + 1));
  }
  return std::nullopt;
}

Result<std::int64_t> node_count(const Catalogue& catalogue, const Recipe& recipe, const Json& entry, const YamlNode& node, const Json& row) {
  if (entry.contains("num-nodes") && !entry["num-nodes"].is_null()) {
    const auto given = number_of(entry["num-nodes"]);
    if (given && given->value > 0) return given->value;
  }
  const auto prefill = nodes_setting(row["prefill"], "PREFILL_NODES"), decode = nodes_setting(row["decode"], "DECODE_NODES");
  const auto name = text_of(entry, "srt-recipe");
  const auto path = name ? recipe_path(recipe, *name) : std::nullopt;
  if (!prefill && !decode && path && !path->contains(":zip_override_")) {
    if (const auto variant = catalogue.variant(*path)) {
      if (const auto nodes = recipe_nodes(*variant)) return *nodes;
    }
  }
  const Hardware* hardware = catalogue.hardware(recipe.runner());
  std::int64_t sum = 0;
  for (const auto& [role, given] : {std::pair{"prefill", prefill}, {"decode", decode}}) {
    if (given) {
      sum += *given;
      continue;
    }
    if (hardware == nullptr || hardware->gpus_per_node <= 0) {
      return wrong(catalogue, recipe, node, fmt::format("gpus-per-node of the runner label '{}' is not known, so its nodes cannot be counted", recipe.runner()),
                   "clusters: <id>: {gpus-per-node: …} in runners.yaml");
    }
    std::int64_t gpus = 1;
    for (const char* size : {"num-worker", "tp", "pp", "pcp-size"}) {
      const auto number = row[role].contains(size) ? number_of(row[role][size]) : std::nullopt;
      const auto product = number && number->value >= 0 ? checked_mul(gpus, number->value) : std::nullopt;
      if (!product) return wrong(catalogue, recipe, node, fmt::format("'{}' of {} must be a number without quotes", size, role));
      gpus = *product;
    }
    sum += (gpus + hardware->gpus_per_node - 1) / hardware->gpus_per_node;
  }
  return sum;
}

void erase_at(Json& value, std::initializer_list<const char*> path) {
  Json* at = &value;
  for (auto key = path.begin(); key + 1 != path.end(); ++key) {
    if (!at->is_object() || !at->contains(*key)) return;
    at = &(*at)[*key];
  }
  if (at->is_object()) at->erase(*(path.end() - 1));
}

}  // namespace

Json entry_as_pair(const Json& item, const Json& entry) {
  Json out = entry;
  if (item.contains("require-power")) out["require-power"] = item["require-power"];
  const auto worker = entry.find("worker");
  if (worker == entry.end() || !worker->is_object()) return out;
  out.erase("worker");
  Json prefill = *worker;
  if (!prefill.contains("num-worker")) prefill["num-worker"] = 1;
  for (const char* size : kSizes) {
    if (!prefill.contains(size)) prefill[size] = 1;
  }
  Json decode = prefill;
  decode["num-worker"] = 0;
  decode.erase("additional-settings");
  out["prefill"] = std::move(prefill);
  out["decode"] = std::move(decode);
  return out;
}

Status add_later_fields(const Catalogue& catalogue, const Recipe& recipe, const Json& entry, const YamlNode& node, Json& row) {
  std::vector<std::pair<const char*, Json>> fields;
  if (row.contains("prefill")) {
    PAWL_ASSIGN(const std::int64_t nodes, node_count(catalogue, recipe, entry, node, row));
    fields.emplace_back("node-count", nodes);
  }
  for (const char* key : {"srt-recipe", "eval-srt-recipe"}) {
    const auto name = text_of(entry, key);
    if (!name) continue;
    fields.emplace_back(key, recipe_path(recipe, *name).value_or(*name));
  }
  if (is_true(entry, "power")) fields.emplace_back("power", true);
  if (is_true(entry, "require-power")) {
    const auto isl = number_of(row.value("isl", Json())), osl = number_of(row.value("osl", Json()));
    if (!isl || !osl || isl->value != kPowerIsl || osl->value != kPowerOsl) return wrong(catalogue, recipe, node, "require-power needs the lengths 8192/1024");
    fields.emplace_back("require-power", true);
  }
  if (fields.empty()) return {};
  const std::string before = row.contains("kv-offloading") ? "kv-offloading" : "exp-name";
  Json out = Json::object();
  for (auto it = row.begin(); it != row.end(); ++it) {
    if (it.key() == before) {
      for (auto& [key, value] : fields) out[key] = std::move(value);
    }
    out[it.key()] = it.value();
  }
  row = std::move(out);
  return {};
}

Result<Json> bound_recipe(const Catalogue& catalogue, const Json& row) {
  const auto path = text_of(row, "srt-recipe");
  if (!path || catalogue.generation().recipe != Generation::RecipePlace::kDirectory) return Json();
  const bool agentic = row.contains("scenario-type"), multi = row.contains("prefill");
  Json shared = Json::object();
  if (is_true(row, "power")) {
    if (const Json* telemetry = catalogue.shared_block("telemetry-dcgm")) shared = *telemetry;
  }
  if (const Json* lane = catalogue.shared_block(fmt::format("{}-{}", agentic ? "agentic" : "fixed-sequence", multi ? "multi" : "single")))
    merge_recipe(shared, *lane);
  PAWL_ASSIGN(Json recipe, catalogue.variant(*path, &shared));
  recipe["model"]["path"] = "hf:" + python_text(row["model"]);
  recipe["model"]["container"] = row["image"];
  recipe["model"]["precision"] = row["precision"];
  if (recipe.contains("identity") && recipe["identity"].is_object()) {
    Json& identity = recipe["identity"];
    if (identity.contains("model") && identity["model"].is_object()) identity["model"]["repo"] = row["model"];
    if (identity.contains("container") && identity["container"].is_object()) {
      std::string image = python_text(row["image"]);
      if (const auto hash = image.find('#'); hash != std::string::npos) image[hash] = '/';
      identity["container"]["image"] = image;
    }
  }
  if (!agentic) {
    recipe["benchmark"]["env"]["ISL"] = python_text(row["isl"]);
    recipe["benchmark"]["env"]["OSL"] = python_text(row["osl"]);
  }
  recipe.erase("name");
  erase_at(recipe, {"benchmark", "concurrencies"});
  erase_at(recipe, {"benchmark", "env", "CONC"});
  erase_at(recipe, {"telemetry", "dcgm_exporter", "port"});
  return recipe;
}

}  // namespace pawl::plan
