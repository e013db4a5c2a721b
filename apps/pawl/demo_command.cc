#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "cli.h"
#include "codec/describe.h"
#include "compare/comparison.h"
#include "demo_breaks.h"
#include "model/image.h"
#include "model/row.h"
#include "plan/launch_script.h"
#include "steward/policy.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

constexpr const char* kDemoRecipe = "demo-fp8-h200-sglang";
constexpr const char* kDemoImage = "lmsysorg/sglang:v0.5.19-cu130";
constexpr const char* kEvalTask = "arith24";

/// What a demo was asked to do, written into the workspace before anything else, so that `pawl resume` can go on.
struct DemoRequest {
  std::string schema = "pawl.demo/1";
  std::string catalog;  ///< absolute; empty: the built-in one
  std::string recipe, image, scale, policy;
  Breakage breakage = Breakage::kNone;
};
BOOST_DESCRIBE_STRUCT(DemoRequest, (), (schema, catalog, recipe, image, scale, policy, breakage))

Result<CatalogueFolder> catalogue_of(const World& world, const DemoRequest& request) {
  PAWL_ASSIGN(CatalogueFolder catalogue, request.catalog.empty() ? read_demo_catalogue(*world.assets) : read_catalogue_folder(world, request.catalog));
  if (request.breakage == Breakage::kFlag) return with_old_flag(std::move(catalogue), request.recipe);
  return catalogue;
}

Workbench::Parts parts_of(const DemoRequest& request) {
  Workbench::Parts parts;
  if (request.breakage == Breakage::kCapacity) parts.capacity = [](store::Database& database) { return std::make_unique<FullAfterSmoke>(database); };
  if (request.breakage == Breakage::kAccuracy) {
    parts.engines = [image = request.image](runner::EngineSource usual) { return inaccurate_engines(std::move(usual), image); };
  }
  return parts;
}

/// The first of pawl-demo, pawl-demo-2, … that is not there yet: nothing of an earlier demo is touched.
std::filesystem::path free_folder(const io::Files& files) {
  for (int n = 1;; ++n) {
    const std::filesystem::path folder = n == 1 ? "pawl-demo" : fmt::format("pawl-demo-{}", n);
    if (!files.exists(folder)) return folder;
  }
}

/// The baseline that the candidate is compared with: the old image on every point, published. Idempotent by its marker.
Status publish_baseline(const World& world, Workbench& bench, const DemoRequest& request, const model::Scale& scale, std::stop_token stop) {
  PAWL_ASSIGN(const std::optional<std::string> main, bench.forge.head(forge::kBaseBranch));
  PAWL_ASSIGN(const steward::CatalogueTexts texts, steward::read_catalogue(bench.forge, *world.assets, main.value_or("")));
  PAWL_ASSIGN(const steward::RecipeMatrix matrix, steward::recipe_matrix(texts, request.recipe));
  PAWL_TRY(model::parse_image(request.image));
  io::SweepRequest sweep{.marker = "pawl-baseline-" + sha256_hex(request.recipe + "\n" + matrix.image + "\n" + scale.text()).substr(0, 16),
                         .recipe = request.recipe,
                         .purpose = "baseline",
                         .head = *main,
                         .points = matrix.points,
                         .evals = matrix.evals,
                         .scale = scale,
                         .eval_task = kEvalTask};
  PAWL_ASSIGN(const std::optional<steward::LaunchScript> script, steward::read_launch_script(bench.forge, *main, matrix.points));
  if (script) {
    sweep.launch_flags = plan::launch_flags(script->text);
    sweep.launch_script = model::LaunchScript{script->path, script->text};
  }
  PAWL_ASSIGN(const RunId run, bench.runner.dispatch(sweep));
  bench.progress->report({"baseline", fmt::format("run {}: {} on {}: {} points, {} evals, scale {}", run.value, request.recipe, matrix.image,
                                                  matrix.points.size(), matrix.evals.size(), scale.text())});
  PAWL_ASSIGN(const io::RunStatus status, bench.runner.wait(run, std::move(stop)));
  if (status.state != io::RunState::kSuccess) {
    return run_failed(
        fmt::format("the baseline run {} ended as {}{}", run.value, codec::enum_text(status.state), status.failure ? ": " + status.failure->message : ""),
        fmt::format("look at {}", bench.workspace.run_folder(run.value, status.attempt).string()));
  }
  return bench.publish(status);
}

Result<control::Candidate> candidate_of(Workbench& bench, const DemoRequest& request, const model::Scale& scale) {
  PAWL_ASSIGN(const std::vector<control::Candidate> known, bench.steward.list());
  const auto same = std::ranges::find_if(known, [&](const control::Candidate& c) { return c.recipe == request.recipe && c.image_new == request.image; });
  if (same != known.end()) return *same;
  return bench.steward.start({.recipe = request.recipe, .image = request.image, .policy = request.policy, .eval_task = kEvalTask, .scale = scale});
}

