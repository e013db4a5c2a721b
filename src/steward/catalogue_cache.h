#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/domain/forge.h"
#include "plan/catalogue.h"
#include "steward/policy.h"
#include "steward/upgrade_plan.h"

namespace pawl::steward {

/// A catalogue at one commit, read and parsed once. Commits never change, so neither does this.
struct CommitCatalogue {
  CatalogueTexts texts;
  plan::Catalogue catalogue;
  std::map<std::string, RecipeMatrix> matrices;  ///< by recipe, filled when asked for
  std::map<std::string, std::string> edited;     ///< master file with a recipe's image replaced, by recipe and image

  /// kNotFound when the recipe is not in the catalogue.
  Result<const RecipeMatrix*> matrix(const std::string& recipe);
  /// The master file of `recipe` with its image replaced (plan::edit_image).
  Result<const std::string*> with_image(const std::string& recipe, const std::string& image);
};

/// The catalogues that were read last, and the policies. Belongs to one thread.
class CatalogueCache {
 public:
  std::map<std::string, Policy> policies;  ///< by profile, filled when asked for
  Result<std::shared_ptr<CommitCatalogue>> at(io::Forge& forge, const io::Assets& assets, const std::string& commit);

 private:
  std::map<std::string, std::shared_ptr<CommitCatalogue>> known_;
};

}  // namespace pawl::steward
