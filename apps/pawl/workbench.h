#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli.h"
#include "exec/job_executor.h"
#include "forge/local_forge.h"
#include "io/domain/capacity_source.h"
#include "results/model_names.h"
#include "results/result_store.h"
#include "runner/local_sweep_runner.h"
#include "steward/rule_planner.h"
#include "steward/steward.h"
#include "steward/upgrade_plan.h"
#include "store/database.h"
#include "store/workspace.h"

namespace pawl::app {

/// A catalogue on disk: the files that belong to it (path → bytes), and the part that upgrades read.
struct CatalogueFolder {
  std::map<std::string, std::string> files;
  plan::CatalogueTexts texts;
};

/// What a person chose about a catalogue; empty: found by itself.
struct CatalogueChoice {
  std::string layout, generation;
  void add_to(CLI::App& app);
};

/// Everything that works on one workspace, wired once and held together: locked for as long as it lives, unless it was
/// opened for reading.
class Workbench {
 public:
  enum class Open {
    kReading,  ///< an existing workspace, without its lock: for commands that change nothing
    kExisting,
    kExistingOrNew
  };
  /// What a command may put in the place of the usual parts. The functions are called once, while the bench is made.
  struct Parts {
    std::function<runner::EngineSource(runner::EngineSource usual)> engines;
    std::function<std::unique_ptr<io::CapacitySource>(store::Database&)> capacity;
  };
  /// `workspace` may be relative. Errors: those of Workspace::open and lock, of the database and the forge.
  static Result<std::unique_ptr<Workbench>> open(World& world, const CommonFlags& flags, const std::filesystem::path& folder, Open how,
                                                 const Parts& parts = {});

  store::Workspace workspace;
  std::optional<store::WorkspaceLock> lock;
  std::unique_ptr<store::Database> database_holder;  ///< the forge and the stores point at it
  store::Database& database;
  std::unique_ptr<io::Progress> progress;
  forge::LocalForge forge;
  results::ModelNames names;
  results::ResultStore results;
  results::StoreResults source;
  std::unique_ptr<io::CapacitySource> capacity;
  steward::RulePlanner planner;
  std::unique_ptr<exec::JobExecutor> executor;  ///< as executor.yaml of the workspace says
  runner::LocalSweepRunner runner;
  steward::Steward steward;

  /// Makes `catalogue` the content of main when the forge has none yet; otherwise leaves the forge as it is.
  Status import_once(const CatalogueFolder& catalogue, const std::string& time);
  /// Publishes a successful run of the runner as the newest result of its recipe and image.
  Status publish(const io::RunStatus& run);

 private:
  /// What compare-results compares with: the newest published rows of the recipe.
  Result<std::optional<runner::PublishedRows>> newest_published(const std::string& recipe, RunId run);
  Workbench(World& world, const CommonFlags& flags, store::Workspace workspace, std::optional<store::WorkspaceLock> lock,
            std::unique_ptr<store::Database> database, forge::LocalForge forge, results::ModelNames names, playbook::Playbook playbook,
            std::unique_ptr<exec::JobExecutor> executor, runner::EngineSource engines, const Parts& parts);
};

/// Closes a change request as a person does, and sees to it that its candidate stops: the pawl that works in the
/// workspace does that, or, when there is none, this one. Prints what happened. The one way of `cr close` and
/// `upgrade stop`.
[[nodiscard]] Result<ExitStatus> stop_candidate(World& world, const CommonFlags& flags, std::int64_t request);

/// The schemas of every module, for whoever opens pawl.db whole.
[[nodiscard]] std::vector<store::Schema> all_schemas();

/// One file of a catalogue. Error: larger than `max_bytes`, with the flag that raises the limit.
[[nodiscard]] Result<std::string> read_catalogue_file(const io::Files& files, const std::filesystem::path& path, std::uint64_t max_bytes);
/// Reads the catalogue under `folder`. kNotFound (exit 3) when no known layout is there.
[[nodiscard]] Result<CatalogueFolder> read_catalogue_folder(const World& world, const std::filesystem::path& folder, const CatalogueChoice& choice = {},
                                                            std::uint64_t max_bytes = 64u << 20);
/// The catalogue built in for the demo.
[[nodiscard]] Result<CatalogueFolder> read_demo_catalogue(const io::Assets& assets);

}  // namespace pawl::app
