#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/files.h"

namespace pawl::results {

/// What is read of a run's artifacts at most. Everything beyond is an error or a note, never read.
struct ArtifactLimits {
  std::size_t entries = 50'000;         ///< files looked at
  std::uint64_t one = 64u << 20;        ///< bytes of one file, unpacked
  std::uint64_t total = 1024ull << 20;  ///< bytes of all files, unpacked
};

/// The texts of a run's artifacts in memory: "ARTIFACT/path/inside" → bytes. Only .json, .jsonl, .log and .out files.
struct ArtifactSet {
  std::map<std::string, std::string> files;
  std::vector<std::string> broken;  ///< archives and files that could not be read, with the reason
  std::vector<std::string> notes;   ///< what was left out, with the reason
};

/// A folder with one sub-folder or one .zip an artifact, as `gh run download` and the API leave them, or a run's folder of
/// a workspace. Links are not followed. Errors: the folder is not there, or more than `limits` allow.
[[nodiscard]] Result<ArtifactSet> read_artifact_folder(const io::Files& files, const std::filesystem::path& folder, const ArtifactLimits& limits = {});

/// The same from one archive (zip, or tar with gzip, xz, bzip2 or zstd) whose members are such folders or such .zip files.
/// Nothing is unpacked onto the disk; members that are links, lead out of the archive or are larger than a file may be are
/// left out with a note. Errors: no archive, or more than `limits` allow (an archive that unpacks to too much is refused
/// as soon as it does).
[[nodiscard]] Result<ArtifactSet> read_artifact_archive(std::string_view bytes, const std::string& name, const ArtifactLimits& limits = {});

/// The bytes inside a .gz. Errors: none such, or more than `max_bytes` inside.
[[nodiscard]] Result<std::string> unpack_gzip(std::string_view bytes, const std::string& name, std::uint64_t max_bytes);

/// An artifact's name without the runner that uploaded it: "bmk_x_h200-nb_0" → "bmk_x" (api-dashboard 2.3, retries).
[[nodiscard]] std::string logical_name(const std::string& artifact);

}  // namespace pawl::results
