#include "upgrade_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/describe.h"
#include "control/replay.h"
#include "steward/file_capacity.h"
#include "steward/policy.h"
#include "steward/preview.h"

namespace pawl::app {
namespace {

using codec::Json;
using control::Candidate;
using control::EventKind;

struct StepFlags {
  std::string id, recipe, image, policy = "2026-10", capacity, runner, file;
  bool dry_run = false, once = false;
};

/// What a check said: `ok` decides the exit status.
Result<ExitStatus> print_check(const CommonFlags& common, const std::string& what, const steward::Answer& answer, bool ok) {
  const control::Event event = answer.event.value_or(control::Event{});
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-check/1"},
                {"check", what},
                {"ok", ok},
                {"answer", codec::enum_text(event.kind)},
                {"reason", event.reason},
                {"detail", event.detail}});
  } else {
    fmt::print("{} {}: {}{}{}\n", ok ? "ok  " : "FAIL", what, codec::enum_text(event.kind), event.reason.empty() ? "" : " (" + event.reason + ")",
               event.detail.empty() ? "" : ": " + event.detail);
  }
  return ok ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

/// A candidate that is only thought of, for checks before there is one.
Result<Candidate> imagined(const World& world, Workbench& bench, const StepFlags& flags) {
  PAWL_ASSIGN(const std::optional<std::string> main, bench.forge.head(forge::kBaseBranch));
  if (!main) return not_found("the forge has no branch main", "make a workspace first: pawl init --catalog DIR");
  PAWL_ASSIGN(const steward::CatalogueTexts texts, steward::read_catalogue(bench.forge, *world.assets, *main));
  PAWL_ASSIGN(const steward::RecipeMatrix matrix, steward::recipe_matrix(texts, flags.recipe));
  Candidate c;
  c.recipe = flags.recipe;
  c.file = matrix.file;
  c.image_old = matrix.image;
  c.image_new = flags.image;
  c.runner = matrix.runner;
  c.engine = matrix.engine;
  c.policy = flags.policy;
  c.id = control::candidate_id(c.file, c.recipe, c.image_old);
  c.branch = "pawl/auto-" + c.id;
  return c;
}

Result<ExitStatus> preflight(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(Candidate c, imagined(world, *bench, flags));
  PAWL_ASSIGN(const steward::Answer overlap, bench->steward.performer().review_overlap(c));
  if (overlap.event->kind != EventKind::kOverlapClear) return print_check(common, "overlap", overlap, false);
  // At whatever scale the baseline was measured: that is the scale to start with.
  PAWL_ASSIGN(steward::Answer baseline, bench->steward.performer().preflight_baseline(c));
  const bool scaled = baseline.event->reason == "baseline-scale";
  return print_check(common, "baseline", baseline, baseline.event->kind == EventKind::kBaselineReady || scaled);
}

Result<ExitStatus> check_capacity(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, flags.policy));
  std::string runner = flags.runner;
  if (runner.empty()) {
    if (flags.id.empty()) return usage_error("name a candidate, or a runner with --runner", "pawl upgrade check-capacity --runner b200 --capacity FILE");
    PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
    PAWL_ASSIGN(const Candidate c, candidate_of(*bench, flags.id));
    runner = c.runner;
  }
  io::LocalCapacity local;
  steward::FileCapacity file(world.files, world.clock, flags.capacity);
  io::CapacitySource& source = flags.capacity.empty() ? static_cast<io::CapacitySource&>(local) : file;
  PAWL_ASSIGN(const io::Capacity capacity, source.check(runner, policy.utilisation_below_percent));
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-check/1"},
                {"check", "capacity"},
                {"ok", capacity.pass},
                {"answer", capacity.pass ? "capacity-passed" : "capacity-failed"},
                {"reason", capacity.reason},
                {"detail", ""}});
  } else {
    fmt::print("{} capacity of {}{}\n", capacity.pass ? "ok  " : "FAIL", runner, capacity.reason.empty() ? "" : ": " + capacity.reason);
  }
  return capacity.pass ? ExitStatus::kDone : ExitStatus::kDeferred;
}

