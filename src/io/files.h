#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::io {

/// The file system, as far as pawl needs it. Paths are local and UTF-8. Thread-safe.
/// Errors: kNotFound for a path that is not there, kExhausted (exit 4) for disk, permission and descriptor trouble.
class Files {
 public:
  virtual ~Files() = default;
  /// The whole file. Refuses one larger than `max_bytes`.
  virtual Result<std::string> read(const std::filesystem::path& path, std::uint64_t max_bytes = 256u << 20) const = 0;
  /// All or nothing: readers see the old bytes or the new ones, also after a crash. Creates parent folders.
  virtual Status write_atomic(const std::filesystem::path& path, std::string_view bytes) const = 0;
  virtual Status make_folder(const std::filesystem::path& path) const = 0;
  [[nodiscard]] virtual bool exists(const std::filesystem::path& path) const = 0;
  /// Every regular file below `folder`, relative to it, sorted by bytes. Links are not followed.
  virtual Result<std::vector<std::string>> list_tree(const std::filesystem::path& folder) const = 0;
  virtual Status remove_tree(const std::filesystem::path& path) const = 0;
};

}  // namespace pawl::io
