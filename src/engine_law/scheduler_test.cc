#include "engine_law/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace pawl::engine_law {
namespace {

/// 10 ms + 1 ms a sequence, 10 prompt tokens a ms, no jitter.
Law plain_law() {
  Law law;
  law.decode_base_ms = 10;
  law.decode_per_seq_ms = 1;
  law.prefill_tok_per_ms = 10;
  law.chunk_tokens = 1000;
  law.kv_tokens = 10'000;
  return law;
}

struct Finished {
  double first_ms = 0, last_ms = 0;
  std::int64_t tokens = 0;
};

/// Runs until there is no work left, on a clock that obeys.
std::map<std::int64_t, Finished> run_dry(Scheduler& scheduler, MonoTime& now) {
  std::map<std::int64_t, Finished> done;
  Iteration step;
  while (scheduler.next(now, step)) {
    now = now + step.duration;
    for (const TokenRun& token : step.tokens) {
      Finished& f = done[token.id];
      EXPECT_EQ(token.index, f.tokens);
      if (token.index == 0) f.first_ms = millis_of(now.since_boot);
      f.last_ms = millis_of(now.since_boot);
      f.tokens += token.count;
    }
  }
  return done;
}

TEST(Scheduler, OneRequestTakesItsPrefillAndOneStepAToken) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 500, 11, 11}, now));
  const auto done = run_dry(s, now);
  EXPECT_NEAR(done.at(1).first_ms, 50, 1e-6);
  EXPECT_NEAR(done.at(1).last_ms, 50 + 10 * 11, 1e-6);
  EXPECT_EQ(done.at(1).tokens, 11);
  EXPECT_EQ(s.held_tokens(), 0);
}

TEST(Scheduler, ABatchDecodesTogetherAndPrefillsQueue) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(s.submit({i, 1000, 5, 5}, now));
  const auto done = run_dry(s, now);
  EXPECT_NEAR(done.at(0).first_ms, 100, 1e-6);
  EXPECT_NEAR(done.at(1).first_ms, 100 + 100 + 11, 1e-6);  // its own prefill and a decode step of the first
  EXPECT_NEAR(done.at(2).first_ms, 211 + 100 + 12, 1e-6);
  for (const auto& [id, f] : done) EXPECT_EQ(f.tokens, 5) << id;
}

TEST(Scheduler, ALongPromptIsPrefilledInChunks) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 2500, 1, 1}, now));
  std::vector<std::int64_t> chunks;
  Iteration step;
  while (s.next(now, step)) {
    now = now + step.duration;
    chunks.push_back(step.prefill_tokens);
  }
  EXPECT_EQ(chunks, (std::vector<std::int64_t>{1000, 1000, 500}));
  EXPECT_NEAR(millis_of(now.since_boot), 250, 1e-6);
}

TEST(Scheduler, ARequestWaitsUntilItFitsTheKvCache) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  EXPECT_FALSE(s.submit({9, 9'000, 1, 1'001}, now));
  ASSERT_TRUE(s.submit({1, 6'000, 10, 10}, now));
  ASSERT_TRUE(s.submit({2, 5'000, 10, 10}, now));
  ASSERT_TRUE(s.submit({3, 10, 10, 10}, now));
  Iteration first;
  ASSERT_TRUE(s.next(now, first));
  EXPECT_EQ(s.running(), 1);
  EXPECT_EQ(s.waiting(), 2);  // the small one does not overtake
  const auto done = run_dry(s, now);
  EXPECT_GT(done.at(2).first_ms, done.at(1).last_ms);
  EXPECT_EQ(done.at(3).tokens, 10);
}

TEST(Scheduler, MaxRunningLimitsTheBatch) {
  Scheduler s(plain_law(), 2, 1);
  MonoTime now;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(s.submit({i, 10, 4, 4}, now));
  std::int64_t most = 0;
  Iteration step;
  while (s.next(now, step)) {
    now = now + step.duration;
    most = std::max({most, step.decode_batch, s.running()});
  }
  EXPECT_EQ(most, 2);
}

TEST(Scheduler, AdmissionTakesItsTimeAndBlocksNobody) {
  Law law = plain_law();
  law.admit_ms = 30;
  Scheduler s(law, 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 2, 2}, now));
  Iteration wait;
  ASSERT_TRUE(s.next(now, wait));
  EXPECT_TRUE(wait.tokens.empty());
  EXPECT_EQ(wait.duration, Nanos{30'000'000});
}

TEST(Scheduler, ACancelledRequestGivesItsRoomBack) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 50, 50}, now));
  ASSERT_TRUE(s.submit({2, 100, 50, 50}, now));
  Iteration first;
  ASSERT_TRUE(s.next(now, first));
  s.cancel(1);
  s.cancel(2);
  EXPECT_EQ(s.held_tokens(), 0);
  EXPECT_FALSE(s.next(now, first));
}

