#include "plan/expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "model/point.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlEntry;
using codec::YamlNode;

constexpr std::int64_t kRangeStep = 2;
constexpr std::int64_t kEvalConcMin = 16;
constexpr std::int64_t kEvalIsl = 8192, kEvalOsl = 1024;
constexpr std::int64_t kModelLenMargin = 256;
constexpr std::int64_t kRangeEndMax = 1'000'000;

/// One recipe under expansion: looks values up with their places, and complains with them.
class RecipeReader {
 public:
  RecipeReader(const Catalogue& catalogue, const Recipe& recipe) : catalogue_(catalogue), recipe_(recipe) {}

  [[nodiscard]] Error wrong(const YamlNode& node, const std::string& what, std::string remedy = {}) const {
    return bad_input(fmt::format("{}: {}", recipe_.key, what), std::move(remedy)).at(catalogue_.place(recipe_, node));
  }
  /// Refuses a key that is not among `known`, by name.
  [[nodiscard]] Status only(const YamlNode& mapping, const std::string& where, const std::vector<std::string>& known) const {
    if (mapping.kind != YamlNode::Kind::kMapping) return wrong(mapping, where + " must be a mapping");
    for (const YamlEntry& entry : mapping.entries) {
      if (std::ranges::find(known, entry.key.text) != known.end()) continue;
      const auto near = nearest(entry.key.text, known);
      return wrong(entry.key, fmt::format("the key '{}' in {} is not known to this expansion", entry.key.text, where),
                   near ? fmt::format("did you mean {}?", *near) : "known keys: " + join(known, ", "));
    }
    return {};
  }
  [[nodiscard]] Result<Json> value(const YamlNode& node) const { return codec::yaml_value(catalogue_.document(recipe_.file), node); }

  /// An integer under lax typing: integers, integral floats, booleans, decimal texts.
  [[nodiscard]] Result<std::int64_t> whole(const YamlNode& node, const std::string& name) const {
    PAWL_ASSIGN(const Json v, value(node));
    if (v.is_number_integer()) return v.get<std::int64_t>();
    if (v.is_boolean()) return v.get<bool>() ? 1 : 0;
    if (v.is_number_float() && v.get<double>() == static_cast<double>(static_cast<std::int64_t>(v.get<double>())))
      return static_cast<std::int64_t>(v.get<double>());
    if (v.is_string()) {
      if (const auto n = parse_int(trim(v.get_ref<const std::string&>()))) return *n;
    }
    return wrong(node, fmt::format("{} must be an integer, found {}", name, codec::write_json(v, codec::JsonForm::kCompactUtf8)));
  }
  [[nodiscard]] Result<std::string> text(const YamlNode& mapping, const std::string& where, const char* name) const {
    const YamlNode* node = mapping.find(name);
    if (node == nullptr) return wrong(mapping, fmt::format("{} has no '{}'", where, name));
    if (!node->is_text()) return wrong(*node, fmt::format("'{}' must be a text", name), "put it in quotes");
    return node->text;
  }
  /// The raw value of a key of a mapping, or `otherwise` when it is absent or null.
  [[nodiscard]] Result<Json> raw_or(const YamlNode& mapping, const char* name, Json otherwise) const {
    const YamlNode* node = mapping.find(name);
    if (node == nullptr) return otherwise;
    PAWL_ASSIGN(Json v, value(*node));
    return v.is_null() ? otherwise : v;
  }

  /// Concurrencies of a search-space entry (M-20).
  [[nodiscard]] Result<std::vector<std::int64_t>> concurrencies(const YamlNode& entry) const {
    const auto given = [&](const char* name) -> const YamlNode* {
      const YamlNode* node = entry.find(name);
      return node != nullptr && !(node->kind == YamlNode::Kind::kScalar && node->type() == YamlNode::Type::kNull) ? node : nullptr;
    };
    const YamlNode *start = given("conc-start"), *end = given("conc-end"), *list = given("conc-list");
    const bool has_list = list != nullptr && !list->items.empty();
    if (start != nullptr && end != nullptr && has_list) return wrong(*list, "Cannot specify both a concurrency range and conc-list");
    if (has_list) {
      std::vector<std::int64_t> values;
      for (const YamlNode& item : list->items) {
        PAWL_ASSIGN(const std::int64_t v, whole(item, "conc-list"));
        if (v <= 0) return wrong(item, "every concurrency must be greater than 0");
        values.push_back(v);
      }
      return values;
    }
    if (start == nullptr || end == nullptr) return wrong(entry, "Must specify either conc-start and conc-end, or conc-list");
    PAWL_ASSIGN(const std::int64_t first, whole(*start, "conc-start"));
    PAWL_ASSIGN(const std::int64_t last, whole(*end, "conc-end"));
    if (first <= 0 || last <= 0) return wrong(*start, "concurrencies must be greater than 0");
    if (first > last) return wrong(*start, fmt::format("conc-start must be <= conc-end, found {} and {}", first, last));
    if (last > kRangeEndMax) return wrong(*end, fmt::format("conc-end is larger than {}", kRangeEndMax));
    return concurrency_range(first, last, kRangeStep);
  }

