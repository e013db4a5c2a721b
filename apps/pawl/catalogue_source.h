#pragma once

#include <string>
#include <vector>

#include "workbench.h"

namespace pawl::app {

/// Where a command takes its catalogue from: a folder with a known layout, or the files one by one as the reference's
/// generator takes them.
struct CatalogueSource {
  std::string catalog;
  std::vector<std::string> config_files;
  std::string runner_config = "configs/runners.yaml";
  CatalogueChoice choice;

  void add_to(CLI::App& app);
  /// The files, unread as YAML. Errors: neither or both given, a file or folder that is not there.
  [[nodiscard]] Result<plan::CatalogueTexts> read(const World& world) const;
};

}  // namespace pawl::app
