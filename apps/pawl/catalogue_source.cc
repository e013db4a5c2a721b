#include "catalogue_source.h"

#include <fmt/format.h>

namespace pawl::app {

void CatalogueSource::add_to(CLI::App& app) {
  auto* folder = app.add_option("--catalog", catalog, "Folder of the recipe catalogue");
  app.add_option("--config-files", config_files, "Master files in load order, instead of --catalog")->excludes(folder);
  app.add_option("--runner-config", runner_config, "The runners file that goes with --config-files")->capture_default_str()->excludes(folder);
  choice.add_to(app);
  app.add_option("--max-input-mb", max_input_mb, "Largest catalogue file that is read, MiB; a larger one is refused")
      ->check(CLI::Range(1, 4095))
      ->capture_default_str();
}

Result<plan::CatalogueTexts> CatalogueSource::read(const World& world) const {
  if (catalog.empty() && config_files.empty()) return usage_error("--catalog or --config-files is required", "--catalog takes the folder that holds configs/");
  if (!catalog.empty()) {
    PAWL_ASSIGN(CatalogueFolder folder, read_catalogue_folder(world, catalog, choice, limits().bytes));
    return std::move(folder.texts);
  }
  PAWL_ASSIGN(const auto format, steward::load_format(*world.assets));
  plan::CatalogueTexts texts;
  // The layout that has files of these names: which generations it can hold, and where its recipes are.
  std::string before;
  PAWL_ASSIGN(texts.layout, plan::Format::layout(format, choice.layout.empty() ? "root" : choice.layout));
  for (const plan::Layout& known : plan::Format::layouts(format)) {
    const std::string configs = known.masters[0].substr(0, known.masters[0].rfind('/') + 1);
    const std::string given = config_files[0].substr(0, config_files[0].rfind('/') + 1);
    if (!choice.layout.empty() || known.name == "root" || !given.ends_with(configs)) continue;
    texts.layout = known;
    before = given.substr(0, given.size() - configs.size());
    break;
  }
  texts.layout.project = before + texts.layout.project;
  texts.layout.masters = config_files;
  texts.layout.runners = runner_config;
  texts.layout.changelog = {};
  if (!choice.generation.empty()) PAWL_TRY(format->generation(choice.generation));
  texts.layout.generation = choice.generation;
  std::vector<std::string> paths = config_files;
  paths.push_back(runner_config);
  for (const std::string& path : paths) {
    if (!world.files.exists(path)) return not_found(fmt::format("{} does not exist", path));
    PAWL_ASSIGN(texts.texts[path], read_catalogue_file(world.files, path, limits().bytes));
  }
  for (const std::string& path : plan::named_recipe_files(texts.layout, texts.texts)) {
    if (!world.files.exists(path)) continue;
    PAWL_ASSIGN(texts.texts[path], world.files.read(path));
  }
  return texts;
}

}  // namespace pawl::app