  /// Workers keep their keys as written, then get the missing sizes with 1.
  [[nodiscard]] Result<Json> worker(const YamlNode& entry, const char* name) const {
    const YamlNode* node = entry.find(name);
    if (node == nullptr) return wrong(entry, fmt::format("a multi-node entry needs '{}'", name));
    PAWL_TRY(only(*node, name, {"num-worker", "tp", "ep", "dp-attn", "pp", "dcp-size", "pcp-size", "hardware", "additional-settings"}));
    for (const char* needed : {"num-worker", "tp", "ep", "dp-attn"}) {
      if (node->find(needed) == nullptr) return wrong(*node, fmt::format("{} has no '{}'", name, needed));
    }
    PAWL_ASSIGN(Json worker, value(*node));
    for (const char* size : {"pp", "dcp-size", "pcp-size"}) {
      if (!worker.contains(size)) worker[size] = 1;
    }
    return worker;
  }

  Result<std::vector<Json>> rows() const {
    const YamlNode& config = *recipe_.node;
    const YamlNode* multi = config.find("multinode");
    if (multi == nullptr) return wrong(config, "the entry has no 'multinode'");
    PAWL_ASSIGN(const Json multi_value, value(*multi));
    if (!multi_value.is_boolean()) return wrong(*multi, "'multinode' must be true or false");
    const bool multinode = multi_value.get<bool>();
    std::vector<std::string> known{"image", "model", "model-prefix", "precision", "framework", "runner", "multinode", "disagg", "router", "scenarios"};
    if (multinode) known.emplace_back("kv-p2p-transfer");
    PAWL_TRY(only(config, "the entry", known));

    Json head;
    for (const char* name : {"image", "model", "model-prefix", "precision", "framework", "runner"}) {
      PAWL_ASSIGN(head[name], text(config, "the entry", name));
    }
    PAWL_ASSIGN(const Json disagg, raw_or(config, "disagg", false));
    const YamlNode* scenarios = config.find("scenarios");
    if (scenarios == nullptr) return wrong(config, "the entry has no 'scenarios'");
    PAWL_TRY(only(*scenarios, "scenarios", {"fixed-seq-len", "agentic-coding"}));
    if (const YamlNode* agentic = scenarios->find("agentic-coding"); agentic != nullptr && !agentic->items.empty()) {
      return wrong(*agentic, "the scenario 'agentic-coding' is not known to this expansion", "choose a recipe with the scenario fixed-seq-len");
    }
    std::vector<Json> out;
    const YamlNode* fixed = scenarios->find("fixed-seq-len");
    if (fixed == nullptr) return wrong(*scenarios, "no scenario is given");
    for (const YamlNode& item : fixed->items) {
      PAWL_TRY(only(item, "a fixed-seq-len item", {"isl", "osl", "search-space"}));
      for (const char* needed : {"isl", "osl", "search-space"}) {
        if (item.find(needed) == nullptr) return wrong(item, fmt::format("a fixed-seq-len item has no '{}'", needed));
      }
      PAWL_ASSIGN(const std::int64_t isl, whole(*item.find("isl"), "isl"));
      PAWL_ASSIGN(const std::int64_t osl, whole(*item.find("osl"), "osl"));
      Lengths lengths{isl, osl, *item.find("isl"), *item.find("osl")};
      for (const YamlNode& entry : item.find("search-space")->items) {
        PAWL_TRY(multinode ? multi_node(entry, head, disagg, lengths, out) : single_node(entry, head, disagg, lengths, out));
      }
    }
    return out;
  }

