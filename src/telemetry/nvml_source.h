#pragma once

#include <memory>
#include <vector>

#include "io/clock.h"
#include "telemetry/nvml.h"
#include "telemetry/power_source.h"

namespace pawl::telemetry {

/// Samples NVML on a thread of its own. `gpus`: indices of the library. Nothing is sampled before `start`.
[[nodiscard]] std::unique_ptr<PowerSource> make_nvml_source(std::shared_ptr<Nvml> nvml, std::vector<unsigned> gpus, double interval_s, const io::Clock& clock);

}  // namespace pawl::telemetry
