#include "plan/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/assert.h"
#include "base/text.h"
#include "plan/concurrency.h"
#include "plan/eval_marks.h"
#include "plan/key_pattern.h"
#include "plan/row_builder.h"
#include "plan/schema.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;

bool contains(const std::vector<std::string>& values, const Json& value) {
  return value.is_string() && std::ranges::find(values, value.get_ref<const std::string&>()) != values.end();
}

/// What differs between the two forms of the generator.
struct Rules {
  const GeneratorOptions& common;
  const FullSweep* sweep = nullptr;  ///< one of the two is set
  const TestConfig* test = nullptr;
};

const YamlNode& child(const YamlNode& node, const char* key) {
  const YamlNode* found = node.find(key);
  PAWL_ASSERT(found != nullptr);
  return *found;
}

/// One recipe under expansion.
class Expander {
 public:
  Expander(const Catalogue& catalogue, const Recipe& recipe, const Rules& rules, Matrix& out)
      : catalogue_(catalogue), recipe_(recipe), rules_(rules), out_(out), rows_(catalogue, recipe) {}

  Status run() {
    PAWL_ASSIGN(const Json* runner, rows_.need(recipe_.config, "runner", *recipe_.node));
    if (!choose_runners(python_text(*runner))) return {};
    multi_ = recipe_.config.contains("multinode") && truthy(recipe_.config["multinode"]);
    PAWL_ASSIGN(const Json* scenarios, rows_.need(recipe_.config, "scenarios", *recipe_.node));
    const YamlNode& node = child(*recipe_.node, "scenarios");
    if (rules_.common.scenarios.fixed) PAWL_TRY(scenario(*scenarios, node, "fixed-seq-len"));
    if (rules_.common.scenarios.agentic) PAWL_TRY(scenario(*scenarios, node, "agentic-coding"));
    return {};
  }

 private:
  /// Section 7.5. False when the filter leaves none.
  bool choose_runners(const std::string& label) {
    if (!rules_.common.runner_node_filter) {
      runners_ = {label};
      return true;
    }
    const std::string& wanted = *rules_.common.runner_node_filter;
    std::vector<std::string> candidates;
    if (rules_.test != nullptr && label.contains(wanted)) candidates.push_back(label);
    if (const auto* nodes = catalogue_.nodes(label)) candidates.insert(candidates.end(), nodes->begin(), nodes->end());
    for (const std::string& candidate : candidates) {
      if (!candidate.contains(wanted)) continue;
      if (rules_.test != nullptr && std::ranges::find(runners_, candidate) != runners_.end()) continue;
      runners_.push_back(candidate);
    }
    return !runners_.empty();
  }

  Status scenario(const Json& scenarios, const YamlNode& node, const char* name) {
    const auto items = scenarios.find(name);
    if (items == scenarios.end()) return {};
    const YamlNode& list = child(node, name);
    if (!items->is_array()) return rows_.wrong(list, fmt::format("the scenario {} must be a list", name));
    const bool agentic = std::string_view(name) == "agentic-coding";
    for (std::size_t i = 0; i < items->size(); ++i) {
      const Json& item = (*items)[i];
      const YamlNode& item_node = list.items[i];
      std::optional<RowBuilder::Lengths> lengths;
      if (!agentic) {
        if (!wanted_sequence(item)) continue;
        PAWL_ASSIGN(lengths, rows_.lengths(item, item_node));
      }
      PAWL_ASSIGN(const Json* space, rows_.need(item, "search-space", item_node));
      const YamlNode& space_node = child(item_node, "search-space");
      for (std::size_t k = 0; k < space->size(); ++k) {
        const Json& entry = (*space)[k];
        const YamlNode& entry_node = space_node.items[k];
        PAWL_TRY(agentic ? agentic_entry(item, entry, entry_node) : fixed_entry(*lengths, entry, entry_node));
      }
    }
    return {};
  }

  [[nodiscard]] bool wanted_sequence(const Json& item) const {
    if (rules_.common.seq_lens.empty()) return true;
    const auto isl = item.contains("isl") ? number_of(item["isl"]) : std::nullopt, osl = item.contains("osl") ? number_of(item["osl"]) : std::nullopt;
    if (!isl || !osl) return false;
    const std::string name = sequence_name(isl->value, osl->value);
    return !name.contains('_') && contains(rules_.common.seq_lens, name);
  }

