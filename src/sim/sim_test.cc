#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "codec/describe.h"
#include "sim/closing.h"
#include "sim/planted.h"
#include "sim/play.h"

namespace pawl::sim {
namespace {

using control::State;

std::string told(const Played& played) {
  std::string text = played.violation ? fmt::format("invariant {}: {}", played.violation->number, played.violation->text) : "no violation";
  if (played.candidate) text += fmt::format(" [{} {}]", codec::enum_text(played.candidate->state), played.candidate->reason);
  return text;
}

/// Blocks of seeds, so that they run side by side.
class Schedules : public testing::TestWithParam<std::int64_t> {};

TEST_P(Schedules, BreakNoInvariant) {
  Player player;
  for (std::int64_t seed = GetParam(); seed < GetParam() + 1000; ++seed) {
    const Played played = player.play(scenario_of(seed));
    ASSERT_FALSE(played.violation) << "seed " << seed << ": " << told(played) << "\n" << write_scenario(scenario_of(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(From, Schedules, testing::Values(1, 1001, 2001, 3001));

TEST(Simulation, SeedsThatOnceBrokeHold) {
  Player player;
  // 512: a gate that fails after a gate-stopped run. 268208: a person pushes while a push that the forge refuses for good is on record.
  // 356946, 652020: a run that vanished before the answer to its dispatch was read. 984932: the calendar is set back by an hour while a label waits.
  for (const std::int64_t seed : {512, 268208, 356946, 652020, 984932}) {
    const Played played = player.play(scenario_of(seed));
    EXPECT_FALSE(played.violation) << "seed " << seed << ": " << told(played);
  }
}

TEST(Simulation, ADatabaseFileThatIsOpenedAgainAfterEachCrashGivesTheSameHistory) {
  const std::filesystem::path memory = "/dev/shm";
  const auto folder = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  const auto file = folder / fmt::format("pawl-sim-{}.db", ::getpid());
  Player player;
  for (std::int64_t seed = 1; seed <= 40; ++seed) {
    const Played in_memory = player.play(scenario_of(seed)), on_disk = player.play(scenario_of(seed), {.file = file});
    EXPECT_FALSE(on_disk.violation) << "seed " << seed << ": " << told(on_disk);
    EXPECT_EQ(in_memory.hash, on_disk.hash) << "seed " << seed;
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + end);
}

TEST(Simulation, TheSameScenarioGivesTheSameHistory) {
  Player one, two;
  std::map<std::uint64_t, std::string> histories;
  for (std::int64_t seed = 5000; seed < 5100; ++seed) {
    std::string history;
    PlayOptions traced;
    traced.trace = [&](const std::string& line) { history += line + "\n"; };
    const Played first = one.play(scenario_of(seed), traced);
    EXPECT_EQ(first.hash, two.play(scenario_of(seed)).hash) << seed;
    // Faults may fall behind the end: then two scenarios have one history, and only then one hash.
    const auto [known, fresh] = histories.emplace(first.hash, history);
    EXPECT_EQ(known->second, history) << seed;
  }
  EXPECT_GT(histories.size(), 60u);
}

TEST(Simulation, AScenarioSurvivesItsFile) {
  const Scenario scenario = scenario_of(77);
  const auto back = read_scenario(write_scenario(scenario), "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(write_scenario(*back), write_scenario(scenario));
}

/// Every planted fault is caught, by the invariant that forbids it, and what caught it shrinks to a few lines.
class PlantedFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(PlantedFaults, IsCaught) {
  const PlantedFault& fault = GetParam();
  Player player;
  for (std::int64_t seed = 1; seed <= 3000; ++seed) {
    const Scenario scenario = scenario_of(seed);
    const Played played = player.play(scenario, fault.options);
    if (!played.violation) continue;
    EXPECT_TRUE(fault.caught_by.contains(played.violation->number)) << "seed " << seed << ": " << told(played);
    const Scenario small = shrink(player, scenario, fault.options, played.violation->number);
    EXPECT_LE(small.faults.size(), 3u) << write_scenario(small);
    const Played again = player.play(small, fault.options);
    ASSERT_TRUE(again.violation);
    EXPECT_EQ(again.violation->number, played.violation->number);
    EXPECT_FALSE(player.play(small).violation) << "the shipped machine breaks too: " << told(player.play(small));
    fmt::print("  {:<34} seed {:>4}: invariant {}: {}\n", fault.name, seed, played.violation->number, played.violation->text);
    return;
  }
  FAIL() << fault.name << " was not caught";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedFaults, testing::ValuesIn(planted_faults()), [](const auto& instance) {
  std::string name = instance.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
});

TEST(Stop, ClosingTheRequestWorksInEveryStateFromDraftToReadying) {
  Player player;
  for (const CloseCase& where : close_cases()) {
    const Closed closed = close_in(player, where);
    ASSERT_TRUE(closed.struck) << where.name();
    ASSERT_FALSE(closed.played.violation) << where.name() << ": " << told(closed.played);
    EXPECT_EQ(closed.played.candidate->outcome, model::Outcome::kStopped) << where.name();
    EXPECT_EQ(closed.live_runs, 0) << where.name();
    EXPECT_TRUE(closed.branch_gone) << where.name();
    EXPECT_EQ(closed.receipts, 1) << where.name();
    EXPECT_GE(closed.reaction_s, 0) << where.name();
    EXPECT_LE(closed.reaction_s, where.parked ? 32 : 2) << where.name();  // the next look
  }
}

TEST(Stop, ClosingDuringCleanupKeepsTheOutcomeAndLeavesNothing) {
  Player player;
  for (const State state : {State::kStopping, State::kCancelling, State::kClosing}) {
    const Closed closed = close_in(player, {state, false, std::vector<Fate>(4, Fate::kSameFailure)});
    ASSERT_TRUE(closed.struck) << codec::enum_text(state);
    ASSERT_FALSE(closed.played.violation) << told(closed.played);
    EXPECT_EQ(closed.played.candidate->outcome, model::Outcome::kFailed);  // it was ending for a reason of its own
    EXPECT_EQ(closed.live_runs, 0);
    EXPECT_TRUE(closed.branch_gone);
  }
}

TEST(Parking, FiftyCyclesKeepNumbersRisingAndCommentsBounded) {
  // Every run is preempted twice and fails then: many sessions, few comments.
  Scenario scenario;
  scenario.fates.assign(60, Fate::kOwnFailure);
  Player player;
  std::int64_t comments = 0, sessions = 0;
  player.on_step = [&](Outside& outside, const control::Candidate& c) {
    comments = static_cast<std::int64_t>(outside.all_comments().size());
    EXPECT_GE(c.session, sessions);
    sessions = c.session;
  };
  const Played played = player.play(scenario);
  ASSERT_FALSE(played.violation) << told(played);
  EXPECT_EQ(played.candidate->reason, "repairs-exhausted");
  EXPECT_EQ(played.candidate->repairs, 5);
  EXPECT_LE(comments, 3 * sessions + 4);
}

/// Label off, main's bytes, proofs, capacity, label on: each pair of neighbours, swapped, breaks something.
TEST(MainMoved, EachSwappedPairOfStepsIsCaught) {
  Player player;
  for (const PlantedFault& swapped : swapped_maintenance()) {
    std::optional<Played> caught;
    // Wherever main moves, the shipped order holds; the swapped one must break at one place at least.
    for (const State state : {State::kSmokeRunning, State::kChangelog, State::kFinalPreflight, State::kFinalGate, State::kFinalDispatching}) {
      for (std::int64_t at = 0; at < 14; ++at) {
        Scenario scenario;
        scenario.faults = {{at, FaultKind::kMainMoves, state}};
        const Played shipped = player.play(scenario);
        ASSERT_FALSE(shipped.violation) << codec::enum_text(state) << " " << at << ": " << told(shipped);
        const Played played = player.play(scenario, swapped.options);
        if (played.violation && !caught) caught = played;
      }
    }
    ASSERT_TRUE(caught) << swapped.name;
    EXPECT_TRUE(swapped.caught_by.contains(caught->violation->number)) << swapped.name << ": " << told(*caught);
    fmt::print("  {:<40} invariant {}: {}\n", swapped.name, caught->violation->number, caught->violation->text);
  }
}

}  // namespace
}  // namespace pawl::sim
