#include "engine_law/fleet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine_law/simulation.h"

namespace pawl::engine_law {
namespace {

Deployment plain() {
  Deployment d;
  d.law.decode_base_ms = 10;
  d.law.decode_per_seq_ms = 1;
  d.law.prefill_tok_per_ms = 10;
  d.law.kv_tokens = 100'000;
  return d;
}

struct Got {
  double first_ms = 0, last_ms = 0;
  std::int64_t tokens = 0;
};

std::map<std::int64_t, Got> run_dry(Fleet& fleet) {
  std::map<std::int64_t, Got> got;
  while (const auto due = fleet.next()) {
    const auto event = fleet.advance(*due);
    if (!event) break;
    for (const TokenRun& t : event->iteration->tokens) {
      Got& g = got[t.id];
      EXPECT_EQ(t.index, g.tokens);
      if (t.index == 0) g.first_ms = millis_of(event->at.since_boot);
      g.tokens += t.count;
      g.last_ms = millis_of(event->at.since_boot);
    }
  }
  return got;
}

TEST(Fleet, RequestsAreSharedOutOverTheRanks) {
  Deployment d = plain();
  d.ranks = 2;
  Fleet fleet(d, 1);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(fleet.submit({i, 100, 11, 11}, MonoTime{}));
  const auto got = run_dry(fleet);
  for (const auto& [id, g] : got) EXPECT_EQ(g.tokens, 11) << id;
  // Two a rank: the first of each rank is prefilled alone in 10 ms, as if the other rank were not there.
  EXPECT_NEAR(got.at(0).first_ms, 10, 1e-6);
  EXPECT_NEAR(got.at(1).first_ms, 10, 1e-6);
}

TEST(Fleet, InLockstepTheSlowestRankHoldsUpAll) {
  for (const bool lockstep : {false, true}) {
    Deployment d = plain();
    d.ranks = 2;
    d.lockstep = lockstep;
    Fleet fleet(d, 1);
    fleet.set_slow_rank(1, 3);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(fleet.submit({i, 100, 101, 101}, MonoTime{}));
    const auto got = run_dry(fleet);
    const double fast = got.at(0).last_ms - got.at(0).first_ms, slow = got.at(1).last_ms - got.at(1).first_ms;
    EXPECT_NEAR(slow, 100 * 33, 40);
    EXPECT_NEAR(fast, lockstep ? 100 * 33 : 100 * 11, 40);
  }
}

TEST(Fleet, APrefillPoolKeepsDecodingSmoothAndTheTransferTakesItsTime) {
  Deployment d = plain();
  d.prefill = PrefillPool{1, d.law, 5, 100};
  Fleet fleet(d, 1);
  ASSERT_TRUE(fleet.submit({1, 1000, 51, 51}, MonoTime{}));
  ASSERT_TRUE(fleet.submit({2, 1000, 1, 1}, MonoTime{}));
  const auto got = run_dry(fleet);
  EXPECT_NEAR(got.at(1).first_ms, 100 + 5 + 10, 1e-6);  // prefill, then 1,000 tokens at 100 a ms
  EXPECT_NEAR(got.at(2).first_ms, 200 + 5 + 10, 1e-6);
  EXPECT_NEAR(got.at(1).last_ms - got.at(1).first_ms, 50 * 11, 1e-6);  // the other prefill, elsewhere, adds nothing
  EXPECT_EQ(got.at(1).tokens, 51);
  EXPECT_EQ(fleet.running() + fleet.waiting(), 0);
}

TEST(Fleet, ACancelledRequestIsForgottenWhereverItIs) {
  Deployment d = plain();
  d.prefill = PrefillPool{1, d.law, 5, 100};
  for (const int steps : {0, 1, 2, 5}) {
    Fleet fleet(d, 1);
    ASSERT_TRUE(fleet.submit({1, 100, 20, 20}, MonoTime{}));
    for (int i = 0; i < steps; ++i) static_cast<void>(fleet.advance(*fleet.next()));
    fleet.cancel(1);
    EXPECT_EQ(fleet.running() + fleet.waiting(), 0) << steps;
    EXPECT_EQ(fleet.held_tokens(), 0) << steps;
  }
}

TEST(Fleet, LatenessDoesNotAddUpUnlessItIsHopeless) {
  Fleet fleet(plain(), 1);
  ASSERT_TRUE(fleet.submit({1, 100, 20, 20}, MonoTime{}));
  ASSERT_TRUE(fleet.advance(MonoTime{Millis{13}}, Millis{50}));  // due at 10
  EXPECT_EQ(*fleet.next(), (MonoTime{Millis{21}}));
  ASSERT_TRUE(fleet.advance(MonoTime{Millis{500}}, Millis{50}));
  EXPECT_EQ(*fleet.next(), (MonoTime{Millis{511}}));
}

TEST(Simulation, AClosedLoopOfEqualRequestsIsWhatTheLawSays) {
  const Outcome got = simulate(plain(), {1, 10, 100, 11, 1, 1});
  EXPECT_EQ(got.requests, 10);
  EXPECT_NEAR(got.ttft_mean_ms, 10, 1e-6);
  EXPECT_NEAR(got.tpot_mean_ms, 11, 1e-6);
  EXPECT_NEAR(got.duration_s, 10 * 0.120, 1e-6);
  EXPECT_NEAR(got.output_tok_s, 11 / 0.120, 1e-6);
}

TEST(Law, ScalesTimesByAmdahlAndTheCacheByWhatTheWeightsLeave) {
  Law law = plain().law;
  const Scaling scaling{0.5, 0.5, 0.1};
  const Law four = scaled(law, scaling, 2, 4, 1, 1);
  EXPECT_NEAR(four.decode_base_ms, 10 * 0.75, 1e-9);
  EXPECT_EQ(four.kv_tokens, std::llround(100'000 * 3.5 / 1.5));
  EXPECT_EQ(scaled(law, {0.5, 2.5, 0}, 4, 2, 1, 1).kv_tokens, 0);
  EXPECT_NEAR(scaled(law, scaling, 2, 2, 1, 4).decode_per_seq_ms, 1.21, 1e-9);
}

}  // namespace
}  // namespace pawl::engine_law
