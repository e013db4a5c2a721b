#include "changelog/append_only.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "changelog/rows.h"
#include "changelog/rule.h"
#include "changelog/same_data.h"
#include "plan/typing.h"

namespace pawl::changelog {
namespace {

using codec::Json;

const Json* config_of(const CatalogueSide& side, const std::string& key) {
  const auto found = std::ranges::find(side.configs, key, [](const auto& pair) -> const std::string& { return pair.first; });
  return found == side.configs.end() ? nullptr : &found->second;
}

Json scenarios_of(const Json& config) { return config.is_object() && config.contains("scenarios") ? config["scenarios"] : Json::object(); }

Json without_scenarios(const Json& config) {
  Json out = config;
  if (out.is_object()) out.erase("scenarios");
  return out;
}

Status check_selected(const std::string& key, const Json& before, const Json& after, const Scope& scope) {
  const Json old = scenarios_of(before), now = scenarios_of(after);
  std::set<std::string> old_names, names;
  for (auto it = old.begin(); it != old.end(); ++it) old_names.insert(it.key());
  for (auto it = now.begin(); it != now.end(); ++it) names.insert(it.key());
  if (old_names != names) return broken("C-63", fmt::format("append-only cannot add or remove scenarios of {}", key));
  const auto selected = [&](const std::string& name) { return (name == "fixed-seq-len" && scope.fixed) || (name == "agentic-coding" && scope.agentic); };
  if (std::ranges::all_of(names, selected)) return {};
  if (!same_data(without_scenarios(before), without_scenarios(after)))
    return broken("C-64", fmt::format("append-only cannot change config-level fields of {} while a scenario of it is not selected", key));
  for (const std::string& name : names) {
    if (!selected(name) && !same_data(old[name], now[name]))
      return broken("C-65", fmt::format("append-only cannot change {} of {}: it is not selected", name, key));
  }
  return {};
}

std::vector<std::int64_t> concurrencies(const Json& row) {
  std::vector<std::int64_t> all;
  const Json conc = row.value("conc", Json());
  for (const Json& value : conc.is_array() ? conc : Json::array({conc})) {
    if (const auto number = plan::lax_int(value)) all.push_back(*number);
  }
  return all;
}

Json field(const Json& row, const char* name) { return row.contains(name) ? row[name] : Json(); }

/// What one curve of the published charts consists of.
std::string series_of(const Json& row) {
  const bool agentic = field(row, "scenario-type") == "agentic-coding";
  const Json offload = field(row, "kv-offloading");
  const auto hardware = [&](const char* worker) {
    const Json side = field(row, worker);
    return side.is_object() ? field(side, "hardware") : Json();
  };
  Json series = Json::array();
  for (const char* name : {"model", "model-prefix", "precision", "framework", "runner"}) series.push_back(field(row, name));
  series.push_back(plan::lax_bool(field(row, "disagg")).value_or(false));
  series.push_back(agentic);
  series.push_back(agentic ? Json() : field(row, "isl"));
  series.push_back(agentic ? Json() : field(row, "osl"));
  series.push_back(!offload.is_null() && offload != "none");
  series.push_back(agentic ? Json() : field(row, "spec-decoding"));
  series.push_back(hardware("prefill"));
  series.push_back(hardware("decode"));
  return data_key(series);
}

}  // namespace

Status check_scope(const CatalogueSide& base, const CatalogueSide& head, const std::map<std::string, Scope>& selected) {
  for (const auto& [key, scope] : selected) {
    if (config_of(base, key) == nullptr) return broken("C-60", fmt::format("append-only needs an existing curve: {} is not in the base catalogue", key));
  }
  std::set<std::string> keys;
  for (const auto& [key, config] : base.configs) keys.insert(key);
  for (const auto& [key, config] : head.configs) keys.insert(key);
  for (const std::string& key : keys) {
    const Json *before = config_of(base, key), *after = config_of(head, key);
    const auto scope = selected.find(key);
    if (scope != selected.end() && before != nullptr && after != nullptr) {
      PAWL_TRY(check_selected(key, *before, *after, scope->second));
    } else if (before == nullptr || after == nullptr || !same_data(*before, *after)) {
      return broken("C-62", fmt::format("append-only cannot change configs that its entries do not select: {} differs from the base", key));
    }
  }
  return {};
}

Result<std::vector<Json>> new_points(const std::vector<Json>& base, const std::vector<Json>& head) {
  if (base.empty()) return broken("C-66", "append-only needs an existing curve: the base generates no rows for these keys");
  std::map<std::string, std::set<std::int64_t>> base_concs, head_concs, emitted;
  std::map<std::string, std::set<std::string>> images;
  for (const Json& row : base) {
    auto& set = base_concs[data_key(recipe_of(row))];
    for (const std::int64_t conc : concurrencies(row)) set.insert(conc);
    images[series_of(row)].insert(data_key(field(row, "image")));
  }
  for (const Json& row : head) {
    auto& set = head_concs[data_key(recipe_of(row))];
    for (const std::int64_t conc : concurrencies(row)) set.insert(conc);
  }
  for (const auto& [recipe, concs] : base_concs) {
    const auto now = head_concs.find(recipe);
    if (now == head_concs.end()) return broken("C-67", "append-only cannot remove or modify existing recipes");
    if (!std::ranges::includes(now->second, concs)) return broken("C-68", "append-only cannot remove existing concurrency points");
  }
  std::vector<Json> delta;
  for (const Json& row : head) {
    const std::string recipe = data_key(recipe_of(row));
    const auto& old = base_concs[recipe];
    const bool list = row.contains("conc") && row["conc"].is_array();
    Json fresh = Json::array();
    for (const Json& value : list ? row["conc"] : Json::array({field(row, "conc")})) {
      const auto conc = plan::lax_int(value);
      if (conc && !old.contains(*conc) && emitted[recipe].insert(*conc).second) fresh.push_back(value);
    }
    if (fresh.empty()) continue;
    delta.push_back(row);
    if (list) delta.back()["conc"] = fresh;
  }
  if (delta.empty()) return broken("C-69", "append-only did not add any generated points");
  for (const Json& row : delta) {
    const auto known = images.find(series_of(row));
    const Json image = field(row, "image");
    if (image.is_null() || known == images.end() || known->second != std::set<std::string>{data_key(image)})
      return broken("C-70",
                    fmt::format("append-only needs an unchanged non-null image on an existing series: {}", row.value("exp-name", Json("a new row")).dump()));
  }
  return delta;
}

}  // namespace pawl::changelog
