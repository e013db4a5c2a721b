#pragma once

#include <memory>
#include <string>
#include <vector>

#include "telemetry/power_source.h"

namespace pawl::telemetry {

/// nvidia-smi or amd-smi, running beside the load and writing its CSV into a file of ours. `kind`: which of the two;
/// `program`: its path. Times of the command are read as UTC, which it is told to write.
[[nodiscard]] std::unique_ptr<PowerSource> make_command_source(std::string kind, std::string program, std::vector<std::string> gpus, double interval_s,
                                                               SourceWorld world);

}  // namespace pawl::telemetry