Result<ExitStatus> check_final(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, Workbench::Open::kReading));
  PAWL_ASSIGN(const Candidate c, candidate_of(*bench, flags.id));
  if (c.cr == 0) return not_found(fmt::format("candidate {} has no change request yet", c.id));
  PAWL_ASSIGN(const steward::Answer answer, bench->steward.performer().check_final(c));
  return print_check(common, "final", answer, answer.event->kind == EventKind::kGatePassed);
}

/// Verifies, reports, marks ready and posts the receipt of a candidate whose full sweep has ended; nothing else.
Result<ExitStatus> finish(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, flags.dry_run ? Workbench::Open::kReading : Workbench::Open::kExisting));
  PAWL_ASSIGN(Candidate c, candidate_of(*bench, flags.id));
  const bool near_the_end = c.state == control::State::kFinalRunning || c.state == control::State::kVerifying || c.state == control::State::kPublishing ||
                            c.state == control::State::kReadying || control::ending(c.state) || control::terminal(c.state);
  if (!near_the_end) {
    return conflict(fmt::format("candidate {} is in {}: its full sweep has not been started", c.id, codec::enum_text(c.state)),
                    "pawl upgrade resume " + c.id + " goes on with it");
  }
  if (c.state == control::State::kFinalRunning) {
    PAWL_ASSIGN(const io::RunStatus run, bench->runner.status(RunId{c.attempts.back().run}));
    if (!io::terminal(run.state)) {
      return conflict(fmt::format("run {} of candidate {} is {}", run.id.value, c.id, codec::enum_text(run.state)),
                      "finish it when the run has ended; pawl upgrade watch waits for it");
    }
  }
  if (flags.dry_run) return print_preview(world, common, *bench, c, std::nullopt);
  PAWL_ASSIGN(c, bench->steward.run(c.id, world.stop));
  return print_result(common, c);
}

Result<ExitStatus> release(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, flags.dry_run ? Workbench::Open::kReading : Workbench::Open::kExisting));
  PAWL_ASSIGN(const Candidate c, candidate_of(*bench, flags.id));
  if (!flags.dry_run) PAWL_TRY(bench->steward.release(c.id));
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-release/1"}, {"candidate", c.id}, {"recipe", c.recipe}, {"dry_run", flags.dry_run}});
  } else {
    fmt::print("{}lets go of the recipe {}\n", flags.dry_run ? "would: " : "", c.recipe);
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> watch(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(auto bench, Workbench::open(world, common, common.workspace, flags.dry_run ? Workbench::Open::kReading : Workbench::Open::kExisting));
  if (flags.dry_run) {
    PAWL_ASSIGN(const std::vector<Candidate> all, bench->steward.list());
    for (const Candidate& c : all) {
      PAWL_ASSIGN(const auto pending, bench->steward.pending(c.id));
      if (!pending.empty()) PAWL_TRY(print_preview(world, common, *bench, c, std::nullopt));
    }
    return ExitStatus::kDone;
  }
  constexpr std::int64_t kLookSeconds = 30;
  for (;;) {
    PAWL_ASSIGN(const std::int64_t due, bench->steward.pass(world.stop));
    const std::int64_t now = std::chrono::floor<std::chrono::seconds>(world.clock.wall().since_epoch).count();
    PAWL_ASSIGN(const std::vector<Candidate> all, bench->steward.list());
    const auto live = std::ranges::count_if(all, [](const Candidate& c) { return !control::terminal(c.state); });
    if (flags.once || live == 0) {
      if (common.json) {
        print_json({{"schema", "pawl.upgrade-watch/1"}, {"live", live}, {"next_due_s", due}});
      } else {
        fmt::print("{} candidates under way{}\n", live, due == 0 ? "" : fmt::format("; the next thing is due in {} s", std::max<std::int64_t>(due - now, 0)));
      }
      return ExitStatus::kDone;
    }
    // Polls in between: a person may have closed a request of a candidate that waits for hours.
    if (!world.clock.sleep_for(Seconds{std::clamp<std::int64_t>(due - now, 1, kLookSeconds)}, world.stop)) return cancelled();
  }
}

Result<ExitStatus> replay(World& world, const CommonFlags& common, const StepFlags& flags) {
  PAWL_ASSIGN(const std::string text, world.files.read(flags.file));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, flags.file));
  auto journal = codec::from_json<control::Journal>(json, flags.file);
  if (!journal) return std::move(journal).error().advise("give a file that pawl upgrade explain ID --json wrote");
  PAWL_ASSIGN(const control::Replayed replayed, control::replay(*journal));
  if (common.json) {
    print_json(
        {{"schema", "pawl.upgrade-replay/1"}, {"candidate", journal->candidate.id}, {"agrees", replayed.agrees}, {"steps", codec::to_json(replayed.steps)}});
  } else {
    for (const control::ReplayedStep& step : replayed.steps) {
      fmt::print("{}  {} → {}{}\n    {}\n", step.at, step.before, step.after, step.agrees ? "" : "   DIFFERS from what was recorded", step.why);
      if (!step.commands.empty()) fmt::print("    orders {}\n", join(step.commands, ", "));
    }
    fmt::print("{} steps; {}\n", replayed.steps.size(),
               replayed.agrees ? "the same candidate comes out as was recorded" : "something else comes out than was recorded: this pawl decides otherwise");
  }
  return replayed.agrees ? ExitStatus::kDone : ExitStatus::kFoundWanting;
}

}  // namespace

