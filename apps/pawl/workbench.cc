#include "workbench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/hash.h"
#include "codec/describe.h"
#include "exec/executor_settings.h"
#include "exec/podman_executor.h"
#include "exec/process_executor.h"
#include "exec/slurm_executor.h"
#include "runner/script_engine.h"

namespace pawl::app {
namespace {

/// executor.yaml of the workspace; without one: processes of this machine.
Result<exec::ExecutorChoice> read_executor_choice(const World& world, const std::filesystem::path& workspace) {
  const auto file = workspace / exec::kExecutorFile;
  if (!world.files.exists(file)) return exec::ExecutorChoice();
  PAWL_ASSIGN(std::string text, world.files.read(file, 1u << 20));
  return exec::parse_executor_choice(std::move(text), file.string());
}

Result<std::unique_ptr<exec::JobExecutor>> make_executor(World& world, const exec::ExecutorChoice& choice, const std::filesystem::path& workspace) {
  const std::string file = (workspace / exec::kExecutorFile).string();
  // Two workspaces on one cluster or machine number their runs alike: the folder tells their jobs apart.
  const std::string owner = "pawl-" + sha256_hex(workspace.string()).substr(0, 8);
  switch (choice.executor) {
    case exec::ExecutorKind::kProcess:
      break;
    case exec::ExecutorKind::kPodman: {
      PAWL_ASSIGN(exec::PodmanSettings settings, exec::podman_settings(choice, owner, file));
      return std::make_unique<exec::PodmanExecutor>(world.commands, world.processes, world.files, world.clock, world.self, std::move(settings));
    }
    case exec::ExecutorKind::kSlurm: {
      PAWL_ASSIGN(exec::SlurmSettings settings, exec::slurm_settings(choice, owner, file));
      return std::make_unique<exec::SlurmExecutor>(world.commands, world.files, world.clock, world.self, std::move(settings));
    }
  }
  return std::make_unique<exec::ProcessExecutor>(world.processes, world.files, world.clock, world.self);
}

/// Folders and packages of real engines by their launch scripts; every other image is simulated, unless executor.yaml
/// says that it is to be started by its script too.
runner::EngineSource usual_engines(const World& world, const exec::ExecutorChoice& choice) {
  auto library = world.assets->read("launch/benchmark_lib.sh");
  const auto images = choice.engines == exec::EngineChoice::kScript ? runner::ImageEngines::kScript : runner::ImageEngines::kOtherwise;
  return runner::script_engines(library ? std::move(*library) : std::string(), runner::twin_engines(world.self), images);
}

}  // namespace

std::vector<store::Schema> all_schemas() { return {forge::forge_schema(), results::results_schema(), runner::runner_schema(), steward::steward_schema()}; }

Workbench::Workbench(World& world, const CommonFlags& flags, store::Workspace workspace_in, std::optional<store::WorkspaceLock> lock_in,
                     std::unique_ptr<store::Database> database_in, forge::LocalForge forge_in, results::ModelNames names_in, playbook::Playbook playbook,
                     std::unique_ptr<exec::JobExecutor> executor_in, runner::EngineSource engines, const Parts& parts)
    : workspace(std::move(workspace_in)),
      lock(std::move(lock_in)),
      database_holder(std::move(database_in)),
      database(*database_holder),
      progress(make_progress(world, flags)),
      forge(std::move(forge_in)),
      names(std::move(names_in)),
      results(database),
      source(database, names),
      capacity(parts.capacity ? parts.capacity(database) : std::make_unique<io::LocalCapacity>()),
      planner(std::move(playbook)),
      executor(std::move(executor_in)),
      runner({database, workspace, world.clock, world.files, *executor, std::move(engines), *progress,
              [this](const std::string& recipe, RunId run) { return newest_published(recipe, run); }}),
      steward({.database = database,
               .clock = world.clock,
               .assets = *world.assets,
               .forge = forge,
               .runner = runner,
               .results = source,
               .capacity = *capacity,
               .planner = &planner,
               .progress = *progress,
               .closed_by_person =
                   [file = workspace.database(), path = workspace.forge(), &clock = world.clock](std::int64_t request) {
                     // Asked from a thread of its own, so with a connection of its own. Trouble here stops nothing: the
                     // steward looks again itself before its next effect.
                     auto own = store::Database::open(file, {forge::forge_schema()});
                     if (!own) return false;
                     auto own_forge = forge::LocalForge::open(path, *own, clock);
                     if (!own_forge) return false;
                     const auto cr = own_forge->get(ChangeRequestId{request});
                     return cr && cr->state == io::ChangeRequestState::kClosed && cr->closed_by != "pawl";
                   },
               .holder = fmt::format("pawl-{}", ::getpid()),
               .alone = true}) {}  // one command at a time has the workspace: any other holder is a dead one

Result<std::unique_ptr<Workbench>> Workbench::open(World& world, const CommonFlags& flags, const std::filesystem::path& folder, Open how, const Parts& parts) {
  const std::filesystem::path absolute = std::filesystem::absolute(folder).lexically_normal();
  PAWL_ASSIGN(store::Workspace workspace, how == Open::kExistingOrNew ? store::Workspace::create_or_open(world.files, absolute, iso_utc(world.clock.wall()))
                                                                      : store::Workspace::open(world.files, absolute));
  std::optional<store::WorkspaceLock> lock;
  if (how != Open::kReading) {
    PAWL_ASSIGN(lock, workspace.lock());
  }
  PAWL_ASSIGN(store::Database database, store::Database::open(workspace.database(), all_schemas()));
  PAWL_ASSIGN(results::ModelNames names, results::ModelNames::load(*world.assets));
  PAWL_ASSIGN(const std::string signatures, world.assets->read("playbook/signatures.yaml"));
  PAWL_ASSIGN(const std::string flag_changes, world.assets->read("playbook/flags.yaml"));
  PAWL_ASSIGN(playbook::Playbook playbook, playbook::Playbook::parse(signatures, flag_changes));
  PAWL_ASSIGN(const exec::ExecutorChoice choice, read_executor_choice(world, absolute));
  PAWL_ASSIGN(std::unique_ptr<exec::JobExecutor> executor, make_executor(world, choice, absolute));
  runner::EngineSource engines = usual_engines(world, choice);
  // The forge keeps a pointer to its database, which must already stand at its final address.
  auto holder = std::make_unique<store::Database>(std::move(database));
  PAWL_ASSIGN(forge::LocalForge forge, forge::LocalForge::open(workspace.forge(), *holder, world.clock));
  return std::unique_ptr<Workbench>(new Workbench(world, flags, std::move(workspace), std::move(lock), std::move(holder), std::move(forge), std::move(names),
                                                  std::move(playbook), std::move(executor),
                                                  parts.engines ? parts.engines(std::move(engines)) : std::move(engines), parts));
}

Status Workbench::import_once(const CatalogueFolder& catalogue, const std::string& time) {
  PAWL_ASSIGN(const std::optional<std::string> main, forge.head(forge::kBaseBranch));
  if (main) return {};
  PAWL_TRY(forge.import_catalogue(catalogue.files, "Import the recipe catalogue\n", "pawl <pawl@localhost>", time));
  return {};
}

Result<ExitStatus> stop_candidate(World& world, const CommonFlags& flags, std::int64_t request) {
  const ChangeRequestId id{request};
  {
    // Without the lock: this is how a person speaks to a pawl that is at work.
    PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, flags.workspace));
    PAWL_ASSIGN(store::Database database, store::Database::open(workspace.database(), {forge::forge_schema()}));
    PAWL_ASSIGN(forge::LocalForge forge, forge::LocalForge::open(workspace.forge(), database, world.clock));
    PAWL_TRY(forge.close(id, "person"));
  }
  std::string outcome = "the pawl that works in this workspace stops its candidate now";
  auto bench = Workbench::open(world, flags, flags.workspace, Workbench::Open::kExisting);
  if (!bench && bench.error().cls != ErrorClass::kConflict) return std::move(bench).error();
  if (bench) {
    outcome = "no candidate was at work on it";
    PAWL_ASSIGN(const std::vector<control::Candidate> candidates, (*bench)->steward.list());
    for (const control::Candidate& candidate : candidates) {
      if (candidate.cr != request || control::terminal(candidate.state)) continue;
      PAWL_ASSIGN(const control::Candidate ended, (*bench)->steward.run(candidate.id, world.stop));
      outcome = fmt::format("{}: {}", ended.recipe, codec::enum_text(*ended.outcome));
    }
  }
  if (flags.json) {
    print_json({{"schema", "pawl.stop/1"}, {"change_request", request}, {"outcome", outcome}});
  } else {
    fmt::print("change request {} is closed; {}\n", request, outcome);
  }
  return ExitStatus::kDone;
}

