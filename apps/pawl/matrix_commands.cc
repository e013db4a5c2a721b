#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli.h"
#include "plan/expansion.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

struct MatrixFlags {
  std::string catalog;
  std::vector<std::string> keys;
  bool no_evals = false, evals_only = false;
};

Result<ExitStatus> test_config(World& world, const MatrixFlags& flags) {
  PAWL_ASSIGN(const CatalogueFolder folder, read_catalogue_folder(world.files, flags.catalog));
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(folder.texts.layout, folder.texts.texts));
  std::vector<const plan::Recipe*> chosen;
  for (const std::string& key : flags.keys) {
    const bool pattern = key.find_first_of("*?") != std::string::npos;
    const std::size_t before = chosen.size();
    for (const plan::Recipe& recipe : catalogue.recipes()) {
      if (pattern ? !glob_match(key, recipe.key) : recipe.key != key) continue;
      if (std::ranges::find(chosen, &recipe) == chosen.end()) chosen.push_back(&recipe);
    }
    if (chosen.size() != before || (!pattern && std::ranges::find(chosen, key, [](const auto* r) { return r->key; }) != chosen.end())) continue;
    if (pattern) return not_found(fmt::format("the pattern '{}' matched no config keys", key));
    PAWL_TRY(catalogue.find(key));
  }
  const plan::EvalMode mode = flags.no_evals ? plan::EvalMode::kNone : flags.evals_only ? plan::EvalMode::kEvalsOnly : plan::EvalMode::kDefault;
  PAWL_ASSIGN(const std::vector<Json> rows, plan::expand(catalogue, chosen, mode));
  const std::string text = codec::write_json(Json(rows), codec::JsonForm::kPySpaced) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitStatus::kDone;
}

Result<ExitStatus> list(World& world, const CommonFlags& common, const MatrixFlags& flags) {
  PAWL_ASSIGN(const CatalogueFolder folder, read_catalogue_folder(world.files, flags.catalog));
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(folder.texts.layout, folder.texts.texts));
  if (common.json) {
    Json recipes = Json::array();
    for (const plan::Recipe& recipe : catalogue.recipes()) {
      recipes.push_back(
          {{"key", recipe.key}, {"file", recipe.file}, {"image", recipe.image()}, {"framework", recipe.framework()}, {"runner", recipe.runner()}});
    }
    print_json({{"schema", "pawl.recipes/1"}, {"recipes", recipes}});
    return ExitStatus::kDone;
  }
  for (const plan::Recipe& recipe : catalogue.recipes()) fmt::print("{:<56} {:<24} {}\n", recipe.key, recipe.runner(), recipe.image());
  return ExitStatus::kDone;
}

}  // namespace

void add_matrix_commands(Cli& cli) {
  CLI::App* catalog = cli.root.add_subcommand("catalog", "Read recipe catalogues")->require_subcommand(1);
  auto list_flags = std::make_shared<MatrixFlags>();
  CLI::App* list_app = cli.command(*catalog, "list", "Every recipe with its image", "  pawl catalog list --catalog DIR --json");
  list_app->add_option("--catalog", list_flags->catalog, "Folder of the recipe catalogue")->required();
  list_app->callback([&cli, list_flags] { cli.selected = [list_flags](World& world, const CommonFlags& common) { return list(world, common, *list_flags); }; });

  CLI::App* matrix = cli.root.add_subcommand("matrix", "Expand recipes into the rows of a sweep; prints the contract's JSON")->require_subcommand(1);
  auto flags = std::make_shared<MatrixFlags>();
  CLI::App* app = cli.command(*matrix, "test-config", "Rows of the named recipes, evals marked",
                              "  pawl matrix test-config --catalog DIR --config-keys qwen3.5-fp4-b200-sglang\n"
                              "  pawl matrix test-config --catalog DIR --config-keys 'dsr1-*-vllm' --evals-only");
  app->add_option("--catalog", flags->catalog, "Folder of the recipe catalogue")->required();
  app->add_option("--config-keys", flags->keys, "Config keys or patterns with * and ?")->required();
  auto* none = app->add_flag("--no-evals", flags->no_evals, "Mark nothing");
  app->add_flag("--evals-only", flags->evals_only, "Only the rows that are evaluated")->excludes(none);
  app->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags&) { return test_config(world, *flags); }; });
}

}  // namespace pawl::app