  Status fixed_entry(const RowBuilder::Lengths& lengths, const Json& entry, const YamlNode& node) {
    std::optional<std::int64_t> clamped_ep;
    if (rules_.sweep != nullptr && !multi_) {
      PAWL_ASSIGN(const bool kept, small_enough(entry, node, clamped_ep));
      if (!kept) return {};
    }
    PAWL_ASSIGN(const auto concs, concurrencies(entry, node, multi_ ? EntryKind::kMultiFixed : EntryKind::kSingleFixed));
    if (!concs) return {};
    PAWL_ASSIGN(Json row, multi_ ? rows_.multi_fixed(entry, node, lengths) : rows_.single_fixed(entry, node, lengths));
    if (clamped_ep) row["ep"] = *clamped_ep;
    if (multi_) {
      row["conc"] = *concs;
      for (const std::string& runner : runners_) emit(row, runner, node);
      return {};
    }
    for (const Json& conc : *concs) {
      row["conc"] = conc;
      for (const std::string& runner : runners_) emit(row, runner, node);
    }
    return {};
  }

  Status agentic_entry(const Json& item, const Json& entry, const YamlNode& node) {
    PAWL_ASSIGN(const auto concs, concurrencies(entry, node, EntryKind::kAgentic));
    if (!concs) return {};
    PAWL_ASSIGN(Json row, multi_ ? rows_.multi_agentic(item, entry, node) : rows_.single_agentic(item, entry, node));
    const auto at = [&](const Json& conc) -> const Json& {
      row["conc"] = multi_ ? Json::array({conc}) : conc;
      row["exp-name"] = rows_.agentic_name(row, conc);
      return row;
    };
    if (multi_) {
      for (const std::string& runner : runners_) {
        for (const Json& conc : *concs) emit(at(conc), runner, node);
      }
      return {};
    }
    for (const Json& conc : *concs) {
      for (const std::string& runner : runners_) emit(at(conc), runner, node);
    }
    return {};
  }

  /// `--max-tp` and `--max-ep` of full-sweep.
  Result<bool> small_enough(const Json& entry, const YamlNode& node, std::optional<std::int64_t>& clamped_ep) const {
    if (const auto& max = rules_.sweep->max_tp) {
      if (*max <= 0) return false;
      PAWL_ASSIGN(const Json* tp, rows_.need(entry, "tp", node));
      const auto number = number_of(*tp);
      if (!number) return rows_.wrong(node, "'tp' must be a number without quotes to be compared with --max-tp");
      if (number->value > *max) return false;
    }
    if (const auto& max = rules_.sweep->max_ep) {
      if (*max <= 0) return false;
      const auto ep = entry.find("ep");
      if (ep != entry.end() && !ep->is_null()) {
        const auto number = number_of(*ep);
        if (!number) return rows_.wrong(node, "'ep' must be a number without quotes to be compared with --max-ep");
        if (number->value > *max) clamped_ep = *max;
      }
    }
    return true;
  }

  /// The concurrencies of an entry after the filters, raw; nothing when the entry is skipped.
  Result<std::optional<Json::array_t>> concurrencies(const Json& entry, const YamlNode& node, EntryKind kind) const {
    ConcurrencyRules rules{.kind = kind, .list_by_presence = rules_.test != nullptr && kind != EntryKind::kAgentic};
    if (rules_.sweep != nullptr) {
      rules.step = rules_.sweep->step_size;
      rules.min = rules_.sweep->min_conc;
      rules.max = rules_.sweep->max_conc;
    } else {
      rules.only = rules_.test->conc;
    }
    auto concs = entry_concurrencies(entry, rules);
    if (!concs) return rows_.wrong(node, concs.error().message, concs.error().remedy);
    return concs;
  }

  void emit(const Json& row, const std::string& runner, const YamlNode& node) {
    out_.rows.push_back(row);
    if (rules_.common.runner_node_filter) out_.rows.back()["runner"] = runner;
    out_.origins.push_back({&recipe_, &node});
  }

  const Catalogue& catalogue_;
  const Recipe& recipe_;
  const Rules& rules_;
  Matrix& out_;
  RowBuilder rows_;
  std::vector<std::string> runners_;
  bool multi_ = false;
};

Status usage(const GeneratorOptions& options) {
  if (options.no_evals && options.evals_only) return usage_error("--no-evals and --evals-only exclude each other");
  if (options.no_evals && options.all_evals) return usage_error("--no-evals and --all-evals exclude each other");
  return {};
}

