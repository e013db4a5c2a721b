#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/files.h"

namespace pawl::upstream {

/// One version of a component's source, in memory: plain data, so that everything after the reading is pure.
struct SourceTree {
  std::string shown;                         ///< for people: "sglang 0.5.14"
  std::string revision;                      ///< version or commit; empty when not known
  std::string origin;                        ///< where the bytes come from, and their digest when it is one file
  std::map<std::string, std::string> files;  ///< path with slashes → bytes; only those that were asked for
  std::vector<std::string> notes;            ///< what was left out, one sentence each
};

/// What a reader of foreign sources takes at most. Beyond `files` or `total` a source is refused; a file beyond `one` is
/// left out with a note.
struct SourceLimits {
  std::size_t files = 200'000;       ///< entries looked at
  std::uint64_t one = 8u << 20;      ///< bytes of one file
  std::uint64_t total = 768u << 20;  ///< bytes kept
};

/// Reads the files below `folder` whose path matches one of `wanted` (shell patterns over the whole path; `*` crosses
/// slashes). Links are not followed, so nothing outside the folder is read.
[[nodiscard]] Result<SourceTree> read_folder(const io::Files& files, const std::filesystem::path& folder, const std::vector<std::string>& wanted,
                                             const SourceLimits& limits = {});

/// The same from a wheel, zip or tar archive. Nothing is unpacked onto the disk; links, absolute paths and paths with
/// `..` are left out with a note. `bytes`: the archive; `name`: its file name, for errors and `origin`.
[[nodiscard]] Result<SourceTree> read_archive(const std::string& bytes, const std::string& name, const std::vector<std::string>& wanted,
                                              const SourceLimits& limits = {});

/// The same from a commit of a git repository (`repository`: its folder or its bare folder; `revision`: anything git
/// understands). `revision` of the tree becomes the full commit id. kNotFound when the repository lacks it.
[[nodiscard]] Result<SourceTree> read_git(const std::filesystem::path& repository, const std::string& revision, const std::vector<std::string>& wanted,
                                          const SourceLimits& limits = {});

}  // namespace pawl::upstream
