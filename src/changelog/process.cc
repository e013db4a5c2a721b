#include "changelog/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "changelog/append_only.h"
#include "changelog/rows.h"
#include "changelog/rule.h"
#include "plan/generator.h"
#include "plan/later_rows.h"
#include "plan/schema.h"
#include "plan/typing.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using Rows = std::vector<Json>;

/// Whole-text match of `*` as any run of characters except a line feed.
bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos && text[mark] != '\n') {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

Scope scope_of(const LedgerEntry& entry) {
  if (!entry.scenario_type) return {true, true};
  const auto names = [&](const char* name) { return std::ranges::find(*entry.scenario_type, name) != entry.scenario_type->end(); };
  return {names("fixed-seq-len"), names("agentic-coding")};
}

/// Keys that one generator call covers together.
struct Group {
  Scope scope;
  std::vector<std::string> keys;
};

/// What earlier passes of one kind have generated, by key.
class Coverage {
 public:
  /// The keys with what is not covered yet, grouped by it in first-seen order; all of it is covered from now on.
  std::vector<Group> take(const std::vector<std::string>& keys, Scope wanted) {
    std::vector<Group> groups;
    for (const std::string& key : keys) {
      Scope& done = covered_[key];
      const Scope open{wanted.fixed && !done.fixed, wanted.agentic && !done.agentic};
      if (!open.fixed && !open.agentic) continue;
      done = {done.fixed || open.fixed, done.agentic || open.agentic};
      const auto same = std::ranges::find_if(groups, [&](const Group& g) { return g.scope.fixed == open.fixed && g.scope.agentic == open.agentic; });
      if (same != groups.end())
        same->keys.push_back(key);
      else
        groups.push_back({open, {key}});
    }
    return groups;
  }

 private:
  std::map<std::string, Scope> covered_;
};

/// Drops rows whose prefill runs on fewer expert ranks than the entry asks for.
Status keep_min_prefill_ep(Rows& rows, std::int64_t least) {
  for (const Json& row : rows) {
    if (row.contains("prefill") && row["prefill"].is_object() && row["prefill"].contains("ep") && !plan::lax_int(row["prefill"]["ep"]))
      return bad_input("prefill.ep of a generated row is no integer");
  }
  std::erase_if(rows, [least](const Json& row) {
    if (!row.contains("prefill") || !row["prefill"].is_object()) return false;
    const Json& prefill = row["prefill"];
    return (prefill.contains("ep") ? plan::lax_int(prefill["ep"]).value_or(1) : 1) < least;
  });
  return {};
}

class Processor {
 public:
  Processor(const CatalogueSide& head, const CatalogueSide* base, const ProcessOptions& options) : head_(head), base_(base), options_(options) {}

  Result<Json> run(const std::vector<LedgerEntry>& added) {
    append_only_ = std::ranges::any_of(added, &LedgerEntry::append_only);
    if (append_only_) {
      const auto regular = std::ranges::find(added, false, &LedgerEntry::append_only);
      if (regular != added.end()) return broken("C-53", "append-only entries cannot share a sweep with regular changelog entries").at(regular->place);
      if (options_.all_evals || options_.evals_only) return broken("C-54", "append-only sweeps cannot use the all-evals or evals-only modifiers");
    }
    for (const LedgerEntry& entry : added) {
      if (entry.no_evals.value_or(false) && (options_.all_evals || options_.evals_only))
        return broken("C-54", "no-evals excludes the all-evals and evals-only modifiers").at(entry.place);
    }
    std::vector<std::pair<const LedgerEntry*, std::vector<std::string>>> order;
    std::map<std::string, Scope> selected;
    for (const LedgerEntry& entry : added) {
      auto keys = select_keys(entry.config_keys, head_);
      if (!keys) return std::move(keys).error().at(entry.place);
      for (const std::string& key : *keys) {
        Scope& scope = selected[key];
        scope = {scope.fixed || scope_of(entry).fixed, scope.agentic || scope_of(entry).agentic};
      }
      order.emplace_back(&entry, std::move(*keys));
    }
    if (append_only_) {
      if (base_ == nullptr) return broken("C-61", "append-only needs the catalogue at the base, and there is none");
      PAWL_TRY(check_scope(*base_, head_, selected));
    }
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first->all_evals && !b.first->all_evals; });
    for (const auto& [entry, keys] : order) PAWL_TRY(pass(*entry, keys));
    return buckets(added);
  }

 private:
  Status pass(const LedgerEntry& entry, const std::vector<std::string>& keys) {
    const bool suppressed = options_.evals_only || entry.evals_only || entry.all_evals;
    if (!suppressed) {
      for (const Group& group : throughput_covered_.take(keys, scope_of(entry))) {
        const GeneratorCall call{group.keys, GeneratorCall::Evals::kNone, group.scope.fixed, group.scope.agentic};
        Rows rows;
        if (append_only_) {
          PAWL_ASSIGN(const Rows before, base_->generate(call));
          PAWL_ASSIGN(const Rows after, head_.generate(call));
          PAWL_ASSIGN(rows, new_points(before, after));
        } else {
          PAWL_ASSIGN(rows, head_.generate(call));
        }
        std::ranges::move(rows, std::back_inserter(throughput_));
      }
    }
    if (append_only_ || entry.no_evals.value_or(false)) return {};
    const bool expand = options_.all_evals || entry.all_evals;
    for (const Group& group : evals_covered_.take(keys, scope_of(entry))) {
      PAWL_ASSIGN(Rows rows,
                  head_.generate({group.keys, expand ? GeneratorCall::Evals::kAll : GeneratorCall::Evals::kOnly, group.scope.fixed, group.scope.agentic}));
      if (entry.eval_min_prefill_ep) PAWL_TRY(keep_min_prefill_ep(rows, *entry.eval_min_prefill_ep));
      std::ranges::move(rows, std::back_inserter(evals_));
    }
    return {};
  }

  Result<Json> buckets(const std::vector<LedgerEntry>& added) {
    if (options_.trim_conc) {
      std::vector<plan::RowOrigin> origins(throughput_.size());
      throughput_ = plan::trim_concurrencies({std::move(throughput_), std::move(origins)}, head_.trim_agentic).rows;
    }
    Json out{{"single_node", Json::object()},  {"multi_node", Json::object()},     {"evals", Json::array()},
             {"agentic_evals", Json::array()}, {"multinode_evals", Json::array()}, {"multinode_agentic_evals", Json::array()}};
    for (Json& row : throughput_) {
      if (head_.fingerprint) {
        PAWL_ASSIGN(row["recipe-fingerprint"], head_.fingerprint(row));
      } else {
        row["recipe-fingerprint"] = recipe_fingerprint(row);
      }
      const RowShape shape = shape_of(row);
      PAWL_ASSIGN(Json normal, normal_row(shape, row));
      const bool agentic = shape == RowShape::kSingleAgentic || shape == RowShape::kMultiAgentic;
      const bool multi = shape == RowShape::kMultiFixed || shape == RowShape::kMultiAgentic;
      const std::string inner = agentic ? "agentic" : plan::sequence_name(normal["isl"].get<std::int64_t>(), normal["osl"].get<std::int64_t>());
      out[multi ? "multi_node" : "single_node"][inner].push_back(std::move(normal));
    }
    for (const Json& row : evals_) {
      const RowShape shape = shape_of(row);
      PAWL_ASSIGN(Json normal, normal_row(shape, row));
      const char* bucket = shape == RowShape::kSingleFixed     ? "evals"
                           : shape == RowShape::kSingleAgentic ? "agentic_evals"
                           : shape == RowShape::kMultiFixed    ? "multinode_evals"
                                                               : "multinode_agentic_evals";
      out[bucket].push_back(std::move(normal));
    }
    Json entries = Json::array();
    for (const LedgerEntry& entry : added) entries.push_back(entry_json(entry));
    out["changelog_metadata"] = {{"base_ref", options_.base_ref}, {"head_ref", options_.head_ref}, {"entries", std::move(entries)}};
    return out;
  }

  const CatalogueSide& head_;
  const CatalogueSide* base_;
  const ProcessOptions& options_;
  bool append_only_ = false;
  Coverage throughput_covered_, evals_covered_;
  Rows throughput_, evals_;
};

}  // namespace

