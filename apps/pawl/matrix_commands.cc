#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/shown.h"
#include "base/text.h"
#include "catalogue_source.h"
#include "cli.h"
#include "codec/json_append.h"
#include "git_tree.h"
#include "model/point.h"
#include "plan/expansion.h"
#include "plan/generator.h"
#include "plan/key_pattern.h"
#include "plan/matrix_diff.h"
#include "plan/schema.h"

namespace pawl::app {
namespace {

using codec::Json;

/// What is shown of the rows instead of the contract's JSON.
struct View {
  bool count = false, table = false, smoke = false, trim_conc = false;
  std::string explain;
  [[nodiscard]] bool plain() const { return !count && !table && !smoke && !trim_conc && explain.empty(); }
};

struct MatrixFlags {
  CatalogueSource source;
  std::vector<std::string> scenario_types;
  std::string node_filter;
  plan::FullSweep sweep;
  plan::TestConfig test;
  View view;
};

std::string label_of(const Json& row) {
  const auto point = model::point_of_row(row);
  if (!point) return row.value("exp-name", std::string("?"));
  if (!row["conc"].is_array() || row["conc"].size() < 2) return point->label();
  std::vector<std::string> all;
  for (const Json& conc : row["conc"]) all.push_back(conc.dump());
  return fmt::format("{} conc {}", point->topology(), join(all, ","));
}

std::string workload_of(const Json& row) {
  const auto point = model::point_of_row(row);
  return point ? point->workload() : "?";
}

SourcePlace place_of(const plan::Catalogue& catalogue, const plan::RowOrigin& origin) { return catalogue.place(*origin.recipe, *origin.entry); }

/// `--smoke`: the rows of a smoke run, recipe by recipe.
plan::Matrix smoke_of(const plan::Matrix& matrix) {
  plan::Matrix out;
  for (std::size_t from = 0; from < matrix.rows.size();) {
    std::size_t to = from;
    while (to < matrix.rows.size() && matrix.origins[to].recipe == matrix.origins[from].recipe) ++to;
    const std::vector<Json> rows(matrix.rows.begin() + static_cast<std::ptrdiff_t>(from), matrix.rows.begin() + static_cast<std::ptrdiff_t>(to));
    std::vector<Json> evals;
    for (const Json& row : rows) {
      if (row.value("run-eval", false)) evals.push_back(row);
    }
    const plan::SmokeSelection smoke = plan::select_smoke(rows, evals, plan::SmokeEval::kSmokeConcurrency);
    const auto take = [&](Json row) {
      const auto like = std::ranges::find_if(rows, [&](const Json& r) { return model::shape_key(r) == model::shape_key(row); });
      out.origins.push_back(matrix.origins[from + static_cast<std::size_t>(like - rows.begin())]);
      out.rows.push_back(std::move(row));
    };
    for (const Json& row : smoke.points) take(row);
    for (Json row : smoke.evals) {
      row["eval-only"] = true;
      take(std::move(row));
    }
    from = to;
  }
  return out;
}

/// `--explain`: the rows that `point` names (a label, an experiment name, a key's beginning or a row number), and the
/// lines that made them.
Result<ExitStatus> explain(const plan::Catalogue& catalogue, const plan::Matrix& matrix, const std::string& point, bool json) {
  Json found = Json::array();
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const Json& row = matrix.rows[i];
    const std::string label = label_of(row), key = model::point_key(row), name = row.value("exp-name", std::string());
    const bool wanted = label.contains(point) || name == point || (point.size() >= 6 && key.starts_with(point)) || point == fmt::format("{}", i + 1);
    if (!wanted) continue;
    const plan::RowOrigin& origin = matrix.origins[i];
    const SourcePlace entry = place_of(catalogue, origin), recipe = catalogue.place(*origin.recipe, *origin.recipe->node);
    found.push_back({{"row", i + 1},
                     {"label", label},
                     {"workload", workload_of(row)},
                     {"exp_name", name},
                     {"point_key", key},
                     {"recipe", origin.recipe->key},
                     {"file", entry.file},
                     {"recipe_line", recipe.line},
                     {"entry_line", entry.line},
                     {"entry_column", entry.column},
                     {"text", entry.text}});
  }
  if (found.empty()) return not_found(fmt::format("no row is named '{}'", point), "--table shows the labels of all rows");
  if (json) {
    print_json({{"schema", "pawl.matrix-explain/1"}, {"rows", found}});
    return ExitStatus::kDone;
  }
  for (const Json& row : found) {
    fmt::print("row {}: {} {} of {}\n  {}:{}: {}\n", row["row"].get<std::size_t>(), row["workload"].get<std::string>(), row["label"].get<std::string>(),
               row["recipe"].get<std::string>(), row["file"].get<std::string>(), row["entry_line"].get<int>(),
               shown_line(trim(row["text"].get<std::string>())));
  }
  return ExitStatus::kDone;
}

void print_table(const plan::Matrix& matrix) {
  fmt::print("{:>5}  {:<48} {:<8} {:<28} {:<22} {}\n", "row", "recipe", "load", "point", "runner", "eval");
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const Json& row = matrix.rows[i];
    fmt::print("{:>5}  {:<48} {:<8} {:<28} {:<22} {}\n", i + 1, matrix.origins[i].recipe->key, workload_of(row), label_of(row),
               row.value("runner", std::string()), row.value("run-eval", false) ? "yes" : "");
  }
}

