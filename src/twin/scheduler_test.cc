#include "twin/scheduler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl::twin {
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
  while (const auto step = scheduler.next(now)) {
    now = now + step->duration;
    for (const auto& token : step->tokens) {
      Finished& f = done[token.id];
      EXPECT_EQ(token.index, f.tokens);
      if (token.index == 0) f.first_ms = millis_of(now.since_boot);
      f.last_ms = millis_of(now.since_boot);
      ++f.tokens;
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
  EXPECT_EQ(s.resident_tokens(), 0);
  EXPECT_EQ(s.reserved_tokens(), 0);
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
  while (const auto step = s.next(now)) {
    now = now + step->duration;
    chunks.push_back(step->prefill_tokens);
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
  static_cast<void>(s.next(now));
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
  while (const auto step = s.next(now)) {
    now = now + step->duration;
    most = std::max({most, step->decode_batch, s.running()});
  }
  EXPECT_EQ(most, 2);
}

TEST(Scheduler, AdmissionTakesItsTimeAndBlocksNobody) {
  Law law = plain_law();
  law.admit_ms = 30;
  Scheduler s(law, 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 2, 2}, now));
  const auto wait = s.next(now);
  ASSERT_TRUE(wait);
  EXPECT_TRUE(wait->tokens.empty());
  EXPECT_EQ(wait->duration, Nanos{30'000'000});
}

TEST(Scheduler, ACancelledRequestGivesItsRoomBack) {
  Scheduler s(plain_law(), 100, 1);
  MonoTime now;
  ASSERT_TRUE(s.submit({1, 100, 50, 50}, now));
  ASSERT_TRUE(s.submit({2, 100, 50, 50}, now));
  static_cast<void>(s.next(now));
  s.cancel(1);
  s.cancel(2);
  EXPECT_EQ(s.reserved_tokens(), 0);
  EXPECT_EQ(s.resident_tokens(), 0);
  EXPECT_FALSE(s.next(now));
}

TEST(Scheduler, JitterIsBoundedAndTheSameForTheSameSeed) {
  Law law = plain_law();
  law.jitter = 0.05;
  std::vector<Nanos> runs[2];
  for (auto& durations : runs) {
    Scheduler s(law, 100, 7);
    MonoTime now;
    ASSERT_TRUE(s.submit({1, 1, 100, 100}, now));
    static_cast<void>(s.next(now));
    while (const auto step = s.next(now)) durations.push_back(step->duration);
  }
  EXPECT_EQ(runs[0], runs[1]);
  for (const Nanos d : runs[0]) EXPECT_NEAR(millis_of(d), 11, 11 * 0.05);
  EXPECT_NE(runs[0][0], runs[0][1]);
}

}  // namespace
}  // namespace pawl::twin
