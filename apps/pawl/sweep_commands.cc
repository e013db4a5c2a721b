#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>

#include "base/hash.h"
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
  double every_s = 0.5;
  bool verify = false;
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

Json hours_json(const std::vector<runner::AttemptHours>& hours) {
  Json all = Json::array();
  for (const runner::AttemptHours& one : hours) all.push_back(codec::to_json(one));
  return all;
}

Result<ExitStatus> show_run(Workbench& bench, const CommonFlags& common, const io::RunStatus& run) {
  const bool ended = io::terminal(run.state);
  std::optional<io::RunEvidence> evidence;
  if (ended) {
    auto found = bench.runner.evidence(run.id);
    if (found) evidence = std::move(*found);
  }
  PAWL_ASSIGN(const std::vector<runner::AttemptHours> hours, bench.runner.gpu_hours(run.id));
  if (common.json) {
    Json document{{"schema", "pawl.run/1"}, {"run", status_json(run)}};
    document["gpu_hours"] = hours_json(hours);
    if (evidence) {
      document["rows"] = evidence->rows;
      document["evals"] = evidence->evals;
      document["manifest"] = evidence->manifest;
    }
    print_json(document);
  } else {
    fmt::print("run {} attempt {}: {} {}, {} of {} jobs, {} failed\n", run.id.value, run.attempt, run.recipe, codec::enum_text(run.state), run.done, run.jobs,
               run.failed);
    for (const runner::AttemptHours& one : hours) {
      fmt::print("  attempt {}: {:.3f} GPU hours in {} job executions\n", one.attempt, one.gpu_hours, one.tries);
    }
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
  request.package = matrix.package;
  request.head = main.value_or("");
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
    for (const runner::JobState& one : jobs) {
      fmt::print("{:<10} {:<18} {:<20} {}{}\n", one.state, one.kind, one.family, one.job, one.note.empty() ? "" : "  (" + one.note + ")");
    }
    return ExitStatus::kDone;
  }
  std::vector<std::string> names;
  for (const runner::JobState& one : jobs) {
    names.push_back(one.job);
    if (one.job != job) continue;
    if (one.folder.empty()) return bad_input(fmt::format("{} is no job that measures: it has no log", job), "pawl sweep artifacts RUN shows what it wrote");
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

/// One line of a watched run: how many jobs are in each state, and the GPU hours so far.
std::string watch_line(const io::RunStatus& run, const std::vector<runner::JobState>& jobs, double hours) {
  std::map<std::string, std::int64_t> states;
  std::string running;
  for (const runner::JobState& job : jobs) {
    ++states[job.state];
    if (job.state == "running" && running.size() < 60) running += (running.empty() ? "" : ", ") + job.job;
  }
  std::string text = fmt::format("run {} attempt {} {}:", run.id.value, run.attempt, codec::enum_text(run.state));
  for (const char* state : {"succeeded", "running", "queued", "failed", "cancelled", "skipped"}) {
    if (states.contains(state)) text += fmt::format(" {} {}", states[state], state);
  }
  text += fmt::format(" · {:.3f} GPU h", hours);
  return running.empty() ? text : text + " · " + running;
}

/// Looks at a run until it has ended; somebody else works on it. Every job that changes its state is a line; on a
/// terminal the counts stand below, renewed in place.
Result<ExitStatus> watch_run(World& world, const CommonFlags& common, RunId id, double every_s) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && !common.json;
  std::map<std::string, std::string> known;
  std::string shown;
  std::int64_t attempt = 0;
  for (;;) {
    PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(id));
    PAWL_ASSIGN(const std::vector<runner::JobState> jobs, bench->runner.jobs(id));
    PAWL_ASSIGN(const std::vector<runner::AttemptHours> hours, bench->runner.gpu_hours(id));
    double total = 0;
    for (const runner::AttemptHours& one : hours) total += one.gpu_hours;
    if (attempt != run.attempt) known.clear();
    attempt = run.attempt;
    if (terminal && !shown.empty()) fmt::print("\r\x1b[K");
    for (const runner::JobState& job : jobs) {
      std::string& state = known[job.job];
      if (state == job.state || (state.empty() && job.state == "queued")) {
        if (state.empty()) state = job.state;
        continue;
      }
      state = job.state;
      if (common.json) {
        Json event{{"schema", "pawl.run-event/1"}, {"run", id.value}, {"attempt", run.attempt}};
        event["job"] = codec::to_json(job);
        fmt::print("{}\n", codec::write_json(event, codec::JsonForm::kCompactUtf8));
      } else {
        fmt::print("{} {:<10} {:<18} {}{}\n", iso_utc(world.clock.wall()).substr(11, 8), job.state, job.kind, job.job,
                   job.note.empty() ? "" : "  (" + job.note + ")");
      }
    }
    const std::string line = watch_line(run, jobs, total);
    if (terminal) {
      fmt::print("{}", line.substr(0, 150));
      shown = line;
    }
    std::fflush(stdout);
    if (io::terminal(run.state)) {
      if (terminal) fmt::print("\n");
      if (!terminal && !common.json) fmt::print("{}\n", line);
      return run.state == io::RunState::kFailure ? ExitStatus::kRunFailed : run.state == io::RunState::kCancelled ? ExitStatus::kStopped : ExitStatus::kDone;
    }
    (void)world.clock.sleep_for(std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(every_s)), world.stop);
    if (world.stop.stop_requested()) {
      if (terminal) fmt::print("\n");
      return cancelled();
    }
  }
}

