#include "plan/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>

#include "base/assert.h"
#include "base/text.h"
#include "codec/json_append.h"
#include "plan/concurrency.h"
#include "plan/eval_marks.h"
#include "plan/key_pattern.h"
#include "plan/later_rows.h"
#include "plan/row_builder.h"
#include "plan/schema.h"
#include "plan/typing.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;

bool contains(const std::vector<std::string>& values, const std::string& value) { return std::ranges::find(values, value) != values.end(); }

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

/// The rows of one search-space entry: what they share, and in which order the rest varies.
class RowFamily {
 public:
  RowFamily(RowOrigin origin, Json shared, Json::array_t concs, std::shared_ptr<const std::vector<std::string>> runners, bool filtered)
      : origin_(origin), row_(std::move(shared)), concs_(std::move(concs)), runners_(std::move(runners)), members_(row_.size()), filtered_(filtered) {
    for (std::size_t i = 0; i < members_; ++i) {
      const std::string_view key = members()[i].first;
      multi_ = multi_ || key == "prefill";
      agentic_ = agentic_ || key == "scenario-type";
      if (key == "conc") conc_ = i;
      if (key == "exp-name") name_ = i;
      if (key == "runner") runner_ = i;
      if (key == "run-eval") mark_ = i;
    }
    whole_list_ = multi_ && !agentic_;
  }
  [[nodiscard]] std::size_t size() const { return runners_->size() * (whole_list_ ? 1 : concs_.size()); }
  [[nodiscard]] const RowOrigin& origin() const { return origin_; }

  /// Row `i`, without marks. Good until the next call; may be written to.
  Json& at(std::size_t i) {
    auto& all = members();
    while (all.size() > members_) all.pop_back();
    if (mark_ != kNone) all[mark_].second = false;
    const std::size_t runner = multi_ ? i / (whole_list_ ? 1 : concs_.size()) : i % runners_->size();
    if (whole_list_) {
      all[conc_].second = concs_;
    } else {
      const Json& conc = concs_[multi_ ? i % concs_.size() : i / runners_->size()];
      all[conc_].second = multi_ ? Json::array({conc}) : conc;
      if (agentic_) all[name_].second = RowBuilder::agentic_name(row_, conc);
    }
    if (filtered_) all[runner_].second = (*runners_)[runner];
    return row_;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  Json::object_t::Container& members() { return row_.get_ref<Json::object_t&>(); }

  RowOrigin origin_;
  Json row_;
  Json::array_t concs_;
  std::shared_ptr<const std::vector<std::string>> runners_;
  std::size_t members_;
  std::size_t conc_ = kNone, name_ = kNone, runner_ = kNone, mark_ = kNone;  ///< where these members stand
  bool filtered_, multi_ = false, agentic_ = false, whole_list_ = false;
};

/// One recipe under expansion.
class Expander {
 public:
  Expander(const Catalogue& catalogue, const Recipe& recipe, const Rules& rules, std::vector<RowFamily>& out)
      : recipe_(recipe), config_(recipe.config()), rules_(rules), out_(out), rows_(catalogue, recipe, config_), catalogue_(catalogue) {
    const Generation* generation = catalogue.generation_or_null();
    later_ = generation != nullptr && generation->worker_form;
  }

  Status run() {
    PAWL_ASSIGN(const Json* runner, rows_.need(config_, "runner", *recipe_.node));
    if (!choose_runners(python_text(*runner))) return {};
    multi_ = config_.contains("multinode") && truthy(config_["multinode"]);
    PAWL_ASSIGN(const Json* scenarios, rows_.need(config_, "scenarios", *recipe_.node));
    const YamlNode& node = child(*recipe_.node, "scenarios");
    if (rules_.common.scenarios.fixed) PAWL_TRY(scenario(*scenarios, node, "fixed-seq-len"));
    if (rules_.common.scenarios.agentic) PAWL_TRY(scenario(*scenarios, node, "agentic-coding"));
    return {};
  }