void print_count(const plan::Matrix& matrix, bool json) {
  std::size_t points = 0, evals = 0, multi = 0, agentic = 0;
  for (const Json& row : matrix.rows) {
    points += row["conc"].is_array() ? row["conc"].size() : 1;
    evals += row.value("run-eval", false) ? 1 : 0;
    multi += row.contains("prefill") ? 1 : 0;
    agentic += row.contains("scenario-type") ? 1 : 0;
  }
  if (json) {
    print_json(
        {{"schema", "pawl.matrix-count/1"}, {"rows", matrix.rows.size()}, {"points", points}, {"evals", evals}, {"multi_node", multi}, {"agentic", agentic}});
  } else {
    fmt::print("{} rows, {} points, {} evals; {} rows on several nodes, {} agentic\n", matrix.rows.size(), points, evals, multi, agentic);
  }
}

Result<ExitStatus> print(const CommonFlags& common, const plan::Catalogue& catalogue, plan::Matrix matrix, const View& view) {
  if (view.trim_conc) matrix = plan::trim_concurrencies(std::move(matrix), catalogue.generation().trim_agentic);
  if (view.smoke) matrix = smoke_of(matrix);
  if (!view.explain.empty()) return explain(catalogue, matrix, view.explain, common.json);
  if (view.count) {
    print_count(matrix, common.json);
  } else if (view.table) {
    print_table(matrix);
  } else {
    const std::string text = plan::matrix_text(matrix.rows);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return ExitStatus::kDone;
}

/// The contract's JSON, written as the rows come: memory does not grow with their number.
class RowPrinter {
 public:
  Status row(const Json& row) {
    text_ += plan::matrix_text_before(empty_);
    codec::append_json(text_, row, codec::JsonForm::kPySpaced);
    empty_ = false;
    return text_.size() < kPiece ? Status() : flush();
  }
  Status end() {
    text_ += plan::matrix_text_end(empty_);
    PAWL_TRY(flush());
    return std::fflush(stdout) == 0 ? Status() : machine_error("the rows cannot be written to the output");
  }

 private:
  static constexpr std::size_t kPiece = 1u << 16;
  Status flush() {
    const std::size_t written = std::fwrite(text_.data(), 1, text_.size(), stdout);
    if (written != text_.size()) return machine_error("the rows cannot be written to the output");
    text_.clear();
    return {};
  }
  std::string text_;
  bool empty_ = true;
};

void take_common(const MatrixFlags& flags, plan::GeneratorOptions& options) {
  if (!flags.node_filter.empty()) options.runner_node_filter = flags.node_filter;
  if (flags.scenario_types.empty()) return;
  const auto given = [&](const char* name) { return std::ranges::find(flags.scenario_types, name) != flags.scenario_types.end(); };
  options.scenarios = {given("fixed-seq-len"), given("agentic-coding")};
}

Result<ExitStatus> generate(World& world, const CommonFlags& common, MatrixFlags flags, bool sweep) {
  plan::GeneratorOptions& options = sweep ? static_cast<plan::GeneratorOptions&>(flags.sweep) : flags.test;
  take_common(flags, options);
  if (flags.view.smoke && (flags.view.trim_conc || options.no_evals || options.evals_only || options.all_evals))
    return usage_error("--smoke excludes --trim-conc and the flags for evals", "a smoke run has its own points and its one eval");
  if (sweep) PAWL_TRY(plan::check_options(flags.sweep));
  if (!sweep) PAWL_TRY(plan::check_options(flags.test));
  PAWL_ASSIGN(plan::CatalogueTexts texts, flags.source.read(world));
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, std::move(texts.texts), flags.source.limits()));
  if (flags.view.plain()) {
    RowPrinter printer;
    const auto sink = [&printer](const Json& row, const plan::RowOrigin&) { return printer.row(row); };
    PAWL_TRY(sweep ? plan::full_sweep(catalogue, flags.sweep, sink) : plan::test_config(catalogue, flags.test, sink));
    PAWL_TRY(printer.end());
    // All is said. To take the trees of a catalogue apart would cost as much as checking it did.
    ::_exit(static_cast<int>(ExitStatus::kDone));
  }
  PAWL_ASSIGN(plan::Matrix matrix, sweep ? plan::full_sweep(catalogue, flags.sweep) : plan::test_config(catalogue, flags.test));
  return print(common, catalogue, std::move(matrix), flags.view);
}