 private:
  struct Lengths {
    std::int64_t isl, osl;
    const YamlNode &isl_node, &osl_node;
    [[nodiscard]] std::string sequence() const {
      if (isl == 1024 && osl == 1024) return "1k1k";
      if (isl == kEvalIsl && osl == kEvalOsl) return "8k1k";
      return fmt::format("{}_{}", isl, osl);
    }
  };

  /// `router` and `kv-p2p-transfer`: the entry's key if present, else the config's; left out when null.
  Status component(const YamlNode& entry, const char* name, Json& row) const {
    const YamlNode* node = entry.find(name);
    if (node == nullptr) node = recipe_.node->find(name);
    if (node == nullptr) return {};
    PAWL_ASSIGN(Json v, value(*node));
    if (!v.is_null()) row[name] = std::move(v);
    return {};
  }

  Status single_node(const YamlNode& entry, const Json& head, const Json& disagg, const Lengths& lengths, std::vector<Json>& out) const {
    PAWL_TRY(only(entry, "a search-space entry",
                  {"tp", "pp", "dcp-size", "pcp-size", "ep", "spec-decoding", "dp-attn", "router", "conc-start", "conc-end", "conc-list"}));
    if (entry.find("tp") == nullptr) return wrong(entry, "a search-space entry has no 'tp'");
    PAWL_ASSIGN(const auto concs, concurrencies(entry));
    for (const std::int64_t conc : concs) {
      Json row = head;
      PAWL_ASSIGN(row["isl"], value(lengths.isl_node));
      PAWL_ASSIGN(row["osl"], value(lengths.osl_node));
      PAWL_ASSIGN(row["tp"], value(*entry.find("tp")));
      for (const char* size : {"pp", "dcp-size", "pcp-size"}) {
        PAWL_ASSIGN(row[size], raw_or(entry, size, 1));
      }
      row["conc"] = conc;
      row["max-model-len"] = lengths.isl + lengths.osl + kModelLenMargin;
      PAWL_ASSIGN(row["ep"], raw_or(entry, "ep", 1));
      PAWL_ASSIGN(row["dp-attn"], raw_or(entry, "dp-attn", false));
      PAWL_ASSIGN(row["spec-decoding"], raw_or(entry, "spec-decoding", "none"));
      row["exp-name"] = recipe_.text("model-prefix") + "_" + lengths.sequence();
      row["disagg"] = disagg;
      row["run-eval"] = false;
      PAWL_TRY(component(entry, "router", row));
      out.push_back(std::move(row));
    }
    return {};
  }

  Status multi_node(const YamlNode& entry, const Json& head, const Json& disagg, const Lengths& lengths, std::vector<Json>& out) const {
    PAWL_TRY(only(entry, "a search-space entry", {"spec-decoding", "prefill", "decode", "router", "kv-p2p-transfer", "conc-start", "conc-end", "conc-list"}));
    PAWL_ASSIGN(const auto concs, concurrencies(entry));
    Json row = head;
    PAWL_ASSIGN(row["isl"], value(lengths.isl_node));
    PAWL_ASSIGN(row["osl"], value(lengths.osl_node));
    PAWL_ASSIGN(row["spec-decoding"], raw_or(entry, "spec-decoding", "none"));
    PAWL_ASSIGN(row["prefill"], worker(entry, "prefill"));
    PAWL_ASSIGN(row["decode"], worker(entry, "decode"));
    row["conc"] = concs;
    row["max-model-len"] = lengths.isl + lengths.osl + kModelLenMargin;
    row["exp-name"] = recipe_.text("model-prefix") + "_" + lengths.sequence();
    row["disagg"] = disagg;
    row["run-eval"] = false;
    PAWL_TRY(component(entry, "router", row));
    PAWL_TRY(component(entry, "kv-p2p-transfer", row));
    out.push_back(std::move(row));
    return {};
  }

  const Catalogue& catalogue_;
  const Recipe& recipe_;
};

/// The group of a row: these fields, deeply compared.
std::string group_of(const Json& row, std::initializer_list<const char*> fields) {
  Json key = Json::array();
  for (const char* field : fields) key.push_back(row.contains(field) ? row[field] : Json());
  return codec::write_json_sorted(key);
}