/// Section 6.2, after generation.
Result<Matrix> finish(Matrix matrix, const GeneratorOptions& options) {
  const bool only = options.evals_only || options.all_evals;
  if (!options.no_evals) PAWL_TRY(mark_evals(matrix, only));
  if (options.all_evals) PAWL_TRY(expand_all_evals(matrix));
  if (only) keep_evals_only(matrix);
  return matrix;
}

bool passes(const Recipe& recipe, const FullSweep& options) {
  const auto field = [&](const char* name) {
    const auto found = recipe.config.find(name);
    return found == recipe.config.end() ? Json() : *found;
  };
  if (!options.model_prefixes.empty() && std::ranges::none_of(options.model_prefixes, [&](const std::string& p) { return recipe.key.starts_with(p); }))
    return false;
  if (!options.precisions.empty() && !contains(options.precisions, field("precision"))) return false;
  if (!options.frameworks.empty() && !contains(options.frameworks, field("framework"))) return false;
  if (!options.runner_types.empty() && !contains(options.runner_types, field("runner"))) return false;
  const bool multi = truthy(field("multinode")), both = options.single_node == options.multi_node;
  return both || multi == options.multi_node;
}

}  // namespace

Status check_options(const FullSweep& options) {
  if (options.step_size <= 1) return usage_error("--step-size must be greater than 1");
  if (options.min_conc && options.max_conc && *options.min_conc > *options.max_conc) return usage_error("--min-conc must be less than or equal to --max-conc");
  return usage(options);
}

Status check_options(const TestConfig& options) { return usage(options); }

Result<Matrix> full_sweep(const Catalogue& catalogue, const FullSweep& options) {
  PAWL_TRY(check_options(options));
  PAWL_TRY(check(catalogue));
  for (const std::string& label : options.runner_types) {
    if (catalogue.nodes(label) == nullptr) {
      return bad_input(
          fmt::format("Invalid runner type '{}': not among the labels of {}", label, catalogue.layout().shown_folder + catalogue.layout().runners));
    }
  }
  Matrix matrix;
  const Rules rules{options, &options, nullptr};
  for (const Recipe& recipe : catalogue.recipes()) {
    if (passes(recipe, options)) PAWL_TRY(Expander(catalogue, recipe, rules, matrix).run());
  }
  return finish(std::move(matrix), options);
}

Result<std::vector<const Recipe*>> resolve_keys(const Catalogue& catalogue, const std::vector<std::string>& keys) {
  std::vector<const Recipe*> chosen;
  std::unordered_set<const Recipe*> seen;
  for (const std::string& key : keys) {
    if (!is_pattern(key)) {
      auto found = catalogue.find(key);
      if (!found) return not_found(fmt::format("Config key(s) not found: {}", key), found.error().remedy);
      if (seen.insert(*found).second) chosen.push_back(*found);
      continue;
    }
    bool matched = false;
    for (const Recipe& recipe : catalogue.recipes()) {
      if (!pattern_matches(key, recipe.key)) continue;
      matched = true;
      if (seen.insert(&recipe).second) chosen.push_back(&recipe);
    }
    if (!matched) return not_found(fmt::format("the pattern '{}' matched no config keys", key), "pawl catalog list --catalog DIR shows them all");
  }
  return chosen;
}

Result<Matrix> test_config_rows(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, const TestConfig& options) {
  PAWL_TRY(usage(options));
  Matrix matrix;
  const Rules rules{options, nullptr, &options};
  for (const Recipe* recipe : recipes) PAWL_TRY(Expander(catalogue, *recipe, rules, matrix).run());
  return finish(std::move(matrix), options);
}

Result<Matrix> test_config(const Catalogue& catalogue, const TestConfig& options) {
  PAWL_TRY(usage(options));
  PAWL_TRY(check(catalogue));
  PAWL_ASSIGN(const auto recipes, resolve_keys(catalogue, options.config_keys));
  return test_config_rows(catalogue, recipes, options);
}

std::string sequence_name(std::int64_t isl, std::int64_t osl) {
  if (isl == 1024 && osl == 1024) return "1k1k";
  if (isl == 8192 && osl == 1024) return "8k1k";
  return fmt::format("{}_{}", isl, osl);
}

std::string matrix_text(const std::vector<Json>& rows) {
  std::string text = "[";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += ", ";
    text += codec::write_json(rows[i], codec::JsonForm::kPySpaced);
  }
  return text + "]\n";
}

}  // namespace pawl::plan