TEST(Scheduler, PrefillAloneStopsDecodingWhileItLasts) {
  Law law = plain_law();
  law.mixed = false;
  Scheduler s(law, 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 3, 3}, now));
  Iteration step;
  ASSERT_TRUE(s.next(now, step));
  ASSERT_TRUE(s.submit({2, 500, 1, 1}, now));
  ASSERT_TRUE(s.next(now, step));
  EXPECT_EQ(step.decode_batch, 0);
  EXPECT_EQ(step.prefill_tokens, 500);
  EXPECT_EQ(step.duration, Millis{50});
  ASSERT_TRUE(s.next(now, step));
  EXPECT_EQ(step.decode_batch, 1);
}

TEST(Scheduler, WithoutReservationTheNewestIsPreemptedRecomputedAndFinishes) {
  Law law = plain_law();
  law.reserve_share = 0;
  law.kv_tokens = 260;
  Scheduler s(law, 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 100, 100}, now));
  ASSERT_TRUE(s.submit({2, 100, 100, 100}, now));
  std::int64_t computed = 0, most = 0;
  std::map<std::int64_t, std::int64_t> got;
  Iteration step;
  while (s.next(now, step)) {
    now = now + step.duration;
    computed += step.prefill_tokens;
    most = std::max(most, s.held_tokens());
    for (const TokenRun& t : step.tokens) {
      EXPECT_EQ(t.index, got[t.id]);
      got[t.id] += t.count;
    }
  }
  EXPECT_EQ(s.preemptions(), 1);
  EXPECT_EQ(got, (std::map<std::int64_t, std::int64_t>{{1, 100}, {2, 100}}));
  EXPECT_LE(most, 260);
  EXPECT_EQ(computed, 200 + 130);  // its prompt and the 30 tokens that it had when the cache was full
}

TEST(Scheduler, ASharedBeginningIsComputedOnce) {
  Law law = plain_law();
  law.block_tokens = 100;
  Scheduler s(law, 100, 1);
  MonoTime now;
  const std::vector<std::uint64_t> chain{11, 12, 13};
  Iteration step;
  ASSERT_TRUE(s.submit({1, 350, 2, 2, 0, chain}, now));
  ASSERT_TRUE(s.next(now, step));
  EXPECT_EQ(step.prefill_tokens, 350);
  ASSERT_TRUE(s.next(now, step));
  EXPECT_EQ(s.held_tokens(), 0);
  EXPECT_EQ(s.evictable_tokens(), 300);
  ASSERT_TRUE(s.submit({2, 350, 2, 2, 0, {11, 12, 99}}, now));
  ASSERT_TRUE(s.submit({3, 300, 2, 2, 0, chain}, now));
  ASSERT_TRUE(s.next(now, step));
  EXPECT_EQ(step.cached_tokens, 200 + 200);  // of a prompt that is there whole, the last block is computed: a token must follow from it
  EXPECT_EQ(step.prefill_tokens, 150 + 100);
  ASSERT_EQ(step.tokens.size(), 2u);
  EXPECT_EQ(step.tokens[0].cached, 200);
  s.flush_cache();
  ASSERT_TRUE(s.next(now, step));
  s.flush_cache();
  EXPECT_EQ(s.evictable_tokens() + s.held_tokens(), 0);
}

TEST(Scheduler, AcceptedDraftsShortenTheAnswerByTheirExpectedNumber) {
  Law law = plain_law();
  law.speculation = Speculation{3, 0.7, 0, 0};
  Scheduler s(law, 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 10, 4000, 4000, 5}, now));
  Iteration step;
  double steps = 0;
  while (s.next(now, step)) {
    steps += 1;
    for (const TokenRun& t : step.tokens) EXPECT_LE(t.count, 4);
  }
  EXPECT_NEAR(4000 / steps, law.speculation->expected_tokens(), 0.1);
  EXPECT_NEAR(law.speculation->expected_tokens(), 1 + 0.7 + 0.49 + 0.343, 1e-12);
}

TEST(Scheduler, JitterIsBoundedAndTheSameForTheSameSeed) {
  Law law = plain_law();
  law.jitter = 0.05;
  std::vector<Nanos> runs[2];
  for (auto& durations : runs) {
    Scheduler s(law, 100, 7);
    MonoTime now;
    ASSERT_TRUE(s.submit({1, 1, 100, 100}, now));
    Iteration first;
    ASSERT_TRUE(s.next(now, first));
    while (s.next(now, first)) durations.push_back(first.duration);
  }
  EXPECT_EQ(runs[0], runs[1]);
  for (const Nanos d : runs[0]) EXPECT_NEAR(millis_of(d), 11, 11 * 0.05);
  EXPECT_NE(runs[0][0], runs[0][1]);
}

}  // namespace
}  // namespace pawl::engine_law
