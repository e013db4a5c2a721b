#include "plan/eval_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;

constexpr std::int64_t kEvalConcMin = 16;
constexpr std::int64_t kEvalIsl = 8192, kEvalOsl = 1024;

const Json& field(const Json& row, const char* name) {
  static const Json nothing;
  const auto found = row.find(name);
  return found == row.end() ? nothing : *found;
}

bool agentic(const Json& row) { return row.contains("scenario-type"); }

bool eval_sequence(const Json& row) {
  const auto isl = number_of(field(row, "isl")), osl = number_of(field(row, "osl"));
  return isl && osl && isl->value == kEvalIsl && osl->value == kEvalOsl;
}

Result<Number> comparable(const Json& value, const Json& row) {
  if (const auto number = number_of(value)) return *number;
  return bad_input(fmt::format("{}: the concurrency {} is not a number, evals cannot be chosen by it", python_text(field(row, "exp-name")), value.dump()),
                   "write it without quotes");
}

/// Makes values that Python calls equal (1, 1.0, True) the same text.
void append_key(std::string& key, const Json& value) {
  if (const auto number = number_of(value)) {
    key += fmt::format("{}", number->value);
  } else if (value.is_object()) {
    std::vector<std::pair<std::string, std::string>> members;
    for (auto it = value.begin(); it != value.end(); ++it) {
      std::string text;
      append_key(text, it.value());
      members.emplace_back(it.key(), std::move(text));
    }
    std::ranges::sort(members);
    key += '{';
    for (const auto& [name, text] : members) key += name + '\1' + text + '\2';
    key += '}';
  } else if (value.is_array()) {
    key += '[';
    for (const Json& item : value) append_key(key, item);
    key += ']';
  } else if (value.is_string()) {
    key += '"';
    key += value.get_ref<const std::string&>();
  } else {
    key += value.dump();
  }
  key += '\3';
}

std::string group_of(const Json& row, std::initializer_list<const char*> fields) {
  std::string key;
  for (const char* name : fields) append_key(key, field(row, name));
  return key;
}

std::string single_group(const Json& row) { return group_of(row, {"model", "runner", "framework", "precision", "isl", "osl", "spec-decoding", "dp-attn"}); }

/// All fields except those that vary inside one curve.
std::string key_without(const Json& row, std::initializer_list<std::string_view> skipped) {
  std::vector<std::pair<std::string_view, const Json*>> members;
  for (auto it = row.begin(); it != row.end(); ++it) {
    if (std::ranges::find(skipped, it.key()) == skipped.end()) members.emplace_back(it.key(), &it.value());
  }
  std::ranges::sort(members, {}, [](const auto& m) { return m.first; });
  std::string key;
  for (const auto& [name, value] : members) {
    key += name;
    key += '\1';
    append_key(key, *value);
  }
  return key;
}

std::string topology_of(const Json& row) { return key_without(row, {"conc", "run-eval", "eval-only", "eval-conc", "eval-all-concs", "exp-name"}); }

/// The largest concurrency of a row with several, if it is enough for an eval.
Result<std::optional<Number>> largest_eligible(const Json& row) {
  std::optional<Number> largest;
  for (const Json& conc : row["conc"]) {
    PAWL_ASSIGN(const Number number, comparable(conc, row));
    if (number.value >= kEvalConcMin && (!largest || number.value > largest->value)) largest = number;
  }
  return largest;
}

struct Choice {
  std::size_t row = 0;
  Number conc;
};

void mark(Json& row, bool selected) { row["run-eval"] = selected; }

Status mark_single_fixed(std::vector<Json>& rows) {
  std::unordered_map<std::string, std::set<std::int64_t>> groups;
  std::vector<std::pair<std::size_t, std::set<std::int64_t>*>> eligible;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].contains("tp") || agentic(rows[i]) || !eval_sequence(rows[i])) continue;
    PAWL_ASSIGN(const Number conc, comparable(rows[i]["conc"], rows[i]));
    if (conc.value < kEvalConcMin) continue;
    auto& group = groups[single_group(rows[i])];
    group.insert(conc.value);
    eligible.emplace_back(i, &group);
  }
  for (const auto& [row, group] : eligible) {
    const std::int64_t conc = number_of(rows[row]["conc"])->value;
    mark(rows[row], conc == *group->rbegin() || conc == *std::next(group->begin(), static_cast<std::ptrdiff_t>(group->size() / 2)));
  }
  return {};
}

