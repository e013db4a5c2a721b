#include <fmt/format.h>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "model/row.h"
#include "plan/launch_script.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

struct SweepFlags {
  std::string catalog, recipe, scale = "1", marker, task = "arith24";
  bool publish = false, canary = false, no_fail_fast = false, whole = false, engine = false;
  std::int64_t run = 0;
  std::string job;
};

Json status_json(const io::RunStatus& run) {
  Json json{{"id", run.id.value},
            {"attempt", run.attempt},
            {"marker", run.marker},
            {"recipe", run.recipe},
            {"purpose", run.purpose},
            {"head", run.head},
            {"state", codec::enum_text(run.state)},
            {"jobs", run.jobs},
            {"done", run.done},
            {"failed", run.failed},
            {"started", run.started},
            {"ended", run.ended}};
  if (run.failure) json["failure"] = codec::to_json(*run.failure);
  return json;
}

void print_rows(const io::RunEvidence& evidence) {
  if (!evidence.rows.empty()) fmt::print("  {:<20} {:>12} {:>12} {:>12} {:>12}  {}\n", "point", "tput/GPU", "out tput/GPU", "TPOT ms", "TTFT ms", "verdict");
  const auto number = [](const Json& row, const char* key, double factor) {
    const auto it = row.find(key);
    return it != row.end() && it->is_number() ? fmt::format("{:.2f}", it->get<double>() * factor) : std::string("N/A");
  };
  for (const Json& row : evidence.rows) {
    fmt::print("  {:<20} {:>12} {:>12} {:>12} {:>12}  {}\n", model::row_label(row), number(row, "tput_per_gpu", 1), number(row, "output_tput_per_gpu", 1),
               number(row, "mean_tpot", 1000), number(row, "mean_ttft", 1000), row["pawl"].value("verdict", std::string()));
  }
  for (const Json& row : evidence.evals) {
    fmt::print("  {:<20} {} strict {} flexible {} n {}\n", model::row_label(row), row.value("task", std::string()), number(row, "em_strict", 1),
               number(row, "em_flexible", 1), row.value("n_eff", 0));
  }
}

Result<ExitStatus> show_run(Workbench& bench, const CommonFlags& common, const io::RunStatus& run) {
  const bool ended = io::terminal(run.state);
  std::optional<io::RunEvidence> evidence;
  if (ended) {
    auto found = bench.runner.evidence(run.id);
    if (found) evidence = std::move(*found);
  }
  if (common.json) {
    Json document{{"schema", "pawl.run/1"}, {"run", status_json(run)}};
    if (evidence) {
      document["rows"] = evidence->rows;
      document["evals"] = evidence->evals;
      document["manifest"] = evidence->manifest;
    }
    print_json(document);
  } else {
    fmt::print("run {} attempt {}: {} {}, {} of {} jobs, {} failed\n", run.id.value, run.attempt, run.recipe, codec::enum_text(run.state), run.done, run.jobs,
               run.failed);
    if (run.failure) {
      fmt::print("  first failure: {}\n", run.failure->message);
      for (const std::string& line : run.failure->evidence) fmt::print("    {}\n", line);
    }
    if (evidence) print_rows(*evidence);
  }
  return run.state == io::RunState::kFailure ? ExitStatus::kRunFailed : run.state == io::RunState::kCancelled ? ExitStatus::kStopped : ExitStatus::kDone;
}

Result<ExitStatus> run_sweep(World& world, const CommonFlags& common, const SweepFlags& flags) {
  PAWL_ASSIGN(const model::Scale scale, model::parse_scale(flags.scale));
  PAWL_ASSIGN(const CatalogueFolder catalogue, read_catalogue_folder(world, flags.catalog));
  PAWL_ASSIGN(const steward::RecipeMatrix matrix, steward::recipe_matrix(catalogue.texts, flags.recipe));
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kExistingOrNew));
  PAWL_TRY(bench->import_once(catalogue, iso_utc(world.clock.wall())));
  io::SweepRequest request{.marker = flags.marker.empty() ? fmt::format("sweep-{}-{}", flags.recipe, iso_utc(world.clock.wall())) : flags.marker,
                           .recipe = flags.recipe,
                           .purpose = "sweep",
                           .points = matrix.points,
                           .evals = matrix.evals,
                           .scale = scale,
                           .eval_task = flags.task,
                           .fail_fast = !flags.no_fail_fast,
                           .canary = flags.canary};
  PAWL_ASSIGN(const std::optional<std::string> main, bench->forge.head(forge::kBaseBranch));
  PAWL_ASSIGN(const std::optional<steward::LaunchScript> script, steward::read_launch_script(bench->forge, main.value_or(""), matrix.points));
  if (script) {
    request.launch_flags = plan::launch_flags(script->text);
    request.launch_script = model::LaunchScript{script->path, script->text};
  }
  PAWL_ASSIGN(const RunId id, bench->runner.dispatch(request));
  PAWL_ASSIGN(const io::RunStatus run, bench->runner.wait(id, world.stop));
  if (flags.publish && run.state == io::RunState::kSuccess) PAWL_TRY(bench->publish(run));
  return show_run(*bench, common, run);
}

