#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pawl::control {

/// The moment of "2026-11-30T16:03:27Z", to the second. kInvalid for anything else.
[[nodiscard]] Result<WallTime> parse_iso_utc(std::string_view text);

}  // namespace pawl::control
