#pragma once

#include <string>
#include <string_view>

#include "runner/job_plan.h"

namespace pawl::runner {

/// An image that is a folder of this machine (or of the cluster's shared file system): `dir:/opt/llama.cpp-b11434`. Its
/// programs, in it or in its `bin`, are found first by the recipe's launch script; its `lib` is searched by the loader.
inline constexpr std::string_view kFolderImage = "dir:";

/// Engines of folder images, started by the recipe's own launch script; every other image goes to `otherwise`.
/// `library` is the text of benchmark_lib.sh. The script runs in the job's folder, where it lies under launch/ at its
/// path of the catalogue, with the variables of the recipe contract (sweep-run-results 3.1): MODEL, TP, EP_SIZE, CONC,
/// ISL, OSL, MAX_MODEL_LEN, PORT, …. What it prints is server.log.
/// Errors: kInvalid for a relative folder, a recipe without a launch script, a multi-node point.
[[nodiscard]] EngineSource script_engines(std::string library, EngineSource otherwise);

}  // namespace pawl::runner