Result<CatalogueSide> side_of(const plan::Catalogue& catalogue) {
  PAWL_TRY(plan::check(catalogue));
  CatalogueSide side;
  for (const plan::Recipe& recipe : catalogue.recipes()) side.configs.emplace_back(recipe.key, recipe.config());
  side.generate = [&catalogue](const GeneratorCall& call) -> Result<Rows> {
    plan::TestConfig options;
    options.no_evals = call.evals == GeneratorCall::Evals::kNone;
    options.evals_only = !options.no_evals;
    options.all_evals = call.evals == GeneratorCall::Evals::kAll;
    options.scenarios = {call.fixed, call.agentic};
    options.config_keys = call.keys;
    std::vector<const plan::Recipe*> recipes;
    for (const std::string& key : call.keys) {
      PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
      recipes.push_back(recipe);
    }
    PAWL_ASSIGN(plan::Matrix matrix, plan::test_config_rows(catalogue, recipes, options));
    return std::move(matrix.rows);
  };
  const plan::Generation& generation = catalogue.generation();
  side.trim_agentic = generation.trim_agentic;
  side.no_evals = generation.no_evals;
  side.fingerprint = [&catalogue, kind = generation.fingerprint](const Json& row) -> Result<std::string> {
    if (kind == plan::Generation::Fingerprint::kRow) return recipe_fingerprint(row);
    Json plain = recipe_of(row);
    if (kind == plan::Generation::Fingerprint::kRowAndRecipe) {
      PAWL_ASSIGN(Json recipe, plan::bound_recipe(catalogue, row));
      if (recipe.is_null()) return recipe_fingerprint(row);
      return sha256_hex(codec::write_json_sorted({{"row", std::move(plain)}, {"recipe", Json::array({std::move(recipe)})}}));
    }
    for (const char* role : {"prefill", "decode"}) {
      if (!plain.contains(role) || !plain[role].is_object()) continue;
      if (plain[role].value("additional-settings", Json()) == Json::array()) plain[role].erase("additional-settings");
    }
    return recipe_fingerprint(plain);
  };
  return side;
}

