#include "workbench.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/describe.h"

namespace pawl::app {

std::vector<store::Schema> all_schemas() { return {forge::forge_schema(), results::results_schema(), runner::runner_schema(), steward::steward_schema()}; }

Workbench::Workbench(World& world, const CommonFlags& flags, store::Workspace workspace_in, std::optional<store::WorkspaceLock> lock_in,
                     std::unique_ptr<store::Database> database_in, forge::LocalForge forge_in, results::ModelNames names_in, playbook::Playbook playbook,
                     const Parts& parts)
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
      executor(world.processes, world.files, world.clock, world.self),
      runner({database, workspace, world.clock, world.files, executor,
              parts.engines ? parts.engines(runner::twin_engines(world.self)) : runner::twin_engines(world.self), *progress}),
      steward({.database = database,
               .clock = world.clock,
               .assets = *world.assets,
               .forge = forge,
               .runner = runner,
               .results = source,
               .capacity = *capacity,
               .planner = &planner,
               .progress = *progress,
               .closed_by_person = [file = workspace.database(), path = workspace.forge(), &clock = world.clock](std::int64_t request) {
                 // Asked from a thread of its own, so with a connection of its own. Trouble here stops nothing: the
                 // steward looks again itself before its next effect.
                 auto own = store::Database::open(file, {forge::forge_schema()});
                 if (!own) return false;
                 auto own_forge = forge::LocalForge::open(path, *own, clock);
                 if (!own_forge) return false;
                 const auto cr = own_forge->get(ChangeRequestId{request});
                 return cr && cr->state == io::ChangeRequestState::kClosed && cr->closed_by != "pawl";
               }}) {}

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
  // The forge keeps a pointer to its database, which must already stand at its final address.
  auto holder = std::make_unique<store::Database>(std::move(database));
  PAWL_ASSIGN(forge::LocalForge forge, forge::LocalForge::open(workspace.forge(), *holder, world.clock));
  return std::unique_ptr<Workbench>(
      new Workbench(world, flags, std::move(workspace), std::move(lock), std::move(holder), std::move(forge), std::move(names), std::move(playbook), parts));
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

namespace {

Result<CatalogueFolder> assemble(std::map<std::string, std::string> files, const std::string& where) {
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : files) paths.push_back(path);
  const auto layout = plan::find_layout(paths);
  if (!layout) {
    return not_found(fmt::format("{} holds no recipe catalogue", where), "a catalogue has configs/*-master.yaml, configs/runners.yaml and perf-changelog.yaml");
  }
  CatalogueFolder folder;
  folder.texts.layout = *layout;
  std::vector<std::string> wanted = layout->masters;
  wanted.push_back(layout->runners);
  wanted.push_back(layout->changelog);
  for (const std::string& path : wanted) folder.texts.texts[path] = files[path];
  folder.files = std::move(files);
  return folder;
}

}  // namespace

Result<CatalogueFolder> read_catalogue_folder(const io::Files& files, const std::filesystem::path& folder) {
  if (!files.exists(folder))
    return not_found(fmt::format("the catalogue folder {} does not exist", folder.string()),
                     "--catalog takes the folder that holds configs/ and perf-changelog.yaml");
  std::map<std::string, std::string> found;
  for (const plan::Layout& layout : plan::known_layouts()) {
    std::vector<std::string> paths = layout.masters;
    paths.push_back(layout.runners);
    paths.push_back(layout.changelog);
    for (const std::string& path : paths) {
      if (!files.exists(folder / path)) continue;
      PAWL_ASSIGN(found[path], files.read(folder / path));
    }
    if (!found.empty()) break;
  }
  // Launch scripts belong to the catalogue where they are there; a catalogue of configs alone is one too.
  constexpr std::size_t kScriptsMax = 5000;
  if (files.exists(folder / "benchmarks")) {
    PAWL_ASSIGN(const std::vector<std::string> names, files.list_tree(folder / "benchmarks"));
    std::size_t scripts = 0;
    for (const std::string& name : names) {
      if (!name.ends_with(".sh") || ++scripts > kScriptsMax) continue;
      PAWL_ASSIGN(found["benchmarks/" + name], files.read(folder / "benchmarks" / name, 1u << 20));
    }
  }
  PAWL_ASSIGN(CatalogueFolder catalogue, assemble(std::move(found), folder.string()));
  catalogue.texts.layout.shown_folder = (folder / "").string();
  return catalogue;
}

Result<CatalogueFolder> read_demo_catalogue(const io::Assets& assets) {
  constexpr std::string_view kPrefix = "demo/";
  std::map<std::string, std::string> found;
  for (const std::string& name : assets.list(kPrefix)) {
    PAWL_ASSIGN(found[name.substr(kPrefix.size())], assets.read(name));
  }
  return assemble(std::move(found), "the built-in data");
}

}  // namespace pawl::app
