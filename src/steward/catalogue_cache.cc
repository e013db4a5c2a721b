#include "steward/catalogue_cache.h"

#include "plan/image_edit.h"

namespace pawl::steward {
namespace {

constexpr std::size_t kCommitsMax = 128;

}  // namespace

Result<const RecipeMatrix*> CommitCatalogue::matrix(const std::string& recipe) {
  const auto known = matrices.find(recipe);
  if (known != matrices.end()) return &known->second;
  PAWL_ASSIGN(RecipeMatrix made, recipe_matrix(catalogue, recipe));
  return &matrices.emplace(recipe, std::move(made)).first->second;
}

Result<const std::string*> CommitCatalogue::with_image(const std::string& recipe, const std::string& image) {
  const std::string key = recipe + "\n" + image;
  const auto known = edited.find(key);
  if (known != edited.end()) return &known->second;
  PAWL_ASSIGN(const plan::Recipe* found, catalogue.find(recipe));
  PAWL_ASSIGN(std::string text, plan::edit_image(catalogue, *found, image));
  return &edited.emplace(key, std::move(text)).first->second;
}

Result<std::shared_ptr<CommitCatalogue>> CatalogueCache::at(io::Forge& forge, const io::Assets& assets, const std::string& commit) {
  const auto known = known_.find(commit);
  if (known != known_.end()) return known->second;
  PAWL_ASSIGN(CatalogueTexts texts, read_catalogue(forge, assets, commit));
  PAWL_ASSIGN(plan::Catalogue catalogue, plan::Catalogue::read(texts.layout, texts.texts));
  auto made = std::make_shared<CommitCatalogue>(CommitCatalogue{std::move(texts), std::move(catalogue), {}, {}});
  if (known_.size() >= kCommitsMax) known_.clear();
  known_[commit] = made;
  return made;
}

}  // namespace pawl::steward
