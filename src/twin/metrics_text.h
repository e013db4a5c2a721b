#pragma once

#include <string>

#include "twin/engine_voice.h"

namespace pawl::twin {

/// The counters under the names that the engine gives them, in the Prometheus text form: "vllm", "llamacpp", "trtllm", else SGLang's.
[[nodiscard]] std::string metrics_text(const std::string& engine, const std::string& model, const EngineCounters& counters);

}  // namespace pawl::twin
