#include "control/decide.h"

#include <gtest/gtest.h>

#include <set>

#include "codec/describe.h"

namespace pawl::control {
namespace {

using E = EventKind;
using C = CommandKind;

Candidate fresh() {
  Candidate c;
  c.id = "a-b";
  c.recipe = "demo";
  return c;
}

/// Feeds events one after the other; each must lead somewhere.
Candidate after(Candidate c, const std::vector<Event>& events, std::vector<Command>* last = nullptr) {
  for (const Event& event : events) {
    const Decision d = decide(c, event);
    EXPECT_FALSE(d.ignored) << codec::enum_text(c.state) << " on " << codec::enum_text(event.kind);
    c = d.candidate;
    if (last != nullptr) *last = d.commands;
  }
  return c;
}

const std::vector<Event> kToSmokeRun{
    {.kind = E::kSessionStarted}, {.kind = E::kPlanProposed},   {.kind = E::kEditPushed, .commit = "h1", .detail = "base"}, {.kind = E::kCrOpened, .number = 1},
    {.kind = E::kBaselineReady},  {.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .commit = "h1", .run = 7}};
const std::vector<Event> kToFinalRun{{.kind = E::kRunSucceeded, .run = 7},
                                     {.kind = E::kEvidenceAccepted},
                                     {.kind = E::kGatePassed, .commit = "h2"},
                                     {.kind = E::kGatePassed},
                                     {.kind = E::kCapacityPassed},
                                     {.kind = E::kRunDispatched, .commit = "h2", .run = 8}};

TEST(Decide, TheHappyPathEndsValidatedWithAReceipt) {
  std::vector<Command> last;
  Candidate c = after(fresh(), kToSmokeRun);
  c = after(c, kToFinalRun);
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
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].kind, C::kPostReceipt);
}

TEST(Decide, TwoFailedCapacityChecksDefer) {
  Candidate c = after(fresh(), {kToSmokeRun.begin(), kToSmokeRun.begin() + 5});
  c = after(c, {{.kind = E::kCapacityFailed}});
  EXPECT_EQ(c.state, State::kSmokeGate);
  c = after(c, {{.kind = E::kCapacityFailed}, {.kind = E::kReceiptPosted}, {.kind = E::kRunsEnded}, {.kind = E::kRequestClosed}});
  EXPECT_EQ(c.state, State::kClosed);
  EXPECT_EQ(c.outcome, model::Outcome::kCapacityDeferred);
}

TEST(Decide, AStopIsTakenInEveryStateThatIsNotEndingAlready) {
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<State>>([](auto d) {
    Candidate c = fresh();
    c.state = d.value;
    const Decision decision = decide(c, {.kind = E::kStopRequested});
    const bool ending = terminal(d.value) || d.value == State::kStopping || d.value == State::kCancelling || d.value == State::kClosing;
    EXPECT_EQ(decision.ignored, ending) << codec::enum_text(d.value);
    if (!ending) {
      EXPECT_EQ(decision.candidate.state, State::kStopping);
      EXPECT_EQ(decision.candidate.outcome, model::Outcome::kStopped);
      EXPECT_TRUE(decision.abandons_pending);
    }
  });
}

TEST(Decide, StaleAndUnexpectedEventsChangeNothing) {
  const Candidate c = after(fresh(), kToSmokeRun);
  EXPECT_TRUE(decide(c, {.kind = E::kRunSucceeded, .version = c.version - 1}).ignored);
  EXPECT_TRUE(decide(c, {.kind = E::kReadyConfirmed}).ignored);
  EXPECT_EQ(decide(c, {.kind = E::kReadyConfirmed}).candidate.version, c.version);
}

TEST(Decide, RepairsAreChargedUpToTheBudget) {
  Candidate c = after(fresh(), kToSmokeRun);
  for (int n = 1; n <= kRepairsMax; ++n) {
    c = after(c, {{.kind = E::kRunFailed, .detail = "unrecognized arguments"}, {.kind = E::kPlanProposed}});
    EXPECT_EQ(c.state, State::kRepairing);
    EXPECT_EQ(c.repairs, n);
    c = after(c, {{.kind = E::kEditPushed, .commit = "r"}, {.kind = E::kCapacityPassed}, {.kind = E::kRunDispatched, .commit = "r", .run = 10 + n}});
    EXPECT_EQ(c.attempts.back().kind, AttemptKind::kRepair);
    EXPECT_EQ(c.attempts.back().repair, n);
  }
  c = after(c, {{.kind = E::kRunFailed}, {.kind = E::kPlanProposed}});
  EXPECT_EQ(c.state, State::kStopping);
  EXPECT_EQ(c.outcome, model::Outcome::kFailed);
  EXPECT_EQ(c.reason, "repairs-exhausted");
}

TEST(Table, EveryStateCanBeReachedAndLeft) {
  std::set<State> from, to{State::kClaimed};
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

TEST(Decide, TheSameDecisionGivesTheSameKeys) {
  const Decision a = decide(fresh(), {.kind = E::kSessionStarted}), b = decide(fresh(), {.kind = E::kSessionStarted});
  EXPECT_EQ(a.commands[0].key, "a-b/1/research");
  EXPECT_EQ(a.commands[0].key, b.commands[0].key);
}

TEST(Candidate, RoundTripsThroughJson) {
  const Candidate c = after(fresh(), kToSmokeRun);
  const auto back = codec::from_json<Candidate>(codec::to_json(c), "candidate");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(codec::to_json(*back), codec::to_json(c));
}

}  // namespace
}  // namespace pawl::control
