#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine_law/fit.h"
#include "io/assets.h"
#include "twin/profile.h"

namespace pawl::twin {

/// Reads and checks rows for a fit from the text of a YAML file; `file` is its name in messages.
[[nodiscard]] Result<engine_law::Rows> read_rows(std::string text, const std::string& file);
/// Names of the rows that are shipped: data/twin-rows/NAME.yaml.
[[nodiscard]] std::vector<std::string> rows_names(const io::Assets& assets);

/// A profile file: `like` with the laws of a fit. The comment at its top holds the source and every residual.
[[nodiscard]] std::string profile_text(const Profile& like, const std::string& name, const engine_law::Rows& rows, const engine_law::Fit& fit);

}  // namespace pawl::twin
