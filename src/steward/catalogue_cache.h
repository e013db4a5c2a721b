#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/domain/forge.h"
#include "model/baseline.h"
#include "plan/catalogue.h"
#include "steward/policy.h"
#include "steward/upgrade_plan.h"

namespace pawl::steward {

/// A catalogue at one commit, read and parsed once. Commits never change, so neither does this.
struct CommitCatalogue {
  CatalogueTexts texts;
  plan::Catalogue catalogue;
  std::map<std::string, RecipeMatrix> matrices;  ///< by recipe, filled when asked for
  std::map<std::pair<std::string, plan::SmokeEval>, plan::SmokeSelection> smokes;
  std::map<std::string, std::string> edited;  ///< master file with a recipe's image replaced, by recipe and image

  /// kNotFound when the recipe is not in the catalogue.
  Result<const RecipeMatrix*> matrix(const std::string& recipe);
  /// What a smoke run of it measures.
  Result<const plan::SmokeSelection*> smoke(const std::string& recipe, plan::SmokeEval where);
  /// The master file of `recipe` with its image replaced (plan::edit_image).
  Result<const std::string*> with_image(const std::string& recipe, const std::string& image);
};

/// The catalogues that were read last, the policies, and baselines by their content. Belongs to one thread.
class CatalogueCache {
 public:
  std::map<std::string, Policy> policies;  ///< by profile, filled when asked for
  /// Commits that are kept; when there are more, all are read anew. Many candidates at once need about four each.
  std::size_t commits_max = 128;
  Result<std::shared_ptr<CommitCatalogue>> at(io::Forge& forge, const io::Assets& assets, const std::string& commit);
  /// Of this content, when it was kept; null otherwise.
  [[nodiscard]] std::shared_ptr<const model::Baseline> baseline(const std::string& sha256) const;
  std::shared_ptr<const model::Baseline> keep(const std::string& sha256, model::Baseline baseline);

 private:
  std::map<std::string, std::shared_ptr<const model::Baseline>> baselines_;
  std::map<std::string, std::shared_ptr<CommitCatalogue>> known_;
};

}  // namespace pawl::steward
