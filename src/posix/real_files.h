#pragma once

#include "io/files.h"

namespace pawl::posix {

class RealFiles final : public io::Files {
 public:
  Result<std::string> read(const std::filesystem::path& path, std::uint64_t max_bytes = 256u << 20) const override;
  Status write_atomic(const std::filesystem::path& path, std::string_view bytes) const override;
  Status make_folder(const std::filesystem::path& path) const override;
  [[nodiscard]] bool exists(const std::filesystem::path& path) const override;
  Result<std::vector<std::string>> list_tree(const std::filesystem::path& folder) const override;
  Status remove_tree(const std::filesystem::path& path) const override;
};

}  // namespace pawl::posix
