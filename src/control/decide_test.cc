#include "control/decide.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "codec/describe_text.h"
#include "control/iso_time.h"
#include "control/replay.h"
#include "control/table_text.h"

namespace pawl::control {
namespace {

using E = EventKind;
using C = CommandKind;

constexpr WallTime kNow{Seconds{1'000'000}};

Candidate fresh() {
  Candidate c;
  c.id = "a-b";
  c.recipe = "demo";
  return c;
}

/// Feeds events one after the other; each must lead somewhere.
Candidate after(Candidate c, const std::vector<Event>& events, std::vector<Command>* last = nullptr) {
  for (const Event& event : events) {
    const Decision d = decide(c, event, kNow);
    EXPECT_FALSE(d.ignored) << codec::enum_text(c.state) << " on " << codec::enum_text(event.kind);
    EXPECT_EQ(charged_repairs(d.candidate), d.candidate.repairs);
    c = d.candidate;
    if (last != nullptr) *last = d.commands;
  }
  return c;
}

const std::vector<Event> kToSmokeGate{{.kind = E::kTick},
                                      {.kind = E::kOverlapClear},
                                      {.kind = E::kBaselineReady},
                                      {.kind = E::kCapacityPassed},
                                      {.kind = E::kClaimWon},
                                      {.kind = E::kSessionStarted},
                                      {.kind = E::kPlanProposed},
                                      {.kind = E::kCapacityPassed},
                                      {.kind = E::kEditPushed, .commit = "h1", .detail = "base"},
                                      {.kind = E::kCrOpened, .number = 1},
                                      {.kind = E::kBaselineReady},
                                      {.kind = E::kBodyWritten}};
const std::vector<Event> kToSmokeRun{{.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .commit = "h1", .run = 7}};
const std::vector<Event> kToFinalRun{{.kind = E::kRunSucceeded, .run = 7},
                                     {.kind = E::kEvidenceAccepted},
                                     {.kind = E::kGatePassed, .commit = "h2"},
                                     {.kind = E::kGatePassed},
                                     {.kind = E::kCapacityPassed},
                                     {.kind = E::kRunDispatched, .commit = "h2", .run = 8}};

Candidate at_smoke_run() { return after(after(fresh(), kToSmokeGate), kToSmokeRun); }

TEST(Decide, TheHappyPathEndsValidatedWithAProofAndAReceipt) {
  std::vector<Command> last;
  Candidate c = after(at_smoke_run(), kToFinalRun);
  c = after(c, {{.kind = E::kRunSucceeded, .run = 8}, {.kind = E::kEvidenceAccepted}, {.kind = E::kReportWritten}, {.kind = E::kReadyConfirmed}}, &last);
  EXPECT_EQ(c.state, State::kValidated);
  EXPECT_EQ(c.outcome, model::Outcome::kValidated);
  EXPECT_EQ(c.repairs, 0);
  EXPECT_EQ(c.runs, (std::vector<std::int64_t>{7, 8}));
  ASSERT_EQ(c.attempts.size(), 2u);
  EXPECT_EQ(c.attempts[0].status, AttemptStatus::kPassed);
  EXPECT_EQ(c.attempts[1].kind, AttemptKind::kFinal);
  EXPECT_EQ(c.head, "h2");
  EXPECT_EQ(c.base, "base");
  ASSERT_TRUE(c.proof);
  EXPECT_EQ(c.proof->run, 8);
  ASSERT_GE(last.size(), 3u);
  EXPECT_EQ(last[0].kind, C::kCollectRuns);
  EXPECT_EQ(last[1].kind, C::kPostReceipt);
}

TEST(Decide, TwoFailedCapacityChecksDefer) {
  std::vector<Command> last;
  Candidate c = after(fresh(), kToSmokeGate);
  c = after(c, {{.kind = E::kCapacityFailed}}, &last);
  EXPECT_EQ(c.state, State::kSmokeGate);
  EXPECT_EQ(last[0].due, 1'000'000 + c.rules.capacity_pause_s);
  c = after(c, {{.kind = E::kCapacityFailed}, {.kind = E::kReceiptPosted}, {.kind = E::kRunsEnded}, {.kind = E::kRequestClosed}});
  EXPECT_EQ(c.state, State::kClosed);
  EXPECT_EQ(c.outcome, model::Outcome::kCapacityDeferred);
}

TEST(Decide, ACheckpointedDeferralWaitsWithItsEvidenceAndClosesInTheEnd) {
  Candidate c = at_smoke_run();
  c.rules.checkpointed_deferral = true;
  c.rules.deferral_checks = 2;
  c = after(c, {kToFinalRun.begin(), kToFinalRun.begin() + 4});
  std::vector<Command> last;
  c = after(c, {{.kind = E::kCapacityFailed}, {.kind = E::kCapacityFailed}}, &last);
  EXPECT_EQ(c.state, State::kFinalGate);
  ASSERT_TRUE(c.parked);
  EXPECT_EQ(last.back().due, 1'000'000 + c.rules.deferral_pause_s);
  const Candidate waiting = c;
  c = after(c, {{.kind = E::kCapacityPassed}}, &last);
  EXPECT_EQ(c.state, State::kFinalDispatching);
  EXPECT_EQ(c.session, waiting.session + 1);
  EXPECT_EQ(last[0].kind, C::kPostResumed);
  c = after(waiting, {{.kind = E::kCapacityFailed}, {.kind = E::kCapacityFailed}, {.kind = E::kCapacityFailed}, {.kind = E::kCapacityFailed}});
  EXPECT_EQ(c.outcome, model::Outcome::kCapacityDeferred);
}

TEST(Decide, AStopIsTakenInEveryStateThatIsNotEndingAlready) {
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>([](auto d) {
    Candidate c = fresh();
    c.state = d.value;
    const Decision decision = decide(c, {.kind = E::kStopRequested}, kNow);
    const bool over = terminal(d.value) || ending(d.value);
    EXPECT_EQ(decision.ignored, over) << codec::enum_text(d.value);
    if (!over) {
      EXPECT_EQ(decision.candidate.state, State::kStopping);
      EXPECT_EQ(decision.candidate.outcome, model::Outcome::kStopped);
      EXPECT_TRUE(decision.abandons_pending);
    }
  });
}

TEST(Decide, StaleAndUnexpectedEventsChangeNothing) {
  const Candidate c = at_smoke_run();
  EXPECT_TRUE(decide(c, {.kind = E::kRunSucceeded, .version = c.version - 1}, kNow).stale);
  EXPECT_TRUE(decide(c, {.kind = E::kReadyConfirmed}, kNow).ignored);
  EXPECT_EQ(decide(c, {.kind = E::kReadyConfirmed}, kNow).candidate.version, c.version);
}

TEST(Decide, RepairsAreChargedUpToTheBudget) {
  Candidate c = at_smoke_run();
  const auto failed = [](int n) {
    return Event{.kind = E::kRunFailed, .detail = "unrecognized arguments", .signature = std::to_string(n), .cls = RunClass::kOwnFailure};
  };
  for (int n = 1; n <= 5; ++n) {
    c = after(c, {failed(n), {.kind = E::kPlanProposed}});
    EXPECT_EQ(c.state, State::kRepairing);
    EXPECT_EQ(c.repairs, n);
    c = after(c, {{.kind = E::kEditPushed, .commit = "r"}, {.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .commit = "r", .run = 10 + n}});
    EXPECT_EQ(c.attempts.back().kind, AttemptKind::kRepair);
    EXPECT_EQ(c.attempts.back().repair, n);
  }
  c = after(c, {failed(9), {.kind = E::kPlanProposed}});
  EXPECT_EQ(c.state, State::kStopping);
  EXPECT_EQ(c.outcome, model::Outcome::kFailed);
  EXPECT_EQ(c.reason, "repairs-exhausted");
}

TEST(Decide, TheSameFailureTwiceEndsTheCandidate) {
  Candidate c = at_smoke_run();
  const Event failed{.kind = E::kRunFailed, .signature = "s", .cls = RunClass::kOwnFailure};
  c = after(c, {failed,
                {.kind = E::kPlanProposed},
                {.kind = E::kEditPushed, .commit = "r"},
                {.kind = E::kCapacityPassed},
                {.kind = E::kRunDispatched, .commit = "r", .run = 8},
                failed,
                {.kind = E::kPlanProposed}});
  EXPECT_EQ(c.reason, "same-failure");
  EXPECT_EQ(c.repairs, 1);
}

TEST(Decide, InfrastructureIsRetriedTwiceOnTheSameHeadWithoutCharge) {
  Candidate c = at_smoke_run();
  const Event lost{.kind = E::kRunFailed, .run = 7, .cls = RunClass::kInfrastructure};
  for (int n = 1; n <= 2; ++n) {
    c = after(c, {lost});
    EXPECT_EQ(c.state, State::kSmokeRunning);
    EXPECT_EQ(c.attempts.back().next, NextStep::kRetry);
    c = after(c, {{.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .commit = "h1", .run = 7, .number = n + 1}});
    EXPECT_EQ(c.attempts.back().kind, AttemptKind::kInfrastructureRetry);
    EXPECT_EQ(c.attempts.back().retry, n);
    EXPECT_EQ(c.attempts.back().head, "h1");
  }
  c = after(c, {lost});
  EXPECT_EQ(c.state, State::kDiagnosing);
  EXPECT_EQ(c.repairs, 0);
}

TEST(Decide, TakingMainsBytesIsChargedAsThePolicySays) {
  for (const bool charged : {false, true}) {
    Candidate c = after(at_smoke_run(), kToFinalRun);
    c.rules.rebase_charged = charged;
    std::vector<Command> last;
    c = after(c, {{.kind = E::kRunFailed, .reason = "stale-base", .cls = RunClass::kPolicyGate}}, &last);
    EXPECT_EQ(last[0].kind, C::kRemoveLabel);
    c = after(c, {{.kind = E::kMaintenance, .change = "main"}, {.kind = E::kGatePassed, .commit = "h3", .detail = "main2"}});
    EXPECT_EQ(c.state, State::kFinalPreflight);
    EXPECT_EQ(c.repairs, charged ? 1 : 0);
    EXPECT_EQ(c.base, "main2");
    EXPECT_EQ(c.attempts.back().status, charged ? AttemptStatus::kPassed : AttemptStatus::kFailed);
  }
}

TEST(Decide, ParkedSessionsAreNumberedAndPreemptedRunsNeedNone) {
  Candidate c = at_smoke_run();
  EXPECT_EQ(c.session, 1);
  std::vector<Command> last;
  c = after(c, {{.kind = E::kSessionParked, .run = 7}}, &last);
  ASSERT_TRUE(c.parked);
  EXPECT_EQ(last.back().kind, C::kWatchRun);
  EXPECT_EQ(last.back().due, 1'000'000 + c.rules.poll_s);
  const Candidate rerun = after(
      c, {{.kind = E::kRunFailed, .run = 7, .cls = RunClass::kPreempted}, {.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .run = 7, .number = 2}});
  EXPECT_TRUE(rerun.parked);
  EXPECT_EQ(rerun.session, 1);
  c = after(c, {{.kind = E::kWaitEnded}}, &last);
  EXPECT_FALSE(c.parked);
  EXPECT_EQ(c.session, 2);
  EXPECT_EQ(last[0].kind, C::kPostResumed);
}

TEST(Decide, ADeadSessionRaisesTheNumberAndKeepsWhatWasPending) {
  const Candidate c = at_smoke_run();
  const Decision d = decide(c, {.kind = E::kSessionEnded, .reason = "crash"}, kNow);
  EXPECT_EQ(d.candidate.session, 2);
  EXPECT_EQ(d.candidate.version, c.version);
  EXPECT_FALSE(d.abandons_pending);
  EXPECT_TRUE(d.overlay);
}

TEST(Table, EveryStateCanBeReachedAndLeft) {
  std::set<State> from, to{State::kDiscovered};
  for (const Transition& t : transition_table()) {
    from.insert(t.from);
    to.insert(t.to);
  }
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>([&](auto d) {
    EXPECT_TRUE(to.contains(d.value)) << codec::enum_text(d.value) << " cannot be reached";
    if (!terminal(d.value)) {
      EXPECT_TRUE(from.contains(d.value)) << codec::enum_text(d.value) << " cannot be left";
    }
  });
}

TEST(Table, NoRowIsHiddenBehindAnotherAndNoCommandComesTwiceInOne) {
  std::set<std::string> always;
  for (const Transition& t : transition_table()) {
    const std::string what = codec::enum_text(t.from) + " on " + codec::enum_text(t.on);
    EXPECT_FALSE(always.contains(what)) << what << " has a row behind the one without a condition";
    if (t.guard == Guard::kAlways) always.insert(what);
    std::set<C> kinds;
    for (const Step& step : t.commands) EXPECT_TRUE(kinds.insert(step.kind).second) << what;
  }
}

TEST(Table, TheDocumentationShowsTheTableAndTheDiagramThatAreBuiltIn) {
  std::ifstream file(PAWL_SOURCE_DIR "/docs/upgrade-loop.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("```text upgrade-table\n" + table_text() + "```"), std::string::npos) << "put the output of pawl upgrade table there";
  EXPECT_NE(text.str().find("```mermaid\n" + diagram_text() + "```"), std::string::npos) << "put the output of pawl upgrade table --diagram there";
}

TEST(Replay, TheSameEventsGiveTheSameCandidateAndAnotherOneIsNoticed) {
  Journal journal;
  journal.initial = fresh();
  Candidate c = fresh();
  std::vector<Event> events = kToSmokeGate;
  events.insert(events.end(), kToSmokeRun.begin(), kToSmokeRun.end());
  events.push_back({.kind = E::kReadyConfirmed});  // ignored
  for (Event event : events) {
    event.at = "2026-11-30T16:03:27Z";
    const Decision d = decide(c, event, *parse_iso_utc(event.at));
    journal.events.push_back({event.at, codec::enum_text(c.state), codec::enum_text(d.candidate.state), d.ignored, "", event});
    c = d.candidate;
  }
  journal.candidate = c;
  const auto same = replay(journal);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(same->agrees);
  EXPECT_EQ(same->steps.size(), events.size());
  EXPECT_NE(same->steps[0].why.find("rule 1"), std::string::npos);
  EXPECT_NE(same->steps.back().why.find("ignored"), std::string::npos);
  journal.events[4].event.kind = E::kClaimLost;
  EXPECT_FALSE(replay(journal)->agrees);
}

TEST(Decide, TheSameDecisionGivesTheSameKeys) {
  const Decision a = decide(fresh(), {.kind = E::kTick}, kNow), b = decide(fresh(), {.kind = E::kTick}, kNow);
  EXPECT_EQ(a.commands[0].key, "a-b/1/review-overlap");
  EXPECT_EQ(a.commands[0].key, b.commands[0].key);
}

TEST(Candidate, RoundTripsThroughJson) {
  const Candidate c = at_smoke_run();
  const auto back = codec::from_json<Candidate>(codec::to_json(c), "candidate");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(codec::to_json(*back), codec::to_json(c));
}

TEST(Record, IsWrittenAsItsTreeWouldBe) {
  Candidate c = at_smoke_run();
  c.detail = "a \"quoted\" text, two lines\n中文";
  c.outcome = model::Outcome::kFailed;
  c.rules.keep_branch = {model::Outcome::kFailed, model::Outcome::kUncertain};
  c.owned = {{.run = 3, .purpose = "final", .gpu_hours = 1.25}, {.run = 4}};
  c.parked = Parking{2, {3, 4}, "2026-11-30T16:03:27Z"};
  EXPECT_EQ(codec::described_text(c), codec::write_json(codec::to_json(c), codec::JsonForm::kCompactUtf8));
}

}  // namespace
}  // namespace pawl::control