/// Only the wish is recorded while another pawl works on the run; it ends the jobs. Otherwise this one does.
Result<ExitStatus> cancel_run(World& world, const CommonFlags& common, RunId id) {
  {
    PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
    PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(id));
    if (io::terminal(run.state)) {
      return bad_input(fmt::format("run {} has ended already: {}", id.value, codec::enum_text(run.state)), "pawl sweep rerun runs what failed once more");
    }
    PAWL_TRY(bench->runner.cancel(id));
  }
  auto bench = Workbench::open(world, common, common.workspace, Workbench::Open::kExisting);
  if (!bench) {
    if (bench.error().cls != ErrorClass::kConflict) return std::move(bench).error();
    fmt::print("run {}: the pawl that works on it ends its jobs\n", id.value);
    return ExitStatus::kDone;
  }
  PAWL_ASSIGN(const io::RunStatus run, (*bench)->runner.wait(id, world.stop));
  PAWL_TRY(show_run(**bench, common, run));
  return run.state == io::RunState::kCancelled ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

Result<ExitStatus> rerun(World& world, const CommonFlags& common, RunId id, bool whole) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kExisting));
  PAWL_ASSIGN(io::RunStatus run, bench->runner.status(id));
  if (io::terminal(run.state)) {
    if (!whole && run.state == io::RunState::kSuccess) {
      return bad_input(fmt::format("nothing failed in run {}", id.value), "--all runs every job again");
    }
    PAWL_ASSIGN(run, bench->runner.rerun(id, run.attempt, whole));
  }
  PAWL_ASSIGN(run, bench->runner.wait(id, world.stop));
  return show_run(*bench, common, run);
}

/// What is in the folder of one job, or which jobs there are.
Result<ExitStatus> show_logs(World& world, const CommonFlags& common, RunId id, const std::string& job, bool engine) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(id));
  PAWL_ASSIGN(const std::vector<runner::JobState> jobs, bench->runner.jobs(id));
  if (job.empty()) {
    if (common.json) {
      print_json({{"schema", "pawl.run-jobs/1"}, {"run", id.value}, {"attempt", run.attempt}, {"jobs", codec::to_json(jobs)}});
      return ExitStatus::kDone;
    }
    for (const runner::JobState& one : jobs) fmt::print("{:<10} {:<20} {}\n", one.state, one.family, one.job);
    return ExitStatus::kDone;
  }
  std::vector<std::string> names;
  for (const runner::JobState& one : jobs) {
    names.push_back(one.job);
    if (one.job != job) continue;
    const std::filesystem::path folder = one.folder;
    const auto file = folder / (engine ? "server.log" : "job.log");
    if (!world.files.exists(file)) return not_found(fmt::format("there is no {} yet", file.string()), "the job has not started");
    PAWL_ASSIGN(const std::string text, world.files.read(file));
    fmt::print("{}", text);
    return ExitStatus::kDone;
  }
  const auto guess = nearest(job, names);
  return bad_input(fmt::format("run {} has no job {}", id.value, job), guess ? fmt::format("did you mean {}?", *guess) : "pawl sweep logs RUN lists them");
}