/// Every file that a run and its jobs left, with the digest that the manifest names.
Result<ExitStatus> show_artifacts(World& world, const CommonFlags& common, RunId id, bool verify) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(id));
  PAWL_ASSIGN(const io::RunEvidence evidence, bench->runner.evidence(id));
  const auto folder = bench->workspace.run_folder(id.value, run.attempt);
  struct Artifact {
    std::string name, path, sha256;
  };
  std::vector<Artifact> all;
  const Json none = Json::object();
  const Json of_run = evidence.manifest.value("artifacts", none);
  for (const auto& [path, digest] : of_run.items()) {
    all.push_back({path.substr(0, path.find('/')), (folder / path).string(), digest.get<std::string>()});
  }
  std::map<std::string, std::int64_t> attempts;
  const Json manifest_jobs = evidence.manifest.value("jobs", Json::array());
  for (const Json& job : manifest_jobs) attempts[job.value("job", "")] = job.value("attempt", run.attempt);
  const Json points = evidence.manifest.value("points", Json::array());
  for (const Json& point : points) {
    const std::string job = point.value("job", "");
    const Json of_job = point.value("artifacts", none);
    for (const auto& [path, digest] : of_job.items()) {
      all.push_back({job, (bench->workspace.job_folder(id.value, attempts[job], job) / path).string(), digest.get<std::string>()});
    }
  }
  Json list = Json::array();
  std::int64_t wrong = 0;
  for (const Artifact& one : all) {
    std::string state = "listed";
    if (verify) {
      const auto bytes = world.files.read(one.path);
      state = !bytes ? "missing" : sha256_hex(*bytes) == one.sha256 ? "whole" : "changed";
      wrong += state == "whole" ? 0 : 1;
    }
    list.push_back({{"name", one.name}, {"path", one.path}, {"sha256", one.sha256}, {"state", state}});
    if (!common.json) fmt::print("{:<28} {} {}{}\n", one.name, one.sha256.substr(0, 12), one.path, verify ? "  " + state : "");
  }
  if (common.json) print_json({{"schema", "pawl.run-artifacts/1"}, {"run", id.value}, {"attempt", run.attempt}, {"artifacts", list}});
  return wrong == 0 ? ExitStatus::kDone : ExitStatus::kFoundWanting;
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

  CLI::App* watch = cli.command(*sweep, "watch", "A run as it goes, until it has ended: every change of a job, counts, GPU hours",
                                "  pawl sweep watch 3 --workspace w\n  pawl sweep watch 3 --workspace w --json    one event a line");
  watch->add_option("RUN", flags->run, "Id of the run")->required();
  watch->add_option("--every", flags->every_s, "Seconds between two looks")->capture_default_str()->check(CLI::Range(0.05, 3600.0));
  watch->callback([&cli, flags] {
    cli.selected = [flags](World& world, const CommonFlags& common) { return watch_run(world, common, RunId{flags->run}, flags->every_s); };
  });

  CLI::App* artifacts = cli.command(*sweep, "artifacts", "The files of an ended run with their SHA-256",
                                    "  pawl sweep artifacts 3 --workspace w\n  pawl sweep artifacts 3 --workspace w --verify");
  artifacts->add_option("RUN", flags->run, "Id of the run")->required();
  artifacts->add_flag("--verify", flags->verify, "Compare each file with its digest; exit status 1 when one differs");
  artifacts->callback([&cli, flags] {
    cli.selected = [flags](World& world, const CommonFlags& common) { return show_artifacts(world, common, RunId{flags->run}, flags->verify); };
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