 private:
  /// Section 7.5. False when the filter leaves none.
  bool choose_runners(const std::string& label) {
    std::vector<std::string> chosen;
    if (!rules_.common.runner_node_filter) {
      chosen = {label};
    } else {
      const std::string& wanted = *rules_.common.runner_node_filter;
      std::vector<std::string> candidates;
      if (rules_.test != nullptr && label.contains(wanted)) candidates.push_back(label);
      if (const auto* nodes = catalogue_.nodes(label)) candidates.insert(candidates.end(), nodes->begin(), nodes->end());
      for (const std::string& candidate : candidates) {
        if (!candidate.contains(wanted)) continue;
        if (rules_.test != nullptr && std::ranges::find(chosen, candidate) != chosen.end()) continue;
        chosen.push_back(candidate);
      }
    }
    runners_ = std::make_shared<const std::vector<std::string>>(std::move(chosen));
    return !runners_->empty();
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
        Json pair;
        if (later_) pair = entry_as_pair(item, (*space)[k]);
        const Json& entry = later_ ? pair : (*space)[k];
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
    PAWL_ASSIGN(auto concs, concurrencies(entry, node, multi_ ? EntryKind::kMultiFixed : EntryKind::kSingleFixed));
    if (!concs) return {};
    PAWL_ASSIGN(Json row, multi_ ? rows_.multi_fixed(entry, node, lengths) : rows_.single_fixed(entry, node, lengths));
    if (clamped_ep) row["ep"] = *clamped_ep;
    if (later_) PAWL_TRY(add_later_fields(catalogue_, recipe_, entry, node, row));
    add(std::move(row), std::move(*concs), node);
    return {};
  }

