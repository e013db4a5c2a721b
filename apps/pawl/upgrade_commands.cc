#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli.h"
#include "codec/describe.h"
#include "control/table_text.h"
#include "forge/unified_diff.h"
#include "forward_only.h"
#include "model/point.h"
#include "steward/policy.h"
#include "upgrade_steps.h"
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
  PAWL_ASSIGN(const CatalogueFolder catalogue, read_catalogue_folder(world, flags.catalog));
  PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, flags.policy));
  auto planned = steward::plan_upgrade(catalogue.texts, flags.recipe, flags.image, flags.link, policy.smoke_eval);
  if (!planned && planned.error().cls == ErrorClass::kConflict) {
    // Not an error: there is nothing to do.
    if (common.json) {
      print_json({{"schema", "pawl.upgrade-plan/1"},
                  {"recipe", flags.recipe},
                  {"outcome", "already-updated"},
                  {"diff", ""},
                  {"points", Json::array()},
                  {"evals", Json::array()}});
    } else {
      fmt::print("{}\n", planned.error().message);
    }
    return ExitStatus::kDone;
  }
  if (!planned) return std::move(planned).error();
  const steward::UpgradePlan& plan = *planned;
  PAWL_TRY(forward_only(*world.assets, plan.image_old, plan.image_new));
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
  fmt::print("{} points, {} evals on {} ({}):\n{}evals:\n{}", plan.points.size(), plan.evals.size(), plan.runner, plan.engine, points,
             evals.empty() ? "  none\n" : evals);
  fmt::print("smoke before that (policy {}):\n{}eval:\n{}", flags.policy, smoke_points, smoke_evals.empty() ? "  none\n" : smoke_evals);
  return ExitStatus::kDone;
}

Result<ExitStatus> start(World& world, const CommonFlags& common, const PlanFlags& flags) {
  PAWL_ASSIGN(const model::Scale scale, model::parse_scale(flags.scale));
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kExisting));
  PAWL_ASSIGN(control::Candidate candidate,
              bench->steward.start({.recipe = flags.recipe,
                                    .image = flags.image,
                                    .policy = flags.policy,
                                    .eval_task = "arith24",
                                    .scale = scale,
                                    .accept = [&](const std::string& pinned) { return forward_only(*world.assets, pinned, flags.image); }}));
  PAWL_ASSIGN(candidate, bench->steward.run(candidate.id, world.stop));
  return print_result(common, candidate);
}

std::string age_text(const control::Candidate& c, WallTime now) {
  const auto days = control::validated_days(c, now);
  if (!days) return {};
  return fmt::format("  validated {} days ago{}{}", *days, control::stale(c, now) ? ", stale" : "",
                     c.newer_image.empty() ? "" : ", newer image " + c.newer_image);
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
    Json validated = Json::array();
    for (const Json& record : candidates) {
      PAWL_ASSIGN(const control::Candidate c, steward::parse_candidate(codec::write_json(record, codec::JsonForm::kCompactUtf8)));
      const auto days = control::validated_days(c, world.clock.wall());
      if (days) validated.push_back({{"id", c.id}, {"age_days", *days}, {"stale", control::stale(c, world.clock.wall())}, {"newer_image", c.newer_image}});
    }
    print_json({{"schema", "pawl.candidates/1"}, {"candidates", candidates}, {"validated", validated}});
    return ExitStatus::kDone;
  }
  if (candidates.empty()) fmt::print("no candidates yet: pawl upgrade start --help\n");
  for (const Json& record : candidates) {
    PAWL_ASSIGN(const control::Candidate c, steward::parse_candidate(codec::write_json(record, codec::JsonForm::kCompactUtf8)));
    fmt::print("{}  {}{}  {}  {} → {}  repairs {}/{}{}{}\n", c.id, c.outcome ? codec::enum_text(*c.outcome) : codec::enum_text(c.state),
               c.parked ? " (parked)" : "", c.recipe, c.image_old, c.image_new, c.repairs, c.rules.repairs,
               c.cr == 0 ? "" : fmt::format("  change request {}", c.cr), age_text(c, world.clock.wall()));
  }
  return ExitStatus::kDone;
}

