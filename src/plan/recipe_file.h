#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace pawl::plan {

/// How an entry of generation 2026-10 names a recipe: `<file>[:<selector>]`.
struct RecipeName {
  std::string file;
  std::string selector;  ///< empty; "base", "override_<name>", "zip_override_<name>[<i>]"
};

/// Nothing when the text has another form: an absolute path, "..", a selector that names several variants.
[[nodiscard]] std::optional<RecipeName> parse_recipe_name(std::string_view written);

/// A deployment recipe (srt-slurm), or a bundle of them: a `base` and blocks that are merged over it (srt-recipes 4).
class RecipeFile {
 public:
  /// Errors: text that is no YAML, a top level that is no mapping.
  static Result<RecipeFile> read(std::string bytes, const std::string& name);

  [[nodiscard]] bool is_bundle() const;
  /// The selectors that `variant` takes, `base` not among them.
  [[nodiscard]] std::vector<std::string> variants() const;
  /// The recipe that a selector names, merged, over `below` where given; an empty selector names a plain file, or the only variant of a bundle.
  /// kNotFound with what there is: an unknown selector, an index beyond the longest list, a selector on a plain file,
  /// no selector on a bundle of several. kInvalid: a zip group without lists, or with lists of different lengths.
  [[nodiscard]] Result<codec::Json> variant(std::string_view selector, const codec::Json* below = nullptr) const;

 private:
  std::string name_;
  codec::Json root_;

  [[nodiscard]] Result<codec::Json> zip_variant(const codec::Json& base, const std::string& group, std::size_t index) const;
};

/// A block merged over a base: mappings into mappings, everything else replaces, null deletes the key.
void merge_recipe(codec::Json& base, const codec::Json& block);

/// The nodes that a recipe asks for: those of its roles (colocated ones count none) and of the services that own a pool.
/// Nothing when it does not say.
[[nodiscard]] std::optional<std::int64_t> recipe_nodes(const codec::Json& recipe);

}  // namespace pawl::plan