Status print_summary(const World& world, Workbench& bench, const control::Candidate& c, const DemoRequest& request, const std::filesystem::path& folder,
                     double seconds, bool json) {
  const std::string outcome = c.outcome ? codec::enum_text(*c.outcome) : "unfinished";
  std::optional<compare::Comparison> comparison;
  PAWL_ASSIGN(const std::shared_ptr<const model::Baseline> baseline, bench.steward.frozen_baseline(c.id));
  if (baseline && c.outcome == model::Outcome::kValidated) {
    PAWL_ASSIGN(const io::RunEvidence evidence, bench.runner.evidence(RunId{c.attempts.back().run}));
    PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, c.policy));
    PAWL_ASSIGN(comparison, compare::compare(baseline->rows, evidence.rows, baseline->evals, evidence.evals, policy.style.statistic));
  }
  if (json) {
    Json document{
        {"schema", "pawl.demo-result/1"}, {"workspace", folder.string()}, {"outcome", outcome}, {"seconds", seconds}, {"candidate", codec::to_json(c)}};
    if (comparison) document["comparison"] = codec::to_json(*comparison);
    print_json(document);
    return {};
  }
  fmt::print("\n{}: {} → {}\n", c.recipe, c.image_old, c.image_new);
  fmt::print("  outcome    {}{}\n", outcome, c.detail.empty() ? "" : " (" + c.detail + ")");
  fmt::print("  engines    simulated (pawl twin), scale {}: the numbers show the procedure, not a GPU\n", request.scale);
  if (comparison) {
    fmt::print("  verdict    {}; {} of {} points matched to the baseline\n\n", codec::enum_text(comparison->change), comparison->matched,
               comparison->points.size());
    fmt::print("  {:<18} {:>26} {:>26} {:>24}\n", "point", "tput/GPU (tok/s)", "TPOT (ms)", "TTFT (ms)");
    for (const compare::PointChange& point : comparison->points) {
      const auto cell = [&](std::size_t i, double factor, int decimals) {
        const compare::MetricChange& m = point.metrics[i];
        return fmt::format("{:.{}f} → {:.{}f} ({:+.1f}%)", m.baseline * factor, decimals, m.candidate * factor, decimals, m.delta_percent);
      };
      fmt::print("  {:<18} {:>26} {:>26} {:>24}\n", point.label, cell(0, 1, 1), cell(2, 1000, 2), cell(3, 1000, 1));
    }
    for (const compare::EvalChange& eval : comparison->evals) {
      fmt::print("  {:<18} {} strict {:.4f}, flexible {:.4f}, n {} (threshold {:.2f})\n", eval.label, eval.task, eval.score, eval.flexible, eval.n_eff,
                 eval.threshold);
    }
  }
  fmt::print("\n  took {:.0f} s. Look at it:\n", seconds);
  const auto next = [&](const std::string& command, const char* what) {
    fmt::print("    {:<52} {}\n", fmt::format("pawl {} --workspace {}", command, folder.string()), what);
  };
  if (c.cr != 0) next(fmt::format("cr show {}", c.cr), "the thread, English and Chinese");
  if (c.outcome == model::Outcome::kValidated) next(fmt::format("cr diff {}", c.cr), "what it changes");
  next("serve", "results and threads in a browser, and the API");
  return {};
}

/// Every step is idempotent: `pawl resume` calls it again with the same request.
Result<ExitStatus> run_demo(World& world, const CommonFlags& flags, const std::filesystem::path& folder, const DemoRequest& request) {
  const MonoTime start = world.clock.now();
  PAWL_ASSIGN(const model::Scale scale, model::parse_scale(request.scale));
  PAWL_ASSIGN(auto bench, Workbench::open(world, flags, folder, Workbench::Open::kExistingOrNew, parts_of(request)));
  PAWL_TRY(world.files.write_atomic(bench->workspace.folder() / "demo.json", codec::write_json_pretty(codec::to_json(request))));
  bench->progress->report({"workspace", folder.string()});
  PAWL_ASSIGN(const CatalogueFolder catalogue, catalogue_of(world, request));
  PAWL_TRY(bench->import_once(catalogue, iso_utc(world.clock.wall())));
  PAWL_TRY(publish_baseline(world, *bench, request, scale, world.stop));
  PAWL_ASSIGN(control::Candidate candidate, candidate_of(*bench, request, scale));
  PAWL_ASSIGN(candidate, bench->steward.run(candidate.id, world.stop));
  PAWL_TRY(print_summary(world, *bench, candidate, request, folder, seconds_of(world.clock.now() - start), flags.json));
  return exit_status_of(*candidate.outcome);
}

struct DemoFlags {
  std::string catalog, recipe, image, scale = "1/32", policy = "2026-09", breakage = "none";
};

}  // namespace