struct IdFlags {
  std::string id;
  bool dry_run = false;
};

Result<ExitStatus> explain(World& world, const CommonFlags& common, const IdFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const control::Candidate c, candidate_of(*bench, flags.id));
  Json events = Json::array();
  PAWL_TRY(bench->database.query(
      "SELECT at, event, state_before, state_after, ignored, answers FROM steward_journal WHERE candidate = ?1 ORDER BY seq", {c.id},
      [&](const store::Row& row) -> Status {
        PAWL_ASSIGN(Json event, codec::parse_json(row.text(1), "steward_journal"));
        events.push_back(
            {{"at", row.text(0)}, {"before", row.text(2)}, {"after", row.text(3)}, {"ignored", row.whole(4) != 0}, {"answers", row.text(5)}, {"event", event}});
        return {};
      }));
  if (common.json) {
    Json initial;
    PAWL_TRY(bench->database.query("SELECT initial FROM steward_candidate WHERE id = ?1", {c.id}, [&](const store::Row& row) -> Status {
      if (row.text(0).empty()) return {};  // recorded by a pawl that did not keep it
      PAWL_ASSIGN(initial, codec::parse_json(row.text(0), "steward_candidate.initial"));
      return {};
    }));
    print_json({{"schema", "pawl.candidate-history/1"}, {"candidate", codec::to_json(c)}, {"initial", initial}, {"events", events}});
    return ExitStatus::kDone;
  }
  fmt::print("{}  {}\n{} → {}\n", c.id, c.recipe, c.image_old, c.image_new);
  for (const Json& entry : events) {
    const Json& event = entry["event"];
    std::string detail = event.value("detail", std::string());
    if (event.value("run", std::int64_t{0}) != 0) detail = fmt::format("run {} {}", event["run"].get<std::int64_t>(), detail);
    fmt::print("{}  {:<18} {:<18} → {:<18} {}{}\n", entry["at"].get<std::string>(), event["kind"].get<std::string>(), entry["before"].get<std::string>(),
               entry["after"].get<std::string>(), entry["ignored"].get<bool>() ? "(ignored) " : "", detail);
  }
  if (c.outcome) fmt::print("outcome: {}{}\n", codec::enum_text(*c.outcome), c.detail.empty() ? "" : ": " + c.detail);
  return ExitStatus::kDone;
}

Result<ExitStatus> resume(World& world, const CommonFlags& common, const IdFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, flags.dry_run ? Workbench::Open::kReading : Workbench::Open::kExisting));
  PAWL_ASSIGN(control::Candidate candidate, candidate_of(*bench, flags.id));
  if (flags.dry_run) return print_preview(world, common, *bench, candidate, std::nullopt);
  PAWL_ASSIGN(candidate, bench->steward.run(candidate.id, world.stop));
  return print_result(common, candidate);
}

