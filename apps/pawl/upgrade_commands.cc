#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "forge/unified_diff.h"
#include "model/point.h"
#include "steward/policy.h"
#include "workbench.h"

namespace pawl::app {
namespace {

using codec::Json;

struct PlanFlags {
  std::string catalog, recipe, image, link = "XXX", policy = "2026-10", scale = "1";
};

Result<std::string> diff_of(const steward::FileEdit& edit) { return forge::unified_diff(edit.path, edit.before, edit.after); }

Result<std::string> labels(const std::vector<Json>& rows) {
  std::string text;
  for (const Json& row : rows) {
    PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
    text += fmt::format("  {}  {}\n", p.workload(), p.label());
  }
  return text;
}

Result<ExitStatus> plan(World& world, const CommonFlags& common, const PlanFlags& flags) {
  PAWL_ASSIGN(const CatalogueFolder catalogue, read_catalogue_folder(world.files, flags.catalog));
  PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, flags.policy));
  PAWL_ASSIGN(const steward::UpgradePlan plan, steward::plan_upgrade(catalogue.texts, flags.recipe, flags.image, flags.link, policy.smoke_eval));
  PAWL_ASSIGN(const std::string image_diff, diff_of(plan.image_edit));
  PAWL_ASSIGN(const std::string changelog_diff, diff_of(plan.changelog_edit));
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-plan/1"},
                {"recipe", plan.recipe},
                {"file", plan.file},
                {"image_old", plan.image_old},
                {"image_new", plan.image_new},
                {"engine", plan.engine},
                {"runner", plan.runner},
                {"policy", flags.policy},
                {"diff", image_diff + changelog_diff},
                {"points", plan.points},
                {"evals", plan.evals},
                {"smoke", {{"points", plan.smoke.points}, {"evals", plan.smoke.evals}}}});
    return ExitStatus::kDone;
  }
  fmt::print("{}{}\n", image_diff, changelog_diff);
  PAWL_ASSIGN(const std::string points, labels(plan.points));
  PAWL_ASSIGN(const std::string evals, labels(plan.evals));
  PAWL_ASSIGN(const std::string smoke_points, labels(plan.smoke.points));
  PAWL_ASSIGN(const std::string smoke_evals, labels(plan.smoke.evals));
  fmt::print("{} points, {} evals on {} ({}):\n{}evals:\n{}", plan.points.size(), plan.evals.size(), plan.runner, plan.engine, points, evals.empty() ? "  none\n" : evals);
  fmt::print("smoke before that (policy {}):\n{}eval:\n{}", flags.policy, smoke_points, smoke_evals.empty() ? "  none\n" : smoke_evals);
  return ExitStatus::kDone;
}

Result<ExitStatus> start(World& world, const CommonFlags& common, const PlanFlags& flags) {
  PAWL_ASSIGN(const model::Scale scale, model::parse_scale(flags.scale));
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kExisting));
  PAWL_ASSIGN(control::Candidate candidate,
              bench->steward.start({.recipe = flags.recipe, .image = flags.image, .policy = flags.policy, .eval_task = "arith24", .scale = scale}));
  PAWL_ASSIGN(candidate, bench->steward.run(candidate.id, world.stop));
  if (common.json) {
    print_json({{"schema", "pawl.candidate/1"}, {"candidate", codec::to_json(candidate)}});
  } else {
    fmt::print("{}: {}{}\n", candidate.recipe, codec::enum_text(*candidate.outcome), candidate.detail.empty() ? "" : " (" + candidate.detail + ")");
  }
  return exit_status_of(*candidate.outcome);
}