std::string topology_of(const Json& row) {
  Json key = row;
  for (const char* field : {"conc", "run-eval", "eval-only", "eval-conc", "eval-all-concs", "exp-name"}) key.erase(field);
  return codec::write_json_sorted(key);
}

/// Section 9.1.
void mark_default_evals(std::vector<Json>& rows) {
  std::map<std::string, std::set<std::int64_t>> single;
  std::map<std::string, std::pair<std::size_t, std::int64_t>> multi;  // group → row, its largest eligible concurrency
  const auto single_group = [](const Json& row) {
    return group_of(row, {"model", "runner", "framework", "precision", "isl", "osl", "spec-decoding", "dp-attn"});
  };
  const auto eligible_single = [](const Json& row) {
    return row.contains("tp") && row["isl"] == kEvalIsl && row["osl"] == kEvalOsl && row["conc"] >= kEvalConcMin;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    if (eligible_single(row)) {
      single[single_group(row)].insert(row["conc"].get<std::int64_t>());
    } else if (row.contains("prefill") && row["isl"] == kEvalIsl && row["osl"] == kEvalOsl) {
      const auto largest = std::ranges::max(row["conc"].get<std::vector<std::int64_t>>());
      if (largest < kEvalConcMin) continue;
      const auto [slot, fresh] = multi.try_emplace(topology_of(row), i, largest);
      if (!fresh && largest > slot->second.second) slot->second = {i, largest};
    }
  }
  for (Json& row : rows) {
    if (!eligible_single(row)) continue;
    const auto& concs = single[single_group(row)];
    const std::int64_t conc = row["conc"].get<std::int64_t>();
    row["run-eval"] = conc == *concs.rbegin() || conc == *std::next(concs.begin(), static_cast<std::ptrdiff_t>(concs.size() / 2));
  }
  for (const auto& [group, choice] : multi) {
    rows[choice.first]["run-eval"] = true;
    rows[choice.first]["eval-conc"] = choice.second;
  }
}

std::int64_t conc_of(const Json& row) { return row["conc"].is_array() ? row["conc"][0].get<std::int64_t>() : row["conc"].get<std::int64_t>(); }

}  // namespace

std::vector<std::int64_t> concurrency_range(std::int64_t start, std::int64_t end, std::int64_t step) {
  std::vector<std::int64_t> values{start};
  while (values.back() < end) values.push_back(std::min(end, values.back() * step));
  return values;
}

Result<std::vector<Json>> expand(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, EvalMode mode) {
  std::vector<Json> rows;
  for (const Recipe* recipe : recipes) {
    PAWL_ASSIGN(std::vector<Json> more, RecipeReader(catalogue, *recipe).rows());
    std::ranges::move(more, std::back_inserter(rows));
  }
  if (mode == EvalMode::kNone) return rows;
  mark_default_evals(rows);
  if (mode == EvalMode::kEvalsOnly) {
    std::erase_if(rows, [](const Json& row) { return row["run-eval"] != true; });
    for (Json& row : rows) row["eval-only"] = true;
  }
  return rows;
}

SmokeSelection select_smoke(const std::vector<Json>& points, const std::vector<Json>& evals, SmokeEval where) {
  SmokeSelection smoke;
  std::vector<std::string> shapes;
  for (const Json& row : points) {
    const std::string shape = model::shape_key(row);
    const auto at = std::ranges::find(shapes, shape);
    if (at == shapes.end()) {
      shapes.push_back(shape);
      smoke.points.push_back(row);
    } else if (Json& kept = smoke.points[static_cast<std::size_t>(at - shapes.begin())]; conc_of(row) < conc_of(kept)) {
      kept = row;
    }
  }
  for (Json& row : smoke.points) row["run-eval"] = false;
  if (evals.empty()) return smoke;
  if (where == SmokeEval::kCanonicalConcurrency) {
    smoke.evals.push_back(*std::ranges::min_element(evals, {}, conc_of));
    return smoke;
  }
  const Json& largest = *std::ranges::max_element(evals, {}, conc_of);
  Json eval = largest;
  for (const Json& row : smoke.points) {
    if (model::shape_key(row) == model::shape_key(largest)) eval["conc"] = row["conc"];
  }
  smoke.evals.push_back(std::move(eval));
  return smoke;
}

}  // namespace pawl::plan