Result<Candidate> candidate_of(Workbench& bench, const std::string& id) {
  PAWL_ASSIGN(const std::vector<Candidate> all, bench.steward.list());
  std::vector<const Candidate*> fits;
  for (const Candidate& c : all) {
    if (c.id == id) return c;
    if (!id.empty() && c.id.starts_with(id)) fits.push_back(&c);
  }
  if (fits.size() == 1) return *fits[0];
  return not_found(fmt::format("{} candidate {}", fits.empty() ? "no" : "more than one", id), "pawl upgrade status shows them with their ids");
}

Result<ExitStatus> print_preview(World& world, const CommonFlags& common, Workbench& bench, const Candidate& c, const std::optional<control::Event>& told) {
  PAWL_ASSIGN(const steward::Policy policy, steward::load_policy(*world.assets, c.policy));
  PAWL_ASSIGN(const std::vector<control::Command> pending, bench.steward.pending(c.id));
  const std::vector<steward::PreviewedStep> steps = steward::preview(c, pending, told, policy, world.clock.wall());
  if (common.json) {
    print_json({{"schema", "pawl.upgrade-preview/1"}, {"candidate", c.id}, {"state", codec::enum_text(c.state)}, {"steps", codec::to_json(steps)}});
    return ExitStatus::kDone;
  }
  fmt::print("{}  {}  {}\n", c.id, c.recipe, codec::enum_text(c.state));
  for (const steward::PreviewedStep& step : steps) fmt::print("  {} {:<18} {}\n", step.mutates ? "*" : " ", step.command, step.effect);
  fmt::print("nothing of this was done (--dry-run); * changes something, if every step before it succeeds\n");
  return ExitStatus::kDone;
}

ExitStatus print_result(const CommonFlags& common, const Candidate& c) {
  if (common.json) print_json({{"schema", "pawl.upgrade-result/1"}, {"candidate", codec::to_json(c)}});
  if (!c.outcome || !control::terminal(c.state)) {
    if (!common.json) fmt::print("{}: parked in {}; pawl upgrade watch goes on with it\n", c.recipe, codec::enum_text(c.state));
    return ExitStatus::kDone;
  }
  if (!common.json) fmt::print("{}: {}{}\n", c.recipe, codec::enum_text(*c.outcome), c.detail.empty() ? "" : " (" + c.detail + ")");
  return model::exit_status_of(*c.outcome);
}