/// Multi-node rows, fixed ones of the eval sequence or agentic ones: one of every topology.
Status mark_multi(std::vector<Json>& rows, bool agentic_rows) {
  std::unordered_map<std::string, Choice> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].contains("tp") || !rows[i].contains("prefill") || agentic(rows[i]) != agentic_rows) continue;
    if (!agentic_rows && !eval_sequence(rows[i])) continue;
    PAWL_ASSIGN(const auto largest, largest_eligible(rows[i]));
    if (!largest) continue;
    const auto [slot, fresh] = groups.try_emplace(topology_of(rows[i]), Choice{i, *largest});
    if (!fresh && largest->value > slot->second.conc.value) slot->second = {i, *largest};
  }
  for (const auto& [group, choice] : groups) {
    mark(rows[choice.row], true);
    rows[choice.row]["eval-conc"] = choice.conc.json();
  }
  return {};
}

Status mark_single_agentic(std::vector<Json>& rows) {
  std::unordered_map<std::string, Choice> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!agentic(rows[i]) || rows[i].contains("prefill")) continue;
    PAWL_ASSIGN(const Number conc, comparable(rows[i]["conc"], rows[i]));
    const auto [slot, fresh] = groups.try_emplace(group_of(rows[i], {"model", "runner", "framework", "precision"}), Choice{i, conc});
    if (!fresh && conc.value > slot->second.conc.value) slot->second = {i, conc};
  }
  for (const auto& [group, choice] : groups) mark(rows[choice.row], true);
  return {};
}

}  // namespace

Status mark_evals(Matrix& matrix, bool with_agentic) {
  for (Json& row : matrix.rows) mark(row, false);
  PAWL_TRY(mark_single_fixed(matrix.rows));
  PAWL_TRY(mark_multi(matrix.rows, false));
  if (!with_agentic) return {};
  PAWL_TRY(mark_single_agentic(matrix.rows));
  return mark_multi(matrix.rows, true);
}

Status expand_all_evals(Matrix& matrix) {
  struct Union {
    std::size_t at = 0;
    std::map<std::int64_t, Json> concs;
  };
  std::unordered_map<std::string, Union> merged;
  Matrix out;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    Json& row = matrix.rows[i];
    const bool multi = row.contains("prefill");
    if (!agentic(row) && !eval_sequence(row)) {
      // passed on as it is: the filter drops it
    } else if (!multi) {
      mark(row, true);
    } else {
      const auto [slot, fresh] = merged.try_emplace(topology_of(row), Union{out.rows.size(), {}});
      for (const Json& conc : row["conc"]) {
        PAWL_ASSIGN(const Number number, comparable(conc, row));
        slot->second.concs.try_emplace(number.value, conc);
      }
      if (!fresh) continue;
      mark(row, true);
    }
    out.rows.push_back(std::move(row));
    out.origins.push_back(matrix.origins[i]);
  }
  for (auto& [group, all] : merged) {
    Json& row = out.rows[all.at];
    Json concs = Json::array();
    for (auto& [value, conc] : all.concs) concs.push_back(conc);
    if (agentic(row)) {
      if (!concs.empty()) row["eval-conc"] = concs.back();
    } else {
      row.erase("eval-conc");
      row["eval-all-concs"] = true;
    }
    row["conc"] = std::move(concs);
  }
  matrix = std::move(out);
  return {};
}

void keep_evals_only(Matrix& matrix) {
  Matrix kept;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    if (field(matrix.rows[i], "run-eval") != true) continue;
    matrix.rows[i]["eval-only"] = true;
    kept.rows.push_back(std::move(matrix.rows[i]));
    kept.origins.push_back(matrix.origins[i]);
  }
  matrix = std::move(kept);
}

Matrix trim_concurrencies(Matrix matrix) {
  Matrix kept;
  std::unordered_map<std::string, std::size_t> lowest;  // group → its row in `matrix`
  std::vector<bool> keep(matrix.rows.size(), true);
  const auto conc = [&](std::size_t row) { return number_of(matrix.rows[row]["conc"]).value_or(Number{INT64_MAX, false}).value; };
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    Json& row = matrix.rows[i];
    if (!field(row, "prefill").is_null()) {
      Json& concs = row["conc"];
      if (concs.size() > 1) {
        const auto least = std::ranges::min_element(concs, {}, [](const Json& c) { return number_of(c).value_or(Number{INT64_MAX, false}).value; });
        concs = Json::array({*least});
      }
      continue;
    }
    const auto [slot, fresh] = lowest.try_emplace(key_without(row, {"conc", "exp-name"}), i);
    if (fresh) continue;
    const bool lower = conc(i) < conc(slot->second);
    keep[lower ? slot->second : i] = false;
    if (lower) slot->second = i;
  }
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    if (!keep[i]) continue;
    kept.rows.push_back(std::move(matrix.rows[i]));
    kept.origins.push_back(matrix.origins[i]);
  }
  return kept;
}

}  // namespace pawl::plan