void add_common(CLI::App& app, MatrixFlags& flags, plan::GeneratorOptions& options) {
  flags.source.add_to(app);
  auto* none = app.add_flag("--no-evals", options.no_evals, "Mark nothing");
  app.add_flag("--evals-only", options.evals_only, "Only the rows that are evaluated")->excludes(none);
  app.add_flag("--all-evals", options.all_evals, "Evaluate every row of 8k/1k and of agentic recipes, not the default choice");
  app.add_option("--runner-node-filter", flags.node_filter, "One row for every node whose name holds this text");
  app.add_option("--scenario-type", flags.scenario_types, "fixed-seq-len, agentic-coding; default: both")
      ->check(CLI::IsMember({"fixed-seq-len", "agentic-coding"}));
  app.add_option("--seq-lens", options.seq_lens, "1k1k, 8k1k; agentic recipes are not touched by it")->check(CLI::IsMember({"1k1k", "8k1k"}));
  app.add_option("--agentic-multinode-min-eval-conc", options.agentic_min_eval_conc,
                 "Multi-node agentic topologies below this concurrency have no default eval; 0: no minimum (default: 16, by the generation)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--count", flags.view.count, "Print how many rows and points there are, nothing else");
  app.add_flag("--table", flags.view.table, "Print a table for people");
  app.add_flag("--smoke", flags.view.smoke, "Only what a smoke run of every recipe measures");
  app.add_flag("--trim-conc", flags.view.trim_conc, "Only the lowest concurrency of every curve");
  app.add_option("--explain", flags.view.explain, "Say which lines made a row: a label (\"TP2/EP1 conc 4\"), an experiment name, a point key or a row number");
}

struct DiffFlags {
  std::string before, after, repo;
  std::vector<std::string> keys;
  CatalogueChoice choice;
};