Result<std::vector<std::string>> select_keys(const std::vector<std::string>& patterns, const CatalogueSide& side) {
  std::vector<std::string> chosen;
  const auto take = [&](const std::string& key) {
    if (std::ranges::find(chosen, key) == chosen.end()) chosen.push_back(key);
  };
  for (const std::string& pattern : patterns) {
    bool matched = false;
    const bool wild = pattern.contains('*');
    for (const auto& [key, config] : side.configs) {
      if (wild ? !wildcard_match(pattern, key) : key != pattern) continue;
      matched = true;
      take(key);
    }
    if (matched) continue;
    if (wild) return broken("C-55", fmt::format("No config keys matched the wildcard pattern '{}' in the master configs", pattern));
    Error error = broken("C-56", fmt::format("Config key '{}' not found in the master configs", pattern));
    std::vector<std::string> keys;
    for (const auto& [key, config] : side.configs) keys.push_back(key);
    const auto near = nearest(pattern, keys);
    return near ? std::move(error).advise(fmt::format("did you mean {}?", *near)) : error;
  }
  return chosen;
}

Result<Json> process(const std::vector<LedgerEntry>& added, const CatalogueSide& head, const CatalogueSide* base, const ProcessOptions& options) {
  return Processor(head, base, options).run(added);
}

std::string matrix_text(const Json& matrix) { return codec::write_json(matrix, codec::JsonForm::kCompactUtf8) + "\n"; }

}  // namespace pawl::changelog