Result<ExitStatus> list_runs(World& world, const CommonFlags& common) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const std::vector<io::RunStatus> runs, bench->runner.list());
  if (common.json) {
    Json all = Json::array();
    for (const io::RunStatus& run : runs) all.push_back(status_json(run));
    print_json({{"schema", "pawl.runs/1"}, {"runs", all}});
    return ExitStatus::kDone;
  }
  if (runs.empty()) fmt::print("no runs yet: pawl sweep run --help\n");
  for (const io::RunStatus& run : runs) {
    fmt::print("{:>5}  {:<9} {:<9} {:>3}/{:<3} {:<20}  {}\n", run.id.value, run.purpose, codec::enum_text(run.state), run.done, run.jobs, run.started,
               run.recipe);
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_sweep_commands(Cli& cli) {
  CLI::App* sweep = cli.root.add_subcommand("sweep", "Run a recipe's whole matrix and look at runs")->require_subcommand(1);
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* run = cli.command(*sweep, "run", "Benchmark every point of a recipe and run its evals, on this machine or where executor.yaml says",
                              "  pawl sweep run --workspace w --catalog DIR --recipe qwen3.5-fp4-b200-sglang --scale 1/32\n"
                              "  pawl sweep run … --publish      the result becomes the baseline of later upgrades");
  run->add_option("--catalog", flags->catalog, "Folder of the recipe catalogue")->required();
  run->add_option("--recipe", flags->recipe, "Config key")->required();
  run->add_option("--scale", flags->scale, "Fraction by which lengths and prompt counts shrink")->capture_default_str();
  run->add_option("--marker", flags->marker, "Name of the run: the same marker is the same run, finished or gone on with");
  run->add_option("--eval-task", flags->task, "Task of the evals")->capture_default_str();
  run->add_flag("--canary", flags->canary, "The cheapest single-node point goes first; when it fails nothing else starts");
  run->add_flag("--no-fail-fast", flags->no_fail_fast, "Go on after a failure; else it cancels the rest of its family: points of the same lengths, evals");
  run->add_flag("--publish", flags->publish, "Publish the rows when the run succeeds");
  run->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return run_sweep(world, common, *flags); }; });

  CLI::App* cancel = cli.command(*sweep, "cancel", "End a run and its jobs", "  pawl sweep cancel 3 --workspace w");
  cancel->add_option("RUN", flags->run, "Id of the run")->required();
  cancel->callback([&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return cancel_run(world, common, RunId{flags->run}); }; });

  CLI::App* again =
      cli.command(*sweep, "rerun", "Run again what failed or was cancelled, as the next attempt of the same run; or go on with a run that was left",
                  "  pawl sweep rerun 3 --workspace w\n  pawl sweep rerun 3 --workspace w --all");
  again->add_option("RUN", flags->run, "Id of the run")->required();
  again->add_flag("--all", flags->whole, "Also what succeeded");
  again->callback(
      [&cli, flags] { cli.selected = [flags](World& world, const CommonFlags& common) { return rerun(world, common, RunId{flags->run}, flags->whole); }; });

  CLI::App* logs = cli.command(*sweep, "logs", "Jobs of a run, or the log of one of them",
                               "  pawl sweep logs 3 --workspace w\n  pawl sweep logs 3 bench-01-tp4-ep1-c4 --workspace w --engine");
  logs->add_option("RUN", flags->run, "Id of the run")->required();
  logs->add_option("JOB", flags->job, "Name of the job");
  logs->add_flag("--engine", flags->engine, "The log of its engine in place of the job's own");
  logs->callback([&cli, flags] {
    cli.selected = [flags](World& world, const CommonFlags& common) { return show_logs(world, common, RunId{flags->run}, flags->job, flags->engine); };
  });

  CLI::App* list = cli.command(*sweep, "list", "Runs of the workspace", "  pawl sweep list --workspace pawl-demo --json");
  list->callback([&cli] { cli.selected = [](World& world, const CommonFlags& common) { return list_runs(world, common); }; });

  CLI::App* status = cli.command(*sweep, "status", "One run with its rows", "  pawl sweep status 3 --workspace pawl-demo");
  status->add_option("RUN", flags->run, "Id of the run")->required();
  status->callback([&cli, flags] {
    cli.selected = [flags](World& world, const CommonFlags& common) -> Result<ExitStatus> {
      PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
      PAWL_ASSIGN(const io::RunStatus found, bench->runner.status(RunId{flags->run}));
      return show_run(*bench, common, found);
    };
  });
}

}  // namespace pawl::app
