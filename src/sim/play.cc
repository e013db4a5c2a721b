#include "sim/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>

#include "base/assert.h"
#include "codec/describe.h"
#include "io/progress.h"
#include "posix/embedded_assets.h"
#include "steward/steward.h"

namespace pawl::sim {
namespace {

constexpr const char* kTables[] = {"steward_candidate", "steward_journal", "steward_outbox",   "steward_inbox",
                                   "steward_claim",     "steward_push",    "steward_baseline", "steward_proposal"};

const posix::EmbeddedAssets& assets() {
  static const posix::EmbeddedAssets all;
  return all;
}

/// The shipped data with another text for every policy.
class OtherPolicy final : public io::Assets {
 public:
  explicit OtherPolicy(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] Result<std::string> read(std::string_view name) const override {
    if (name.starts_with("policies/")) return text_;
    return assets().read(name);
  }
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const override { return assets().list(prefix); }

 private:
  std::string text_;
};

}  // namespace

Player::Player() = default;

Result<store::Database*> Player::database(const PlayOptions& options, bool first) {
  if (options.file.empty()) {
    if (!memory_) {
      PAWL_ASSIGN(memory_, store::Database::open(":memory:", {steward::steward_schema()}));
    }
    if (first) {
      for (const char* table : kTables) PAWL_TRY(memory_->execute(fmt::format("DELETE FROM {}", table)));
    }
    return &*memory_;
  }
  // As a process that died: its connection is gone, the file is opened again.
  file_.reset();
  PAWL_ASSIGN(file_, store::Database::open(options.file, {steward::steward_schema()}));
  if (first) {
    PAWL_TRY(file_->transaction([&]() -> Status {
      for (const char* table : kTables) PAWL_TRY(file_->execute(fmt::format("DELETE FROM {}", table)));
      return {};
    }));
  }
  return &*file_;
}

Played Player::play(const Scenario& scenario, const PlayOptions& options) {
  Played played;
  Outside outside(scenario, options.planted);
  io::NoProgress quiet;
  auto db = database(options, true);
  if (!db) {
    played.violation = Violation{25, "no database: " + db.error().message};
    return played;
  }
  Checker checker(outside, **db);
  const bool keep_world = options.keep_world || !options.policy_text.empty();
  outside.on_mutation = [&](const Mutation& m) {
    checker.mutation(m);
    if (keep_world) played.mutations.emplace_back(m.kind, m.key);
  };
  const OtherPolicy other_policy(options.policy_text);
  if (!options.policy_text.empty()) catalogues_.policies.clear();
  std::string id;
  std::int64_t deliveries = 0, defects = 0;
  bool ended = false;

  const auto world = [&](int which) {
    steward::StewardWorld w{.database = **db,
                            .clock = outside,
                            .assets = options.policy_text.empty() ? static_cast<const io::Assets&>(assets()) : other_policy,
                            .forge = outside,
                            .runner = outside,
                            .results = outside,
                            .capacity = outside,
                            .planner = &outside,
                            .progress = quiet};
    w.image_there = [&](const std::string&) { return outside.image_there(); };
    w.holder = fmt::format("{}-{}", which, played.lives);
    w.alone = which == 0 && scenario.seed % 2 == 0;
    w.catalogues = &catalogues_;
    w.table = options.table;
    if (options.capacity_never_stale) w.capacity_fresh_s = 1'000'000;
    w.defect = [&](const control::Command& command) -> Status {
      if (defects == 0) return {};
      --defects;
      return internal_error("a defect in " + codec::enum_text(command.kind));
    };
    w.observer = [&](const steward::Taken& t) {
      checker.taken(t);
      outside.stands_in(t.decision.candidate.state);
      if (options.trace) {
        options.trace(fmt::format("{:>6} s call {:>4}: {} + {} {}{} → {}{}", outside.mono_s() - 1000, outside.points(), codec::enum_text(t.before.state),
                                  codec::enum_text(t.event.kind), t.event.reason, t.event.detail.empty() ? "" : " (" + t.event.detail + ")",
                                  codec::enum_text(t.decision.candidate.state), t.decision.ignored ? ", ignored" : ""));
      }
      outside.mix(codec::enum_text(t.event.kind));
      outside.mix(static_cast<std::uint64_t>(t.decision.row + 1));
    };
    return w;
  };
  steward::Steward* other = nullptr;
  bool inside_other = false;
  outside.on_fault = [&](FaultKind kind) {
    if (id.empty() || other == nullptr) return;
    switch (kind) {
      case FaultKind::kOperatorStops:
        (void)other->deliver("stop", id, {.kind = control::EventKind::kStopRequested, .detail = "an operator said so"});
        break;
      case FaultKind::kImageNewer:
        (void)other->deliver("newer", id, {.kind = control::EventKind::kImageNewer, .detail = "lmsysorg/sglang:v0.5.20-cu130"});
        break;
      case FaultKind::kImageGoneTold:
        (void)other->deliver("gone", id, {.kind = control::EventKind::kImageGone, .detail = "the registry no longer has the image"});
        break;
      case FaultKind::kOtherClaims:
        (void)(*db)->execute("INSERT OR IGNORE INTO steward_claim (family, candidate, since) VALUES (?1, 'another', '')",
                             {"configs/nvidia-master.yaml\n" + outside.recipe()});
        break;
      case FaultKind::kDelivery:
        // Forged, repeated, out of order: a close that did not happen, a run that did not end.
        for (const auto told : {control::EventKind::kRequestClosedBy, control::EventKind::kRunSucceeded, control::EventKind::kRequestClosedBy}) {
          (void)other->deliver(fmt::format("forge-{}", ++deliveries / 2), id, {.kind = told, .run = 1});
        }
        break;
      case FaultKind::kOtherSteward:
        if (inside_other) break;
        inside_other = true;
        for (int i = 0; i < 6; ++i) {
          const auto stepped = other->step(id, {});
          if (!stepped || stepped->progress != steward::Steward::Progress::kWorked) break;
        }
        inside_other = false;
        break;
      default:
        break;
    }
  };

  while (!ended && !checker.violation() && played.lives < 60) {
    ++played.lives;
    bool crashed = false;
    try {
      steward::Steward second(world(1)), first(world(0));
      other = &second;
      if (id.empty()) {
        auto started = first.start({.recipe = kRecipe, .image = kNewImage, .policy = scenario.policy, .eval_task = "arith24"});
        if (!started) {
          // Refused before anything was recorded: asked again, as a person would.
          if (started.error().cls == ErrorClass::kTransient || started.error().cls == ErrorClass::kInternal) continue;
          // The recipe is gone already: refused, and nothing was recorded.
          if (started.error().cls == ErrorClass::kNotFound) {
            ended = true;
            break;
          }
          played.violation = Violation{25, "start: " + started.error().message};
          break;
        }
        id = started->id;
        if (options.repairs || options.infrastructure_retries || scenario.checkpointed) {
          // The rules are frozen into the record: planted there.
          auto frozen = first.find(id);
          if (options.repairs) (*frozen)->rules.repairs = *options.repairs;
          if (options.infrastructure_retries) (*frozen)->rules.infrastructure_retries = *options.infrastructure_retries;
          (*frozen)->rules.checkpointed_deferral = (*frozen)->rules.checkpointed_deferral || scenario.checkpointed;
          (void)(*db)->execute("UPDATE steward_candidate SET record = ?2, holder = '' WHERE id = ?1",
                               {id, codec::write_json(codec::to_json(**frozen), codec::JsonForm::kCompactUtf8)});
          continue;  // the next life reads it
        }
      }
      for (;;) {
        if (++played.steps > options.steps_max) {
          played.violation = Violation{25, "no end after so many steps"};
          break;
        }
        const Outside::Between between = outside.between_steps();
        if (between.crash) throw Crash{};
        if (between.defect) defects = steward::kInternalTries;
        auto stepped = first.step(id, {});
        checker.between();
        if (checker.violation()) break;
        if (!stepped) {
          if (options.trace) options.trace("  error: " + stepped.error().message);
          const ErrorClass cls = stepped.error().cls;
          if (stepped.error().message.find("nothing to do") != std::string::npos) played.violation = Violation{25, stepped.error().message};
          if (played.violation || cls == ErrorClass::kConflict) break;  // another steward has it: this one ends
          outside.pass_time(5);                                         // the command failed, and is given again
          continue;
        }
        if (on_step) {
          const auto now = first.find(id);
          if (now && *now) on_step(outside, **now);
        }
        if (stepped->progress == steward::Steward::Progress::kWorked) continue;
        if (stepped->progress == steward::Steward::Progress::kEnded) {
          ended = true;
          break;
        }
        if (stepped->progress == steward::Steward::Progress::kBusy) {
          outside.pass_time(steward::kLeaseSeconds + 1);
          continue;
        }
        // Nothing is due: people may look at it meanwhile, so time passes in polls.
        outside.pass_time(std::clamp<std::int64_t>(stepped->due - outside.now_s(), 1, 30 * 60));
      }
    } catch (const Crash&) {
      crashed = true;
      inside_other = false;
    }
    other = nullptr;
    if (options.trace) options.trace(fmt::format("life {} ends{}", played.lives, crashed ? " in a crash" : ""));
    if (played.violation) break;
    if (!ended) {
      if (crashed && id.empty()) {
        // It died before the candidate was known to it: whoever comes next finds what was recorded, or starts it.
        (void)(*db)->query("SELECT id FROM steward_candidate LIMIT 1", {}, [&](const store::Row& row) {
          id = row.text(0);
          return Status();
        });
      }
      if (crashed && options.lose_outbox) (void)(*db)->execute("DELETE FROM steward_outbox WHERE state = 'pending'");
      if (crashed && options.forget_repairs && !id.empty()) {
        (void)(*db)->execute("UPDATE steward_candidate SET record = json_set(record, '$.repairs', 0) WHERE id = ?1", {id});
      }
      outside.pass_time(scenario.seed % 3 == 0 ? 300 : 3);
      db = database(options, false);
      checker.use(**db);
    }
  }
  std::string record;
  (void)(*db)->query("SELECT record FROM steward_candidate WHERE id = ?1", {id}, [&](const store::Row& row) {
    record = row.text(0);
    return Status();
  });
  if (!played.violation) {
    outside.pass_time(60);
    if (!checker.violation() && ended) checker.at_the_end(record);
    if (!ended && !checker.violation()) played.violation = Violation{25, "sixty lives, and no end"};
    if (checker.violation()) played.violation = checker.violation();
  }
  played.candidate = checker.last();
  if (!options.policy_text.empty()) catalogues_.policies.clear();
  if (keep_world) {
    for (const auto& [key, comment] : outside.all_comments()) played.comments[key.substr(key.find('/') + 1)] = comment.body;
    if (outside.our_request() != nullptr) played.body = outside.our_request()->body;
    played.runs = outside.runs();
    for (const auto& [name, head] : outside.branches()) played.branches.insert(name);
    played.capacity_bound = outside.capacity_bound();
    played.capacity_checks = outside.capacity_checks();
  }
  played.points = outside.points();
  played.seconds = outside.now_s() - 1'790'000'000;
  played.rows = checker.rows();
  played.checked = checker.checked();
  outside.mix(static_cast<std::uint64_t>(played.steps));
  if (played.candidate) outside.mix(record);
  played.hash = outside.hash();
  return played;
}

Crowd crowd(std::int64_t candidates) {
  Crowd result{.candidates = candidates};
  auto database = store::Database::open(":memory:", {steward::steward_schema()});
  if (!database) return result;
  const Scenario scenario;
  io::NoProgress quiet;
  steward::CatalogueCache catalogues;
  catalogues.commits_max = static_cast<std::size_t>(candidates) * 4 + 128;
  struct One {
    std::unique_ptr<Outside> outside;
    std::unique_ptr<steward::Steward> steward;
    std::string id;
    bool ended = false;
  };
  std::vector<One> all;
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t i = 1; i <= candidates; ++i) {
    One one;
    one.outside = std::make_unique<Outside>(scenario, Planted{}, i);
    steward::StewardWorld world{.database = *database,
                                .clock = *one.outside,
                                .assets = assets(),
                                .forge = *one.outside,
                                .runner = *one.outside,
                                .results = *one.outside,
                                .capacity = *one.outside,
                                .planner = one.outside.get(),
                                .progress = quiet};
    world.catalogues = &catalogues;
    one.steward = std::make_unique<steward::Steward>(std::move(world));
    const auto started = one.steward->start({.recipe = one.outside->recipe(), .image = kNewImage, .policy = scenario.policy, .eval_task = "arith24"});
    if (!started) return result;
    one.id = started->id;
    all.push_back(std::move(one));
  }
  for (bool busy = true; busy;) {
    busy = false;
    for (One& one : all) {
      if (one.ended) continue;
      busy = true;
      const auto stepped = one.steward->step(one.id, {});
      if (!stepped) return result;
      ++result.steps;
      if (stepped->progress == steward::Steward::Progress::kWaiting) one.outside->pass_time(std::max<std::int64_t>(stepped->due - one.outside->now_s(), 1));
      one.ended = stepped->progress == steward::Steward::Progress::kEnded;
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  (void)database->query("SELECT count(*) FROM steward_candidate WHERE state = 'validated'", {}, [&](const store::Row& row) {
    result.validated = row.whole(0);
    return Status();
  });
  (void)database->query("SELECT page_count * page_size / 1024 FROM pragma_page_count(), pragma_page_size()", {}, [&](const store::Row& row) {
    result.database_kib = row.whole(0);
    return Status();
  });
  std::ifstream memory("/proc/self/statm");
  std::int64_t whole = 0, resident = 0;
  memory >> whole >> resident;
  result.memory_kib = resident * 4;
  return result;
}

Scenario shrink(Player& player, Scenario scenario, const PlayOptions& options, int invariant) {
  const auto breaks = [&](const Scenario& smaller) {
    const Played played = player.play(smaller, options);
    return played.violation && played.violation->number == invariant;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto attempt = [&](auto change) {
      Scenario next = scenario;
      change(next);
      if (write_scenario(next) == write_scenario(scenario) || !breaks(next)) return;
      scenario = std::move(next);
      smaller = true;
    };
    for (std::size_t i = scenario.faults.size(); i-- > 0;) {
      attempt([&](Scenario& s) {
        if (i < s.faults.size()) s.faults.erase(s.faults.begin() + static_cast<std::ptrdiff_t>(i));
      });
    }
    for (std::size_t i = 0; i < scenario.fates.size(); ++i) attempt([&](Scenario& s) { s.fates[i] = Fate::kPass; });
    attempt([](Scenario& s) {
      while (!s.fates.empty() && s.fates.back() == Fate::kPass) s.fates.pop_back();
    });
    for (std::size_t i = scenario.full_at.size(); i-- > 0;) {
      attempt([&](Scenario& s) {
        if (i < s.full_at.size()) s.full_at.erase(s.full_at.begin() + static_cast<std::ptrdiff_t>(i));
      });
    }
    attempt([](Scenario& s) {
      s.queue_seconds = Scenario{}.queue_seconds;
      s.run_seconds = Scenario{}.run_seconds;
    });
    attempt([](Scenario& s) { s.siblings = false; });
    attempt([](Scenario& s) { s.checkpointed = false; });
    attempt([](Scenario& s) { s.planner = PlannerMood::kFixes; });
    attempt([](Scenario& s) { s.baseline = BaselineMood::kThere; });
    attempt([](Scenario& s) { s.policy = "2026-10"; });
  }
  return scenario;
}

}  // namespace pawl::sim