/// A catalogue of a folder or, with --repo, of a commit.
Result<plan::CatalogueTexts> texts_of(const World& world, const DiffFlags& flags, const std::string& which) {
  if (flags.repo.empty()) {
    PAWL_ASSIGN(CatalogueFolder folder, read_catalogue_folder(world, which, flags.choice));
    return std::move(folder.texts);
  }
  PAWL_ASSIGN(const GitTree git, GitTree::open(flags.repo));
  PAWL_ASSIGN(const std::string commit, git.commit(which));
  PAWL_ASSIGN(const auto format, steward::load_format(*world.assets));
  auto found = plan::collect_catalogue(
      format, [&](const std::string& path) { return git.read(commit, path); }, flags.choice.layout, flags.choice.generation);
  if (!found) return Error(found.error()).within(which);
  return found;
}

Result<plan::Matrix> matrix_of(const plan::Catalogue& catalogue, const DiffFlags& flags) {
  PAWL_TRY(plan::check(catalogue));
  std::vector<const plan::Recipe*> chosen;
  for (const plan::Recipe& recipe : catalogue.recipes()) {
    const bool wanted = flags.keys.empty() || std::ranges::any_of(flags.keys, [&](const std::string& key) {
                          return plan::is_pattern(key) ? plan::pattern_matches(key, recipe.key) : key == recipe.key;
                        });
    if (wanted) chosen.push_back(&recipe);
  }
  return plan::test_config_rows(catalogue, chosen, {});
}

std::string shown(const Json& value) {
  return value.is_null() ? "(none)" : value.is_string() ? value.get<std::string>() : codec::write_json(value, codec::JsonForm::kPySpaced);
}

/// Which fields of which points differ between two catalogues.
Result<ExitStatus> diff(World& world, const CommonFlags& common, const DiffFlags& flags) {
  PAWL_ASSIGN(const plan::CatalogueTexts before_texts, texts_of(world, flags, flags.before));
  PAWL_ASSIGN(const plan::CatalogueTexts after_texts, texts_of(world, flags, flags.after));
  PAWL_ASSIGN(const plan::Catalogue before, plan::Catalogue::read(before_texts.layout, before_texts.texts));
  PAWL_ASSIGN(const plan::Catalogue after, plan::Catalogue::read(after_texts.layout, after_texts.texts));
  auto old = matrix_of(before, flags);
  if (!old) return Error(old.error()).within(flags.before);
  auto now = matrix_of(after, flags);
  if (!now) return Error(now.error()).within(flags.after);
  const std::vector<plan::RowChange> changes = plan::diff_matrices(*old, *now);
  using Kind = plan::RowChange::Kind;
  const auto count = [&](Kind kind) { return std::ranges::count(changes, kind, &plan::RowChange::kind); };
  const auto word = [](Kind kind) { return kind == Kind::kAdded ? "added" : kind == Kind::kRemoved ? "removed" : "changed"; };
  if (common.json) {
    Json list = Json::array();
    for (const plan::RowChange& change : changes) {
      Json item{{"change", word(change.kind)}, {"recipe", change.recipe}, {"workload", workload_of(change.row)}, {"label", label_of(change.row)}};
      for (const plan::FieldChange& field : change.fields) item["fields"].push_back({{"path", field.path}, {"before", field.before}, {"after", field.after}});
      list.push_back(std::move(item));
    }
    print_json({{"schema", "pawl.matrix-diff/1"},
                {"before", {{"name", flags.before}, {"rows", old->rows.size()}}},
                {"after", {{"name", flags.after}, {"rows", now->rows.size()}}},
                {"changes", list}});
    return ExitStatus::kDone;
  }
  std::string recipe;
  for (const plan::RowChange& change : changes) {
    if (change.recipe != recipe) fmt::print("{}\n", change.recipe);
    recipe = change.recipe;
    fmt::print("  {} {} {}\n", change.kind == Kind::kAdded ? '+' : change.kind == Kind::kRemoved ? '-' : '~', workload_of(change.row), label_of(change.row));
    for (const plan::FieldChange& field : change.fields) fmt::print("      {}: {} -> {}\n", field.path, shown(field.before), shown(field.after));
  }
  fmt::print("{} points changed, {} added, {} removed; {} rows before, {} after\n", count(Kind::kChanged), count(Kind::kAdded), count(Kind::kRemoved),
             old->rows.size(), now->rows.size());
  return ExitStatus::kDone;
}

}  // namespace