Result<std::optional<runner::PublishedRows>> Workbench::newest_published(const std::string& recipe, RunId run) {
  PAWL_ASSIGN(const std::vector<results::RunRecord> runs, results.runs());
  for (const results::RunRecord& one : runs) {
    if (one.recipe != recipe || one.run == run.value) continue;
    runner::PublishedRows published{.run = one.run, .attempt = one.attempt, .image = one.image, .date = one.date};
    PAWL_ASSIGN(std::vector<results::StoredRow> rows, results.rows_of(one.run, one.attempt));
    for (results::StoredRow& row : rows) published.rows.push_back(std::move(row.row));
    PAWL_ASSIGN(std::vector<results::StoredRow> evals, results.evals_of(one.run, one.attempt));
    for (results::StoredRow& row : evals) published.evals.push_back(std::move(row.row));
    return std::optional<runner::PublishedRows>(std::move(published));
  }
  return std::optional<runner::PublishedRows>();
}

Status Workbench::publish(const io::RunStatus& run) {
  PAWL_ASSIGN(const io::RunEvidence evidence, runner.evidence(run.id));
  results::Publication publication{.run = run.id.value, .attempt = run.attempt, .recipe = run.recipe, .head = run.head, .date = run.ended.substr(0, 10)};
  publication.scale = evidence.manifest.value("scale", std::string());
  if (!evidence.rows.empty()) {
    publication.image = evidence.rows[0].value("image", std::string());
    publication.simulated = evidence.rows[0].contains("pawl") && evidence.rows[0]["pawl"].value("simulated", false);
  }
  publication.rows = evidence.rows;
  publication.evals = evidence.evals;
  return results.publish(publication);
}

