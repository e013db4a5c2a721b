#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "io/commands.h"
#include "io/files.h"
#include "io/progress.h"
#include "model/job.h"
#include "runner/engine_process.h"

namespace pawl::runner {

/// An environment with an engine's package, ready to be used.
struct PackageEnvironment {
  std::filesystem::path folder;
  std::string digest;  ///< "sha256:…" over the installed packages and the files put beside them
};

/// Where environments are kept: PAWL_CACHE_DIR, else XDG_CACHE_HOME/pawl, else ~/.cache/pawl; below it `environments`.
[[nodiscard]] std::filesystem::path environment_cache();

/// The environment of a package: the one of the cache that was made from the same requirement, overrides, files and
/// interpreter, else a new one, made by uv where that is installed, else by python3 -m venv and pip. The interpreter is
/// PAWL_PYTHON, else what uv or python3 finds. One process makes it while others wait; a half-made one is made anew.
/// Failures: kImage when the package cannot be installed, with the last lines of the installer; kConfig for overrides
/// without uv (pip has none) and for a file that would leave the environment; kCancelled when `stop` fired.
JobOutcome<PackageEnvironment> prepare_package(const model::PackageSpec& package, const std::filesystem::path& cache, io::Files& files, io::Commands& commands,
                                               io::Progress& progress, std::stop_token stop);

}  // namespace pawl::runner
