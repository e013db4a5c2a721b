#include "plan/package_needs.h"

#include <fmt/format.h>

namespace pawl::plan {
namespace {

using codec::Json;

constexpr std::string_view kPackageImage = "pypi:";

Result<std::vector<std::string>> requirements(const Json& value, const Recipe& recipe, const std::string& key) {
  std::vector<std::string> list;
  const auto wrong = [&] {
    return bad_input(fmt::format("{}: {}: {}: expected a list of requirements", recipe.file, recipe.key, key), "write overrides: [torch==2.13.0]");
  };
  if (!value.is_array()) return wrong();
  for (const Json& one : value) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty()) return wrong();
    list.push_back(one.get<std::string>());
  }
  return list;
}

}  // namespace

Result<std::optional<model::PackageNeeds>> package_needs(const Recipe& recipe) {
  if (!recipe.image().starts_with(kPackageImage)) return std::optional<model::PackageNeeds>();
  const Json config = recipe.config();
  model::PackageNeeds needs;
  if (config.is_object() && config.contains("overrides")) {
    const Json& overrides = config["overrides"];
    if (overrides.is_object()) {
      const std::string requirement = recipe.image().substr(kPackageImage.size());
      if (overrides.contains(requirement)) {
        PAWL_ASSIGN(needs.overrides, requirements(overrides[requirement], recipe, "overrides." + requirement));
      }
    } else {
      PAWL_ASSIGN(needs.overrides, requirements(overrides, recipe, "overrides"));
    }
  }
  if (config.is_object() && config.contains("files")) {
    // Like the overrides: of every version, or of each.
    const Json* given = &config["files"];
    const bool by_version = given->is_object() && !given->empty() && given->begin()->is_object();
    if (by_version) {
      static const Json kNone = Json::object();
      const auto own = given->find(recipe.image().substr(kPackageImage.size()));
      given = own != given->end() ? &*own : &kNone;
    }
    const Json& files = *given;
    if (!files.is_object()) return bad_input(fmt::format("{}: {}: files: expected a mapping from path to content", recipe.file, recipe.key));
    for (const auto& [path, content] : files.items()) {
      if (!content.is_string()) return bad_input(fmt::format("{}: {}: files.{}: expected a text", recipe.file, recipe.key, path));
      needs.files[path] = content.get<std::string>();
    }
  }
  return std::optional<model::PackageNeeds>(std::move(needs));
}

}  // namespace pawl::plan
