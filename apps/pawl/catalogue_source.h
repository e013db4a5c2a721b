#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/yaml.h"
#include "workbench.h"

namespace pawl::app {

/// Where a command takes its catalogue from: a folder with a known layout, or the files one by one as the reference's
/// generator takes them.
struct CatalogueSource {
  std::string catalog;
  std::vector<std::string> config_files;
  std::string runner_config = "configs/runners.yaml";
  CatalogueChoice choice;
  std::uint64_t max_input_mb = 64;  ///< largest file that is read, MiB

  void add_to(CLI::App& app);
  /// The files, unread as YAML. Errors: neither or both given, a file or folder that is not there.
  [[nodiscard]] Result<plan::CatalogueTexts> read(const World& world) const;
  /// What the reader of these files takes.
  [[nodiscard]] codec::YamlLimits limits() const { return {.bytes = static_cast<std::size_t>(max_input_mb) << 20}; }
};

}  // namespace pawl::app
