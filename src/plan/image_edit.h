#pragma once

#include <string>

#include "base/result.h"
#include "plan/catalogue.h"

namespace pawl::plan {

/// The master file with the recipe's image replaced: the bytes of that text change, every other byte stays, quotes, block form, anchor and tag stay as they
/// were (a plain text gets quotes where the new image would not read as a text without). Errors: `image` is not a valid image or has neither tag nor digest,
/// equals the present one (kConflict), or the value cannot be replaced on its own (an alias; a text that aliases stand for). The result was parsed again and
/// differs in that one value only.
[[nodiscard]] Result<std::string> edit_image(const Catalogue& catalogue, const Recipe& recipe, const std::string& image);

}  // namespace pawl::plan