Result<ExitStatus> stop(World& world, const CommonFlags& common, const IdFlags& flags) {
  std::int64_t request = 0;
  std::string id;
  {
    PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
    PAWL_ASSIGN(const control::Candidate candidate, candidate_of(*bench, flags.id));
    if (flags.dry_run) {
      return print_preview(world, common, *bench, candidate,
                           control::Event{.kind = control::EventKind::kRequestClosedBy, .detail = "a person closed the change request"});
    }
    request = candidate.cr;
    id = candidate.id;
    // Told through the inbox, which needs no lock: whoever works on it takes it in before its next step.
    if (request == 0 && !control::terminal(candidate.state)) {
      PAWL_TRY(bench->steward.deliver("operator-stop-" + id, id, {.kind = control::EventKind::kStopRequested, .detail = "an operator stopped it"}));
    }
  }
  if (request != 0) return stop_candidate(world, common, request);
  std::string outcome = "the pawl that works in this workspace stops its candidate now";
  auto bench = Workbench::open(world, common, common.workspace, Workbench::Open::kExisting);
  if (!bench && bench.error().cls != ErrorClass::kConflict) return std::move(bench).error();
  if (bench) {
    PAWL_ASSIGN(const control::Candidate ended, (*bench)->steward.run(id, world.stop));
    outcome = fmt::format("{}: {}", ended.recipe, codec::enum_text(*ended.outcome));
  }
  if (common.json) {
    print_json({{"schema", "pawl.stop/1"}, {"change_request", request}, {"outcome", outcome}});
  } else {
    fmt::print("candidate {}: {}\n", id, outcome);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> init(World& world, const CommonFlags& common, const PlanFlags& flags) {
  PAWL_ASSIGN(const CatalogueFolder catalogue, read_catalogue_folder(world, flags.catalog));
  PAWL_ASSIGN(const plan::Catalogue checked, plan::Catalogue::read(catalogue.texts.layout, catalogue.texts.texts));
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kExistingOrNew));
  PAWL_TRY(bench->import_once(catalogue, iso_utc(world.clock.wall())));
  if (common.json) {
    print_json({{"schema", "pawl.workspace/1"}, {"folder", bench->workspace.folder().string()}, {"recipes", checked.recipes().size()}});
  } else {
    fmt::print("{}: a workspace with {} recipes\n", bench->workspace.folder().string(), checked.recipes().size());
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> table(const CommonFlags& common, bool diagram) {
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-table/1"}, {"transitions", control::table_json()}});
  } else {
    fmt::print("{}", diagram ? control::diagram_text() : control::table_text());
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
  start_app->add_option("--scale", start_flags->scale, "Fraction by which lengths and prompt counts shrink; must be that of the baseline")
      ->capture_default_str();
  start_app->callback(
      [&cli, start_flags] { cli.selected = [start_flags](World& world, const CommonFlags& common) { return start(world, common, *start_flags); }; });

  CLI::App* status_app = cli.command(*upgrade, "status", "Candidates of the workspace and where they stand", "  pawl upgrade status --workspace pawl-demo");
  status_app->callback([&cli] { cli.selected = [](World& world, const CommonFlags& common) { return status(world, common); }; });

  using WithId = Result<ExitStatus> (*)(World&, const CommonFlags&, const IdFlags&);
  const auto with_id = [&](const char* name, const char* what, WithId work, bool dry_run) {
    CLI::App* app = cli.command(*upgrade, name, what, fmt::format("  pawl upgrade {} 48ad5acc --workspace pawl-demo", name));
    auto flags = std::make_shared<IdFlags>();
    app->add_option("ID", flags->id, "Id of the candidate, or its beginning")->required();
    if (dry_run) app->add_flag("--dry-run", flags->dry_run, "Print every effect and have none");
    app->callback([&cli, flags, work] { cli.selected = [flags, work](World& world, const CommonFlags& common) { return work(world, common, *flags); }; });
  };
  with_id("explain", "Every event of a candidate and what it led to", explain, false);
  with_id("resume", "Go on with one candidate that was interrupted", resume, true);
  with_id("stop", "Stop a candidate: as closing its change request", stop, true);
  add_upgrade_steps(cli, *upgrade);

  auto init_flags = std::make_shared<PlanFlags>();
  CLI::App* init_app = cli.command(cli.root, "init", "Make a workspace for a recipe catalogue", "  pawl init --workspace w --catalog DIR");
  init_app->add_option("--catalog", init_flags->catalog, "Folder of the recipe catalogue")->required();
  init_app->callback([&cli, init_flags] { cli.selected = [init_flags](World& world, const CommonFlags& common) { return init(world, common, *init_flags); }; });

  CLI::App* table_app = cli.command(*upgrade, "table", "The transition table of the upgrade loop",
                                    "  pawl upgrade table --json\n  pawl upgrade table --diagram    as a Mermaid state diagram");
  auto diagram = std::make_shared<bool>(false);
  table_app->add_flag("--diagram", *diagram, "A Mermaid state diagram instead of the table");
  table_app->callback([&cli, diagram] { cli.selected = [diagram](World&, const CommonFlags& common) { return table(common, *diagram); }; });
}

}  // namespace pawl::app
