#pragma once

#include <optional>

#include "base/result.h"
#include "model/job.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// Keys `overrides` and `files` of a recipe whose image is a package (`pypi:NAME==VERSION`); nothing for other images.
/// `overrides` is a list of requirements, or a mapping from `NAME==VERSION` to such a list, of which the one of the
/// recipe's image counts: what a version needs changes with it. `files` maps a path below site-packages to its content, or
/// each version to such a mapping.
/// Errors name the key and what was expected.
[[nodiscard]] Result<std::optional<model::PackageNeeds>> package_needs(const Recipe& recipe);

}  // namespace pawl::plan
