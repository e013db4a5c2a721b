#include "loadgen/session_run.h"

#include <gtest/gtest.h>

namespace pawl::loadgen {
namespace {

MonoTime at(std::int64_t ms) { return {Millis(ms)}; }

workload::Prompt turn(std::string text, std::vector<std::int64_t> parents = {}, std::int64_t think_ms = 0, bool continues = true) {
  workload::Prompt prompt;
  prompt.messages = {{"user", std::move(text)}};
  prompt.parents = std::move(parents);
  prompt.think_time = Millis(think_ms);
  prompt.continues = continues && !prompt.parents.empty();
  return prompt;
}

TEST(SessionRun, StartsEachTurnAfterTheReplyAndTheThinkTime) {
  SessionRun run(0, 10, {turn("a"), turn("b", {10}, 500), turn("c", {11}, 20)}, 0);
  const auto first = run.begin(at(100));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].ready, at(100));
  run.started(0);
  EXPECT_TRUE(run.needs_reply(0));
  EXPECT_FALSE(run.needs_reply(2));
  const auto second = run.ended(0, at(300), "A");
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].node, 1u);
  EXPECT_EQ(second[0].ready, at(800));
  run.started(1);
  EXPECT_EQ(run.ended(1, at(900), "B").at(0).ready, at(920));
  const std::vector<workload::Message> expected{{"user", "a"}, {"assistant", "A"}, {"user", "b"}, {"assistant", "B"}, {"user", "c"}};
  EXPECT_EQ(run.conversation(2), expected);
  run.started(2);
  EXPECT_FALSE(run.over());
  EXPECT_TRUE(run.ended(2, at(1000), "C").empty());
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.last_end(), at(1000));
}

TEST(SessionRun, StartsAJoiningRequestWhenTheLastParentEnds) {
  SessionRun run(0, 0, {turn("root"), turn("left", {0}, 0, false), turn("right", {0}, 5, false), turn("join", {1, 2}, 10, false)}, 0);
  EXPECT_EQ(run.begin(at(0)).size(), 1u);
  EXPECT_EQ(run.ended(0, at(10), {}).size(), 2u);
  run.started(1);
  run.started(2);
  EXPECT_TRUE(run.ended(2, at(50), {}).empty());
  const auto join = run.ended(1, at(30), {});
  ASSERT_EQ(join.size(), 1u);
  EXPECT_EQ(join[0].ready, at(60)) << "the latest end of the parents counts, not the last one reported";
}

TEST(SessionRun, SkipsTheRestAfterAFailure) {
  SessionRun run(0, 0, {turn("a"), turn("b", {0}), turn("c", {1})}, 0);
  run.begin(at(0));
  run.started(0);
  EXPECT_EQ(run.failed(0, at(9)), (std::vector<std::size_t>{1, 2}));
  EXPECT_TRUE(run.over());
  EXPECT_FALSE(run.is_due(1));
}

TEST(SessionRun, IsOverAfterGivingUpOnlyWhenWhatIsOutHasEnded) {
  SessionRun run(0, 0, {turn("a"), turn("b", {0})}, 0);
  run.begin(at(0));
  run.started(0);
  EXPECT_EQ(run.give_up(), (std::vector<std::size_t>{1}));
  EXPECT_FALSE(run.over());
  EXPECT_TRUE(run.ended(0, at(5), {}).empty());
  EXPECT_TRUE(run.over());
}

}  // namespace
}  // namespace pawl::loadgen