Result<ExitStatus> status(World& world, const CommonFlags& common) {
  PAWL_ASSIGN(const store::Workspace workspace, store::Workspace::open(world.files, common.workspace));
  PAWL_ASSIGN(store::Database database, store::Database::open(workspace.database(), all_schemas()));
  Json candidates = Json::array();
  PAWL_TRY(database.query("SELECT record FROM steward_candidate ORDER BY rowid", {}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(Json record, codec::parse_json(row.text(0), "steward_candidate"));
    candidates.push_back(std::move(record));
    return {};
  }));
  if (common.json) {
    print_json({{"schema", "pawl.candidates/1"}, {"candidates", candidates}});
    return ExitStatus::kDone;
  }
  if (candidates.empty()) fmt::print("no candidates yet: pawl upgrade start --help\n");
  for (const Json& record : candidates) {
    PAWL_ASSIGN(const control::Candidate c, codec::from_json<control::Candidate>(record, "candidate"));
    fmt::print("{}  {}  {} → {}  repairs {}/5{}\n", c.outcome ? codec::enum_text(*c.outcome) : codec::enum_text(c.state), c.recipe, c.image_old, c.image_new, c.repairs,
               c.cr == 0 ? "" : fmt::format("  change request {}", c.cr));
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> table(const CommonFlags& common) {
  Json rows = Json::array();
  for (const control::Transition& t : control::transition_table()) {
    Json commands = Json::array();
    for (const control::CommandKind kind : t.commands) commands.push_back(codec::enum_text(kind));
    rows.push_back({{"from", codec::enum_text(t.from)}, {"event", codec::enum_text(t.on)}, {"guard", t.guard}, {"to", codec::enum_text(t.to)}, {"commands", commands}});
  }
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-table/1"}, {"transitions", rows}});
    return ExitStatus::kDone;
  }
  for (const Json& row : rows) {
    std::vector<std::string> commands;
    for (const Json& command : row["commands"]) commands.push_back(command);
    fmt::print("{:<18} {:<19} {:<20} {:<18} {}\n", row["from"].get<std::string>(), row["event"].get<std::string>(), row["guard"].get<std::string>(),
               row["to"].get<std::string>(), join(commands, ", "));
  }
  return ExitStatus::kDone;
}

}  // namespace

void add_upgrade_commands(Cli& cli) {
  CLI::App* upgrade = cli.root.add_subcommand("upgrade", "Move recipes to newer engine images")->require_subcommand(1);

  auto plan_flags = std::make_shared<PlanFlags>();
  CLI::App* plan_app = cli.command(*upgrade, "plan", "What an upgrade would change and measure; changes nothing",
                                   "  pawl upgrade plan --catalog DIR --recipe qwen3.5-fp4-b200-sglang --image lmsysorg/sglang:v0.5.19-cu130 \\\n"
                                   "      --link https://github.com/OWNER/REPO/pull/1\n"
                                   "  pawl upgrade plan … --json | jq -r .diff | git apply --check");
  plan_app->add_option("--catalog", plan_flags->catalog, "Folder of the recipe catalogue")->required();
  plan_app->add_option("--recipe", plan_flags->recipe, "Config key")->required();
  plan_app->add_option("--image", plan_flags->image, "New image")->required();
  plan_app->add_option("--link", plan_flags->link, "Link of the change request, for the changelog entry")->capture_default_str();
  plan_app->add_option("--policy", plan_flags->policy, "Policy profile")->capture_default_str();
  plan_app->callback([&cli, plan_flags] { cli.selected = [plan_flags](World& world, const CommonFlags& common) { return plan(world, common, *plan_flags); }; });

  auto start_flags = std::make_shared<PlanFlags>();
  CLI::App* start_app = cli.command(*upgrade, "start", "Move a recipe of the workspace's catalogue to another image, to the end",
                                    "  pawl upgrade start --workspace DIR --recipe KEY --image NEW\n\n"
                                    "Needs a published baseline of the present image. Ctrl-C stops and keeps the state; pawl resume goes on.");
  start_app->add_option("--recipe", start_flags->recipe, "Config key")->required();
  start_app->add_option("--image", start_flags->image, "New image")->required();
  start_app->add_option("--policy", start_flags->policy, "Policy profile")->capture_default_str();
  start_app->add_option("--scale", start_flags->scale, "Fraction by which lengths and prompt counts shrink; must be that of the baseline")->capture_default_str();
  start_app->callback([&cli, start_flags] { cli.selected = [start_flags](World& world, const CommonFlags& common) { return start(world, common, *start_flags); }; });

  CLI::App* status_app = cli.command(*upgrade, "status", "Candidates of the workspace and where they stand", "  pawl upgrade status --workspace pawl-demo");
  status_app->callback([&cli] { cli.selected = [](World& world, const CommonFlags& common) { return status(world, common); }; });

  CLI::App* table_app = cli.command(*upgrade, "table", "The transition table of the upgrade loop", "  pawl upgrade table --json");
  table_app->callback([&cli] { cli.selected = [](World&, const CommonFlags& common) { return table(common); }; });
}

}  // namespace pawl::app
