#pragma once

#include <optional>

#include "cli.h"
#include "model/calibration.h"

namespace pawl::app {

/// The newest calibration of this machine, kept beside the caches of the user. Nothing without one, or when it is of
/// another machine or kernel. Never fails: a result without a calibration is still a result.
[[nodiscard]] std::optional<model::Calibration> latest_calibration(const World& world);
/// Keeps it. Error: the folder cannot be written.
Status keep_calibration(const World& world, const model::Calibration& calibration);
/// Fills what only the machine knows: time, host, kernel, version.
void sign_calibration(const World& world, model::Calibration& calibration);
/// One line for people.
[[nodiscard]] std::string calibration_line(const model::Calibration& calibration);

}  // namespace pawl::app