void add_demo_command(Cli& cli) {
  auto own = std::make_shared<DemoFlags>();
  CLI::App* demo = cli.command(cli.root, "demo", "Upgrade a recipe end to end on this machine, with simulated engines",
                               "  pawl demo\n"
                               "  pawl demo --catalog DIR --recipe qwen3.5-fp4-b200-sglang --image lmsysorg/sglang:v0.5.19-cu130\n"
                               "  pawl demo --scale 1/512        a quick look, about ten seconds\n"
                               "  pawl demo --break flag         the new image rejects a launch flag: recognised, repaired, validated\n"
                               "  pawl demo --break capacity     no room for the final sweep: deferred, cleaned up\n"
                               "  pawl demo --break accuracy     the eval gate fails: ends failed\n\n"
                               "Measures the old image and publishes it as the baseline, then moves the recipe to the new image: branch, change\n"
                               "request, smoke, changelog, full sweep, comparison, reports in English and Chinese, receipt. Without --catalog a\n"
                               "small built-in one is used. Without --workspace the folder is pawl-demo (or pawl-demo-2, … when that is taken).");
  demo->add_option("--catalog", own->catalog, "Folder of a recipe catalogue");
  demo->add_option("--recipe", own->recipe, "Config key of the recipe to upgrade");
  demo->add_option("--image", own->image, "New image");
  demo->add_option("--scale", own->scale, "Fraction by which lengths and prompt counts shrink")->capture_default_str();
  demo->add_option("--policy", own->policy, "Policy profile of the upgrade")->capture_default_str();
  demo->add_option("--break", own->breakage, "Stage trouble: flag (the new image rejects a launch flag), capacity (no room), accuracy (wrong answers)")
      ->check(CLI::IsMember(codec::enum_texts<Breakage>()))
      ->capture_default_str();
  demo->callback([&cli, own] {
    cli.selected = [own](World& world, const CommonFlags& flags) -> Result<ExitStatus> {
      if (!own->catalog.empty() && (own->recipe.empty() || own->image.empty())) {
        return usage_error("--catalog needs --recipe and --image", "pawl demo --catalog DIR --recipe KEY --image NEW");
      }
      const DemoRequest request{.catalog = own->catalog.empty() ? "" : std::filesystem::absolute(own->catalog).lexically_normal().string(),
                                .recipe = own->recipe.empty() ? kDemoRecipe : own->recipe,
                                .image = own->image.empty() ? kDemoImage : own->image,
                                .scale = own->scale,
                                .policy = own->policy,
                                .breakage = codec::enum_value<Breakage>(own->breakage).value_or(Breakage::kNone)};
      PAWL_ASSIGN(const CatalogueFolder catalogue, catalogue_of(world, request));
      // Everything that can be wrong with the input is looked at before a workspace is made.
      PAWL_TRY(model::parse_scale(request.scale));
      PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, request.policy));
      PAWL_TRY(steward::plan_upgrade(catalogue.texts, request.recipe, request.image, "XXX", policy.smoke_eval));
      const std::filesystem::path folder = flags.workspace_given ? flags.workspace : free_folder(world.files);
      return run_demo(world, flags, folder, request);
    };
  });

  CLI::App* resume = cli.command(cli.root, "resume", "Go on with everything in a workspace that was interrupted",
                                 "  pawl resume --workspace pawl-demo\n\nRepeats nothing that was done: runs, comments and results are found by their keys.");
  resume->callback([&cli] {
    cli.selected = [](World& world, const CommonFlags& flags) -> Result<ExitStatus> {
      PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, flags.workspace));
      ExitStatus worst = ExitStatus::kDone;
      bool resumed = false;
      if (world.files.exists(workspace.folder() / "demo.json")) {
        PAWL_ASSIGN(const std::string text, world.files.read(workspace.folder() / "demo.json"));
        PAWL_ASSIGN(const Json json, codec::parse_json(text, "demo.json"));
        PAWL_ASSIGN(const DemoRequest request, codec::from_json<DemoRequest>(json, "demo.json"));
        PAWL_ASSIGN(worst, run_demo(world, flags, flags.workspace, request));
        resumed = true;
      }
      PAWL_ASSIGN(auto bench, Workbench::open(world, flags, flags.workspace, Workbench::Open::kExisting));
      PAWL_ASSIGN(const std::vector<control::Candidate> candidates, bench->steward.list());
      Json ended = Json::array();
      for (const control::Candidate& candidate : candidates) {
        if (control::terminal(candidate.state)) continue;
        PAWL_ASSIGN(const control::Candidate now, bench->steward.run(candidate.id, world.stop));
        ended.push_back(codec::to_json(now));
        const ExitStatus status = now.outcome ? exit_status_of(*now.outcome) : ExitStatus::kDone;  // parked: nothing needs a process
        if (static_cast<int>(status) > static_cast<int>(worst)) worst = status;
        if (!flags.json) fmt::print("{}: {}\n", now.recipe, now.outcome ? codec::enum_text(*now.outcome) : "parked in " + codec::enum_text(now.state));
      }
      if (!resumed && flags.json) print_json({{"schema", "pawl.resumed/1"}, {"candidates", ended}});
      if (!resumed && !flags.json && ended.empty()) fmt::print("nothing to resume\n");
      return worst;
    };
  });
}

}  // namespace pawl::app
