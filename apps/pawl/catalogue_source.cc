#include "catalogue_source.h"

#include <fmt/format.h>

namespace pawl::app {

void CatalogueSource::add_to(CLI::App& app) {
  auto* folder = app.add_option("--catalog", catalog, "Folder of the recipe catalogue");
  app.add_option("--config-files", config_files, "Master files in load order, instead of --catalog")->excludes(folder);
  app.add_option("--runner-config", runner_config, "The runners file that goes with --config-files")->capture_default_str()->excludes(folder);
}

Result<steward::CatalogueTexts> CatalogueSource::read(const io::Files& files) const {
  if (catalog.empty() && config_files.empty()) return usage_error("--catalog or --config-files is required", "--catalog takes the folder that holds configs/");
  if (!catalog.empty()) {
    PAWL_ASSIGN(CatalogueFolder folder, read_catalogue_folder(files, catalog));
    return std::move(folder.texts);
  }
  steward::CatalogueTexts texts{{"given", config_files, runner_config, {}}, {}};
  std::vector<std::string> paths = config_files;
  paths.push_back(runner_config);
  for (const std::string& path : paths) {
    if (!files.exists(path)) return not_found(fmt::format("{} does not exist", path));
    PAWL_ASSIGN(texts.texts[path], files.read(path));
  }
  return texts;
}

}  // namespace pawl::app