  Status agentic_entry(const Json& item, const Json& entry, const YamlNode& node) {
    PAWL_ASSIGN(auto concs, concurrencies(entry, node, EntryKind::kAgentic));
    if (!concs) return {};
    PAWL_ASSIGN(Json row, multi_ ? rows_.multi_agentic(item, entry, node) : rows_.single_agentic(item, entry, node));
    if (later_) PAWL_TRY(add_later_fields(catalogue_, recipe_, entry, node, row));
    add(std::move(row), std::move(*concs), node);
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

  void add(Json row, Json::array_t concs, const YamlNode& node) {
    out_.emplace_back(RowOrigin{&recipe_, &node}, std::move(row), std::move(concs), runners_, rules_.common.runner_node_filter.has_value());
  }

  const Recipe& recipe_;
  const Json config_;
  const Rules& rules_;
  std::vector<RowFamily>& out_;
  RowBuilder rows_;
  const Catalogue& catalogue_;
  std::shared_ptr<const std::vector<std::string>> runners_;
  bool multi_ = false;
  bool later_ = false;  ///< a generation whose rows have more fields
};

Status usage(const GeneratorOptions& options) {
  if (options.no_evals && options.evals_only) return usage_error("--no-evals and --evals-only exclude each other");
  if (options.no_evals && options.all_evals) return usage_error("--no-evals and --all-evals exclude each other");
  return {};
}

/// Section 6.2: the marks depend on all rows, so all of them are looked at before the first is given out.
Status generate(const Catalogue& catalogue, const std::vector<const Recipe*>& recipes, const Rules& rules, const RowSink& sink) {
  std::vector<RowFamily> families;
  EvalRules eval_rules;
  if (const Generation* generation = catalogue.generation_or_null()) {
    eval_rules.agentic_group = generation->agentic_group;
    eval_rules.agentic_min_conc = generation->agentic_min_eval_conc;
    eval_rules.agentic_fallback = generation->agentic_fallback;
  }
  if (rules.common.agentic_min_eval_conc) eval_rules.agentic_min_conc = *rules.common.agentic_min_eval_conc;
  EvalMarks marks(rules.common, std::move(eval_rules));
  const bool only = rules.common.evals_only || rules.common.all_evals;
  std::size_t kept = 0;  // the families of so many recipes are in `families`
  const auto give_out = [&](RowFamily& family) -> Status {
    for (std::size_t i = 0, n = family.size(); i < n; ++i) {
      Json& row = family.at(i);
      if (!marks.apply(row)) continue;
      if (only && row.contains("require-power")) {
        Json eval = row;  // the family's own row keeps its members
        eval.erase("require-power");
        PAWL_TRY(sink(eval, family.origin()));
      } else {
        PAWL_TRY(sink(row, family.origin()));
      }
    }
    return {};
  };
  for (std::size_t r = 0; r < recipes.size(); ++r) {
    std::vector<RowFamily> of_this_one;
    const bool keep = kept == r && families.size() < rules.common.entries_kept;
    std::vector<RowFamily>& out = keep ? families : of_this_one;
    const std::size_t seen = out.size();
    PAWL_TRY(Expander(catalogue, *recipes[r], rules, out).run());
    for (std::size_t f = seen; f < out.size(); ++f) {
      for (std::size_t i = 0; i < out[f].size(); ++i) PAWL_TRY(marks.observe(out[f].at(i)));
    }
    kept += keep ? 1 : 0;
  }
  for (RowFamily& family : families) PAWL_TRY(give_out(family));
  families = {};
  for (std::size_t r = kept; r < recipes.size(); ++r) {
    std::vector<RowFamily> again;
    PAWL_TRY(Expander(catalogue, *recipes[r], rules, again).run());
    for (RowFamily& family : again) PAWL_TRY(give_out(family));
  }
  return {};
}

Status check_labels(const Catalogue& catalogue, const FullSweep& options) {
  for (const std::string& label : options.runner_types) {
    if (catalogue.nodes(label) == nullptr) {
      return bad_input(
          fmt::format("Invalid runner type '{}': not among the labels of {}", label, catalogue.layout().shown_folder + catalogue.layout().runners));
    }
  }
  return {};
}

RowSink into(Matrix& matrix) {
  return [&matrix](const Json& row, const RowOrigin& origin) -> Status {
    matrix.rows.push_back(row);
    matrix.origins.push_back(origin);
    return {};
  };
}

bool passes(const Recipe& recipe, const FullSweep& options) {
  if (!options.model_prefixes.empty() && std::ranges::none_of(options.model_prefixes, [&](const std::string& p) { return recipe.key.starts_with(p); }))
    return false;
  if (!options.precisions.empty() && !contains(options.precisions, recipe.text("precision"))) return false;
  if (!options.frameworks.empty() && !contains(options.frameworks, recipe.text("framework"))) return false;
  if (!options.runner_types.empty() && !contains(options.runner_types, recipe.text("runner"))) return false;
  const YamlNode* multinode = recipe.node->find("multinode");
  const bool multi = multinode != nullptr && truthy(*multinode), both = options.single_node == options.multi_node;
  return both || multi == options.multi_node;
}

}  // namespace

Status check_options(const FullSweep& options) {
  if (options.step_size <= 1) return usage_error("--step-size must be greater than 1");
  if (options.min_conc && options.max_conc && *options.min_conc > *options.max_conc) return usage_error("--min-conc must be less than or equal to --max-conc");
  return usage(options);
}

Status check_options(const TestConfig& options) { return usage(options); }

Status full_sweep(const Catalogue& catalogue, const FullSweep& options, const RowSink& sink) {
  PAWL_TRY(check_options(options));
  PAWL_TRY(check(catalogue));
  PAWL_TRY(check_labels(catalogue, options));
  std::vector<const Recipe*> chosen;
  for (const Recipe& recipe : catalogue.recipes()) {
    if (passes(recipe, options)) chosen.push_back(&recipe);
  }
  return generate(catalogue, chosen, Rules{options, &options, nullptr}, sink);
}

Result<Matrix> full_sweep(const Catalogue& catalogue, const FullSweep& options) {
  Matrix matrix;
  PAWL_TRY(full_sweep(catalogue, options, into(matrix)));
  return matrix;
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
  PAWL_TRY(generate(catalogue, recipes, Rules{options, nullptr, &options}, into(matrix)));
  return matrix;
}

Status test_config(const Catalogue& catalogue, const TestConfig& options, const RowSink& sink) {
  PAWL_TRY(usage(options));
  PAWL_TRY(check(catalogue));
  PAWL_ASSIGN(const auto recipes, resolve_keys(catalogue, options.config_keys));
  return generate(catalogue, recipes, Rules{options, nullptr, &options}, sink);
}

Result<Matrix> test_config(const Catalogue& catalogue, const TestConfig& options) {
  Matrix matrix;
  PAWL_TRY(test_config(catalogue, options, into(matrix)));
  return matrix;
}

std::string sequence_name(std::int64_t isl, std::int64_t osl) {
  if (isl == 1024 && osl == 1024) return "1k1k";
  if (isl == 8192 && osl == 1024) return "8k1k";
  return fmt::format("{}_{}", isl, osl);
}

std::string_view matrix_text_before(bool first) { return first ? "[" : ", "; }
std::string_view matrix_text_end(bool empty) { return empty ? "[]\n" : "]\n"; }

std::string matrix_text(const std::vector<Json>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += matrix_text_before(i == 0);
    codec::append_json(text, rows[i], codec::JsonForm::kPySpaced);
  }
  return text.append(matrix_text_end(rows.empty()));
}

}  // namespace pawl::plan
