#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "changelog/ledger.h"
#include "codec/json.h"
#include "io/assets.h"
#include "io/domain/forge.h"
#include "model/job.h"
#include "plan/catalogue.h"
#include "plan/expansion.h"

namespace pawl::steward {

using plan::CatalogueTexts;

/// What data/catalog says of layouts and generations.
[[nodiscard]] Result<std::shared_ptr<const plan::Format>> load_format(const io::Assets& assets);

/// The catalogue at a commit of the forge, with its changelog. kNotFound when no known layout is there.
[[nodiscard]] Result<CatalogueTexts> read_catalogue(io::Forge& forge, const io::Assets& assets, const std::string& commit);

struct FileEdit {
  std::string path, before, after;
};

/// Everything that moving one recipe to another image would change and measure.
struct UpgradePlan {
  std::string recipe, file, changelog_file, image_old, image_new, engine, runner, model_prefix;
  FileEdit image_edit, changelog_edit;
  changelog::Entry entry;
  std::vector<codec::Json> points;  ///< matrix rows, with the new image
  std::vector<codec::Json> evals;   ///< matrix rows, with the new image
  plan::SmokeSelection smoke;
};

/// Pure. `link` goes into the changelog entry; "XXX" while there is no change request. Errors: unknown recipe (with the
/// nearest), bad image, image that is the present one (kConflict), what the expansion refuses.
[[nodiscard]] Result<UpgradePlan> plan_upgrade(const CatalogueTexts& catalogue, const std::string& recipe, const std::string& image, const std::string& link,
                                               plan::SmokeEval smoke_eval);

/// A recipe's launch script at a commit of the forge: the first of the paths at which it may lie. Nothing when there is
/// none (the catalogue came without scripts).
struct LaunchScript {
  std::string path, text;
};
[[nodiscard]] Result<std::optional<LaunchScript>> read_launch_script(io::Forge& forge, const std::string& commit, const std::vector<codec::Json>& points);

/// The matrix of a recipe as a catalogue has it now.
struct RecipeMatrix {
  std::string file, image, engine, runner, model_prefix;
  std::vector<codec::Json> points, evals;
  std::vector<std::string> point_keys, eval_keys;  ///< `model::point_key` of each
  std::optional<model::PackageNeeds> package;      ///< of a recipe whose image is a package
};
[[nodiscard]] Result<RecipeMatrix> recipe_matrix(const CatalogueTexts& catalogue, const std::string& recipe);
[[nodiscard]] Result<RecipeMatrix> recipe_matrix(const plan::Catalogue& catalogue, const std::string& recipe);

}  // namespace pawl::steward
