#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "io/files.h"
#include "io/processes.h"

namespace pawl::upstream {

/// The wheel of `name` at `version` in `cache`: taken from there, or downloaded into it with pip (`--only-binary`, no
/// dependencies, isolated from user settings that would build anything), so that nothing of the package is executed.
/// Errors: no such version or no wheel (kNotFound), no network (exit status peer), no pip. Waits at most ten minutes.
[[nodiscard]] Result<std::filesystem::path> fetch_package(io::Processes& processes, const io::Files& files, const std::string& name, const std::string& version,
                                                          const std::filesystem::path& cache, const std::string& python, std::stop_token stop);

/// The archive of a package in a folder: a wheel first, else a source archive. kNotFound when neither is there.
[[nodiscard]] Result<std::filesystem::path> find_package(const io::Files& files, const std::string& name, const std::string& version,
                                                         const std::filesystem::path& cache);

}  // namespace pawl::upstream
