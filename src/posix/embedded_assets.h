#pragma once

#include <filesystem>
#include <utility>

#include "io/assets.h"

namespace pawl::posix {

/// The files that the build embedded from data/; a file of the same name under `override_folder` wins.
class EmbeddedAssets final : public io::Assets {
 public:
  explicit EmbeddedAssets(std::filesystem::path override_folder = {}) : override_(std::move(override_folder)) {}
  [[nodiscard]] Result<std::string> read(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const override;

 private:
  std::filesystem::path override_;
};

}  // namespace pawl::posix
