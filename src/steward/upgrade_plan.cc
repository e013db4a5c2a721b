#include "steward/upgrade_plan.h"

#include <fmt/format.h>

#include "model/point.h"
#include "plan/image_edit.h"
#include "plan/launch_script.h"

namespace pawl::steward {

Result<CatalogueTexts> read_catalogue(io::Forge& forge, const std::string& commit) {
  for (const plan::Layout& layout : plan::known_layouts()) {
    CatalogueTexts found{layout, {}};
    found.layout.masters.clear();
    const auto take = [&](const std::string& path) -> Result<bool> {
      auto bytes = forge.read(commit, path);
      if (!bytes && bytes.error().cls == ErrorClass::kNotFound) return false;
      if (!bytes) return std::move(bytes).error();
      found.texts[path] = std::move(*bytes);
      return true;
    };
    PAWL_ASSIGN(const bool has_changelog, take(layout.changelog));
    PAWL_ASSIGN(const bool has_runners, take(layout.runners));
    if (!has_changelog || !has_runners) continue;
    for (const std::string& master : layout.masters) {
      PAWL_ASSIGN(const bool has_master, take(master));
      if (has_master) found.layout.masters.push_back(master);
    }
    if (!found.layout.masters.empty()) return found;
  }
  return not_found(fmt::format("no recipe catalogue at commit {}", commit.substr(0, 12)),
                   "a catalogue has configs/*-master.yaml, configs/runners.yaml and perf-changelog.yaml");
}

Result<std::optional<LaunchScript>> read_launch_script(io::Forge& forge, const std::string& commit, const std::vector<codec::Json>& points) {
  if (points.empty()) return std::optional<LaunchScript>();
  PAWL_ASSIGN(const model::Point point, model::point_of_row(points[0]));
  for (const std::string& path : plan::launch_script_paths(point)) {
    auto text = forge.read(commit, path);
    if (text) return std::optional<LaunchScript>(LaunchScript{path, std::move(*text)});
    if (text.error().cls != ErrorClass::kNotFound) return std::move(text).error();
  }
  return std::optional<LaunchScript>();
}

Result<RecipeMatrix> recipe_matrix(const CatalogueTexts& texts, const std::string& key) {
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
  RecipeMatrix matrix{.file = recipe->file,
                      .image = recipe->image(),
                      .engine = plan::engine_name(recipe->framework()),
                      .runner = recipe->runner(),
                      .model_prefix = recipe->text("model-prefix")};
  PAWL_ASSIGN(matrix.points, plan::expand(catalogue, {recipe}, plan::EvalMode::kDefault));
  PAWL_ASSIGN(matrix.evals, plan::expand(catalogue, {recipe}, plan::EvalMode::kEvalsOnly));
  return matrix;
}

Result<UpgradePlan> plan_upgrade(const CatalogueTexts& texts, const std::string& key, const std::string& image, const std::string& link,
                                 plan::SmokeEval smoke_eval) {
  PAWL_ASSIGN(const plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
  UpgradePlan plan;
  plan.recipe = key;
  plan.file = recipe->file;
  plan.changelog_file = texts.layout.changelog;
  plan.image_old = recipe->image();
  plan.image_new = image;
  plan.engine = plan::engine_name(recipe->framework());
  plan.runner = recipe->runner();
  plan.model_prefix = recipe->text("model-prefix");
  PAWL_ASSIGN(std::string edited, plan::edit_image(catalogue, *recipe, image));
  plan.image_edit = {recipe->file, texts.texts.at(recipe->file), std::move(edited)};

  plan.entry = {{key}, {changelog::bump_description(plan.engine, plan.image_old, image)}, link};
  const std::string& ledger = texts.texts.at(texts.layout.changelog);
  PAWL_ASSIGN(std::string appended, changelog::append(ledger, plan.entry, texts.layout.changelog));
  PAWL_TRY(changelog::check_appended(ledger, appended, key, texts.layout.changelog));
  plan.changelog_edit = {texts.layout.changelog, ledger, std::move(appended)};

  CatalogueTexts after = texts;
  after.texts[recipe->file] = plan.image_edit.after;
  PAWL_ASSIGN(RecipeMatrix matrix, recipe_matrix(after, key));
  plan.points = std::move(matrix.points);
  plan.evals = std::move(matrix.evals);
  plan.smoke = plan::select_smoke(plan.points, plan.evals, smoke_eval);
  return plan;
}

}  // namespace pawl::steward
