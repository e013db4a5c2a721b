#include "plan/matrix_diff.h"

#include <algorithm>
#include <map>
#include <optional>

namespace pawl::plan {
namespace {

using codec::Json;

/// Fields that say where a point lies on a chart; the rest says how it is run.
constexpr const char* kPlace[] = {"isl", "osl", "scenario-type", "conc", "runner"};
constexpr const char* kTopology[] = {"tp",      "pp",     "dcp-size",   "pcp-size",      "ep",    "dp-attn",   "spec-decoding",
                                     "prefill", "decode", "srt-recipe", "kv-offloading", "power", "node-count"};

std::string key_of(const Json& row, bool with_topology) {
  Json key = Json::array();
  const auto take = [&](const char* name) { key.push_back(row.contains(name) ? row[name] : Json()); };
  for (const char* name : kPlace) take(name);
  for (const char* name : kTopology) {
    if (with_topology) take(name);
  }
  return codec::write_json_sorted(key);
}

void compare(const std::string& path, const Json& before, const Json& after, std::vector<FieldChange>& out) {
  if (before == after) return;
  if (!before.is_object() || !after.is_object()) {
    out.push_back({path, before, after});
    return;
  }
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (auto it = after.begin(); it != after.end(); ++it) compare(below(it.key()), before.contains(it.key()) ? before[it.key()] : Json(), it.value(), out);
  for (auto it = before.begin(); it != before.end(); ++it) {
    if (!after.contains(it.key())) compare(below(it.key()), it.value(), Json(), out);
  }
}

using Rows = std::vector<const Json*>;

/// Takes pairs of equal key out of both lists and reports how they differ.
void match(Rows& before, Rows& after, bool with_topology, const std::string& recipe, std::vector<RowChange>& out) {
  std::multimap<std::string, std::size_t> old;
  for (std::size_t i = 0; i < before.size(); ++i) old.emplace(key_of(*before[i], with_topology), i);
  Rows left;
  for (const Json* row : after) {
    const auto [first, last] = old.equal_range(key_of(*row, with_topology));
    if (first == last) {
      left.push_back(row);
      continue;
    }
    auto best = first;
    std::optional<std::vector<FieldChange>> fewest;
    for (auto candidate = first; candidate != last; ++candidate) {
      std::vector<FieldChange> fields;
      compare("", *before[candidate->second], *row, fields);
      if (fewest && fewest->size() <= fields.size()) continue;
      fewest = std::move(fields);
      best = candidate;
    }
    if (!fewest->empty()) out.push_back({RowChange::Kind::kChanged, recipe, *row, std::move(*fewest)});
    before[best->second] = nullptr;
    old.erase(best);
  }
  after = std::move(left);
  std::erase(before, nullptr);
}

}  // namespace

std::vector<RowChange> diff_matrices(const Matrix& before, const Matrix& after) {
  std::map<std::string, Rows> old, now;
  std::vector<std::string> order;
  const auto collect = [&](const Matrix& matrix, std::map<std::string, Rows>& into) {
    for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
      const std::string& key = matrix.origins[i].recipe->key;
      if (std::ranges::find(order, key) == order.end()) order.push_back(key);
      into[key].push_back(&matrix.rows[i]);
    }
  };
  collect(after, now);
  collect(before, old);
  std::vector<RowChange> out;
  for (const std::string& recipe : order) {
    Rows &was = old[recipe], &is = now[recipe];
    match(was, is, true, recipe, out);
    match(was, is, false, recipe, out);
    for (const Json* row : is) out.push_back({RowChange::Kind::kAdded, recipe, *row, {}});
    for (const Json* row : was) out.push_back({RowChange::Kind::kRemoved, recipe, *row, {}});
  }
  return out;
}

}  // namespace pawl::plan
