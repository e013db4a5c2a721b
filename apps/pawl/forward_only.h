#pragma once

#include <string>

#include "base/result.h"
#include "io/assets.h"

namespace pawl::app {

/// Refuses to go from one image to another that is older by the tags of one repository: pins move forward and never
/// backward. Images whose tags have no order between them pass: only their measurement can tell. Error: kInvalid, exit 3.
[[nodiscard]] Status forward_only(const io::Assets& assets, const std::string& image_old, const std::string& image_new);

}  // namespace pawl::app