void CatalogueChoice::add_to(CLI::App& app) {
  app.add_option("--layout", layout, "Where the files lie: e2e, root, github-configs (default: found)");
  app.add_option("--generation", generation, "What the keys mean: 2026-08, 2026-09a, 2026-09b, 2026-10 (default: by the layout and the keys)");
}

Result<std::string> read_catalogue_file(const io::Files& files, const std::filesystem::path& path, std::uint64_t max_bytes) {
  auto bytes = files.read(path, max_bytes);
  if (!bytes && bytes.error().message.contains("larger than")) {
    return bad_input(fmt::format("{} is larger than the {} MiB that are read", path.string(), max_bytes >> 20),
                     "if the catalogue really is that large, --max-input-mb raises the limit");
  }
  return bytes;
}

Result<CatalogueFolder> read_catalogue_folder(const World& world, const std::filesystem::path& folder, const CatalogueChoice& choice, std::uint64_t max_bytes) {
  const io::Files& files = world.files;
  if (!files.exists(folder))
    return not_found(fmt::format("the catalogue folder {} does not exist", folder.string()),
                     "--catalog takes the folder that holds configs/ and perf-changelog.yaml");
  PAWL_ASSIGN(const auto format, steward::load_format(*world.assets));
  auto found = plan::collect_catalogue(
      format,
      [&](const std::string& path) -> Result<std::optional<std::string>> {
        if (!files.exists(folder / path)) return std::optional<std::string>();
        PAWL_ASSIGN(std::string bytes, read_catalogue_file(files, folder / path, max_bytes));
        return std::optional(std::move(bytes));
      },
      choice.layout, choice.generation);
  if (!found) return Error(found.error()).within(folder.string());
  CatalogueFolder catalogue{found->texts, std::move(*found)};
  // Launch scripts belong to the catalogue where they are there; a catalogue of configs alone is one too.
  constexpr std::size_t kScriptsMax = 5000;
  const std::string scripts_folder = catalogue.texts.layout.project + "benchmarks";
  if (files.exists(folder / scripts_folder)) {
    PAWL_ASSIGN(const std::vector<std::string> names, files.list_tree(folder / scripts_folder));
    std::size_t scripts = 0;
    for (const std::string& name : names) {
      if (!name.ends_with(".sh") || ++scripts > kScriptsMax) continue;
      PAWL_ASSIGN(catalogue.files[scripts_folder + "/" + name], files.read(folder / scripts_folder / name, 1u << 20));
    }
  }
  catalogue.texts.layout.shown_folder = (folder / "").string();
  return catalogue;
}

Result<CatalogueFolder> read_demo_catalogue(const io::Assets& assets) {
  constexpr std::string_view kPrefix = "demo/";
  std::map<std::string, std::string> files;
  for (const std::string& name : assets.list(kPrefix)) {
    PAWL_ASSIGN(files[name.substr(kPrefix.size())], assets.read(name));
  }
  PAWL_ASSIGN(const auto format, steward::load_format(assets));
  PAWL_ASSIGN(plan::CatalogueTexts found, plan::collect_catalogue(format, [&](const std::string& path) -> Result<std::optional<std::string>> {
                const auto file = files.find(path);
                return file == files.end() ? std::optional<std::string>() : std::optional(file->second);
              }));
  return CatalogueFolder{std::move(files), std::move(found)};
}

}  // namespace pawl::app
