#include "steward/upgrade_plan.h"

#include <fmt/format.h>

#include "model/point.h"
#include "plan/image_edit.h"
#include "plan/launch_script.h"
#include "plan/package_needs.h"
#include "steward/matrix_keys.h"

namespace pawl::steward {

Result<std::shared_ptr<const plan::Format>> load_format(const io::Assets& assets) {
  PAWL_ASSIGN(const std::string layouts, assets.read("catalog/layouts.yaml"));
  PAWL_ASSIGN(const std::string schema, assets.read("catalog/schema.yaml"));
  return plan::Format::read(layouts, schema);
}

Result<CatalogueTexts> read_catalogue(io::Forge& forge, const io::Assets& assets, const std::string& commit) {
  PAWL_ASSIGN(const auto format, load_format(assets));
  auto found = plan::collect_catalogue(format, [&](const std::string& path) -> Result<std::optional<std::string>> {
    auto bytes = forge.read(commit, path);
    if (bytes) return std::optional(std::move(*bytes));
    if (bytes.error().cls == ErrorClass::kNotFound) return std::optional<std::string>();
    return std::move(bytes).error();
  });
  if (!found) return Error(found.error()).within("commit " + commit.substr(0, 12));
  if (!found->texts.contains(found->layout.changelog)) return not_found(fmt::format("no {} at commit {}", found->layout.changelog, commit.substr(0, 12)));
  return found;
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
  return recipe_matrix(catalogue, key);
}

Result<RecipeMatrix> recipe_matrix(const plan::Catalogue& catalogue, const std::string& key) {
  PAWL_ASSIGN(const plan::Recipe* recipe, catalogue.find(key));
  RecipeMatrix matrix{.file = recipe->file,
                      .image = recipe->image(),
                      .engine = plan::engine_name(recipe->framework()),
                      .runner = recipe->runner(),
                      .model_prefix = recipe->text("model-prefix")};
  PAWL_ASSIGN(matrix.points, plan::expand(catalogue, {recipe}, plan::EvalMode::kDefault));
  PAWL_ASSIGN(matrix.evals, plan::expand(catalogue, {recipe}, plan::EvalMode::kEvalsOnly));
  matrix.point_keys = keys_of(matrix.points);
  matrix.eval_keys = keys_of(matrix.evals);
  PAWL_ASSIGN(matrix.package, plan::package_needs(*recipe));
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
