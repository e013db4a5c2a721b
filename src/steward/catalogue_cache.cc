#include "steward/catalogue_cache.h"

#include "plan/image_edit.h"

namespace pawl::steward {
Result<const RecipeMatrix*> CommitCatalogue::matrix(const std::string& recipe) {
  const auto known = matrices.find(recipe);
  if (known != matrices.end()) return &known->second;
  PAWL_ASSIGN(RecipeMatrix made, recipe_matrix(catalogue, recipe));
  return &matrices.emplace(recipe, std::move(made)).first->second;
}

Result<const plan::SmokeSelection*> CommitCatalogue::smoke(const std::string& recipe, plan::SmokeEval where) {
  const auto known = smokes.find({recipe, where});
  if (known != smokes.end()) return &known->second;
  PAWL_ASSIGN(const RecipeMatrix* of, matrix(recipe));
  return &smokes.emplace(std::pair(recipe, where), plan::select_smoke(of->points, of->evals, where)).first->second;
}

Result<const std::string*> CommitCatalogue::with_image(const std::string& recipe, const std::string& image) {
  const std::string key = recipe + "\n" + image;
  const auto known = edited.find(key);
  if (known != edited.end()) return &known->second;
  PAWL_ASSIGN(const plan::Recipe* found, catalogue.find(recipe));
  PAWL_ASSIGN(std::string text, plan::edit_image(catalogue, *found, image));
  return &edited.emplace(key, std::move(text)).first->second;
}

std::shared_ptr<const model::Baseline> CatalogueCache::baseline(const std::string& sha256) const {
  const auto known = baselines_.find(sha256);
  return known == baselines_.end() ? nullptr : known->second;
}

std::shared_ptr<const model::Baseline> CatalogueCache::keep(const std::string& sha256, model::Baseline baseline) {
  if (baselines_.size() >= commits_max) baselines_.clear();
  return baselines_[sha256] = std::make_shared<const model::Baseline>(std::move(baseline));
}

Result<std::shared_ptr<CommitCatalogue>> CatalogueCache::at(io::Forge& forge, const io::Assets& assets, const std::string& commit) {
  const auto known = known_.find(commit);
  if (known != known_.end()) return known->second;
  PAWL_ASSIGN(CatalogueTexts texts, read_catalogue(forge, assets, commit));
  PAWL_ASSIGN(plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
  auto made = std::make_shared<CommitCatalogue>(CommitCatalogue{std::move(texts), std::move(catalogue), {}, {}, {}});
  if (known_.size() >= commits_max) known_.clear();
  known_[commit] = made;
  return made;
}

}  // namespace pawl::steward
