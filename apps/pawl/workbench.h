#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli.h"
#include "exec/process_executor.h"
#include "forge/local_forge.h"
#include "io/domain/capacity_source.h"
#include "results/model_names.h"
#include "results/result_store.h"
#include "runner/local_sweep_runner.h"
#include "steward/steward.h"
#include "steward/upgrade_plan.h"
#include "store/database.h"
#include "store/workspace.h"

namespace pawl::app {

/// Everything that works on one workspace, wired once and held together: locked for as long as it lives.
class Workbench {
 public:
  enum class Open { kExisting, kExistingOrNew };
  /// `workspace` may be relative. Errors: those of Workspace::open and lock, of the database and the forge.
  static Result<std::unique_ptr<Workbench>> open(World& world, const CommonFlags& flags, const std::filesystem::path& folder, Open how);

  store::Workspace workspace;
  store::WorkspaceLock lock;
  std::unique_ptr<store::Database> database_holder;  ///< the forge and the stores point at it
  store::Database& database;
  std::unique_ptr<io::Progress> progress;
  forge::LocalForge forge;
  results::ModelNames names;
  results::ResultStore results;
  results::StoreResults source;
  io::LocalCapacity capacity;
  exec::ProcessExecutor executor;
  runner::LocalSweepRunner runner;
  steward::Steward steward;

  /// Publishes a successful run of the runner as the newest result of its recipe and image.
  Status publish(const io::RunStatus& run);

 private:
  Workbench(World& world, const CommonFlags& flags, store::Workspace workspace, store::WorkspaceLock lock, std::unique_ptr<store::Database> database,
            forge::LocalForge forge, results::ModelNames names);
};

/// The schemas of every module, for whoever opens pawl.db whole.
[[nodiscard]] std::vector<store::Schema> all_schemas();

/// A catalogue on disk: the files that belong to it (path → bytes), and the part that upgrades read.
struct CatalogueFolder {
  std::map<std::string, std::string> files;
  steward::CatalogueTexts texts;
};

/// Reads the catalogue under `folder`. kNotFound (exit 3) when no known layout is there.
[[nodiscard]] Result<CatalogueFolder> read_catalogue_folder(const io::Files& files, const std::filesystem::path& folder);
/// The catalogue built in for the demo.
[[nodiscard]] Result<CatalogueFolder> read_demo_catalogue(const io::Assets& assets);

}  // namespace pawl::app