void add_matrix_commands(Cli& cli) {
  CLI::App* matrix = cli.root.add_subcommand("matrix", "Expand recipes into the rows of a sweep; prints the contract's JSON")->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* examples, bool sweep) {
    auto flags = std::make_shared<MatrixFlags>();
    CLI::App* app = cli.command(*matrix, name, what, std::string(examples) + "\n\nA catalogue or key that is refused: exit status 3 (1 with --compat).");
    app->add_flag("--compat", cli.flags.compat, "Exit statuses of the reference: 1 for whatever is refused");
    add_common(*app, *flags, sweep ? static_cast<plan::GeneratorOptions&>(flags->sweep) : flags->test);
    app->callback(
        [&cli, flags, sweep] { cli.selected = [flags, sweep](World& world, const CommonFlags& common) { return generate(world, common, *flags, sweep); }; });
    return std::pair{app, flags};
  };
  const auto [test, tested] = add("test-config", "Rows of the named recipes, evals marked",
                                  "  pawl matrix test-config --catalog DIR --config-keys qwen3.5-fp4-b200-sglang\n"
                                  "  pawl matrix test-config --catalog DIR --config-keys 'dsr1-*-vllm' --evals-only",
                                  false);
  test->add_option("--config-keys", tested->test.config_keys, "Config keys or patterns with *, ? and [sets]")->required();
  test->add_option("--conc", tested->test.conc, "Only these concurrencies");

  const auto [full, swept] = add("full-sweep", "Rows of every recipe that passes the filters, evals marked",
                                 "  pawl matrix full-sweep --catalog DIR --single-node --seq-lens 8k1k --max-conc 64\n"
                                 "  pawl matrix full-sweep --config-files configs/amd-master.yaml configs/nvidia-master.yaml --count",
                                 true);
  plan::FullSweep& s = swept->sweep;
  full->add_option("--model-prefix", s.model_prefixes, "Recipes whose config key begins with one of these");
  full->add_option("--precision", s.precisions, "Recipes of these precisions");
  full->add_option("--framework", s.frameworks, "Recipes of these frameworks");
  full->add_option("--runner-type", s.runner_types, "Recipes of these runner labels");
  full->add_option("--step-size", s.step_size, "Factor between the concurrencies of a range")->capture_default_str();
  full->add_option("--min-conc", s.min_conc, "Lowest concurrency; a range then begins there");
  full->add_option("--max-conc", s.max_conc, "Highest concurrency; fixed rows above it are replaced by one at it");
  full->add_option("--max-tp", s.max_tp, "Largest tp of single-node fixed rows");
  full->add_option("--max-ep", s.max_ep, "Largest ep of single-node fixed rows; a larger one becomes this");
  full->add_flag("--single-node", s.single_node, "Only recipes on one node");
  full->add_flag("--multi-node", s.multi_node, "Only recipes on several nodes");

  auto compared = std::make_shared<DiffFlags>();
  CLI::App* diff_app = cli.command(*matrix, "diff", "Which fields of which points differ between two catalogues or two revisions of one",
                                   "  pawl matrix diff OLD NEW\n  pawl matrix diff --repo . origin/main HEAD --config-keys 'dsr1-*' --json");
  diff_app->add_option("before", compared->before, "Folder of a catalogue; with --repo a ref")->required();
  diff_app->add_option("after", compared->after, "Folder of a catalogue; with --repo a ref")->required();
  diff_app->add_option("--repo", compared->repo, "Compare two commits of this git repository");
  diff_app->add_option("--config-keys", compared->keys, "Only these config keys or patterns");
  compared->choice.add_to(*diff_app);
  diff_app->callback([&cli, compared] { cli.selected = [compared](World& world, const CommonFlags& common) { return diff(world, common, *compared); }; });
}

}  // namespace pawl::app
