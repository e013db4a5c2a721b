#pragma once

#include <string>

#include "base/result.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// The master file with the recipe's image replaced: that scalar's bytes change, every other byte stays, quotes stay
/// as they were. Errors: `image` is not a valid image or has neither tag nor digest, equals the present one (kConflict), or the value is written in a
/// way that cannot be replaced on its own (an alias, a folded text). The result was parsed again and differs in that one
/// value only.
[[nodiscard]] Result<std::string> edit_image(const Catalogue& catalogue, const Recipe& recipe, const std::string& image);

}  // namespace pawl::plan