void add_upgrade_steps(Cli& cli, CLI::App& upgrade) {
  using Work = Result<ExitStatus> (*)(World&, const CommonFlags&, const StepFlags&);
  const auto add = [&](const char* name, const char* what, const std::string& examples, Work work) {
    CLI::App* app = cli.command(upgrade, name, what, examples);
    auto flags = std::make_shared<StepFlags>();
    app->callback([&cli, flags, work] { cli.selected = [flags, work](World& world, const CommonFlags& common) { return work(world, common, *flags); }; });
    return std::pair{app, flags};
  };
  const auto with_id = [](const std::pair<CLI::App*, std::shared_ptr<StepFlags>>& command, bool required) {
    CLI::Option* id = command.first->add_option("ID", command.second->id, "Id of the candidate, or its beginning");
    if (required) id->required();
  };
  const auto with_dry_run = [](const std::pair<CLI::App*, std::shared_ptr<StepFlags>>& command) {
    command.first->add_flag("--dry-run", command.second->dry_run, "Print every effect and have none");
  };

  auto pre = add("preflight", "Whether an upgrade could start: nobody else moves the recipe, and a baseline is published",
                 "  pawl upgrade preflight --recipe KEY --image NEW --workspace DIR", preflight);
  pre.first->add_option("--recipe", pre.second->recipe, "Config key")->required();
  pre.first->add_option("--image", pre.second->image, "New image")->required();
  pre.first->add_option("--policy", pre.second->policy, "Policy profile")->capture_default_str();

  auto room = add("check-capacity", "Whether the clusters of a candidate, or of a runner, have room now",
                  "  pawl upgrade check-capacity 48ad5acc --workspace pawl-demo\n  pawl upgrade check-capacity --runner b200 --capacity telemetry.json",
                  check_capacity);
  with_id(room, false);
  room.first->add_option("--runner", room.second->runner, "Runner label of a recipe, instead of a candidate");
  room.first->add_option("--capacity", room.second->capacity, "Telemetry of the clusters, a file pawl.capacity/1; without it, this machine");
  room.first->add_option("--policy", room.second->policy, "Policy profile, for the bound")->capture_default_str();

  with_id(add("check-final", "The proofs that a final sweep needs: changelog, gate, matrix, diff, baseline",
              "  pawl upgrade check-final 48ad5acc --workspace pawl-demo", check_final),
          true);
  auto end = add("finish", "Verify an ended full sweep, report it, mark the request ready, post the receipt",
                 "  pawl upgrade finish 48ad5acc --workspace pawl-demo\n  pawl upgrade finish 48ad5acc --workspace pawl-demo --dry-run", finish);
  with_id(end, true);
  with_dry_run(end);
  auto let_go = add("release", "Let go of the recipe of a candidate that has ended", "  pawl upgrade release 48ad5acc --workspace pawl-demo", release);
  with_id(let_go, true);
  with_dry_run(let_go);
  auto look =
      add("watch", "Go on with every candidate as things happen, until none is under way",
          "  pawl upgrade watch --workspace pawl-demo\n  pawl upgrade watch --once --workspace pawl-demo    one look, for a timer of the system", watch);
  look.first->add_flag("--once", look.second->once, "One look at everything that is due now");
  with_dry_run(look);
  auto again = add("replay", "Decide a candidate's journal again and explain each step",
                   "  pawl upgrade explain 48ad5acc --workspace pawl-demo --json > journal.json\n  pawl upgrade replay journal.json", replay);
  again.first->add_option("JOURNAL", again.second->file, "What pawl upgrade explain --json wrote")->required();
}

}  // namespace pawl::app
