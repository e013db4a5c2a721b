#include "posix/real_commands.h"

#include <gtest/gtest.h>

#include <thread>

namespace pawl::posix {
namespace {

Result<io::CommandOutput> shell(const std::string& script, Nanos limit = Seconds{20}, std::stop_token stop = {}) {
  return RealCommands().run({{"sh", "-c", script}, {{"GREETING", "hello"}}, "/", 1u << 20}, limit, std::move(stop));
}

TEST(RealCommandsTest, BothOutputsAndTheEndComeBackApart) {
  const auto output = shell("echo $GREETING; pwd; echo trouble >&2; exit 3");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->out, "hello\n/\n");
  EXPECT_EQ(output->err, "trouble\n");
  EXPECT_EQ(output->end.code, 3);
  const auto killed = shell("kill -9 $$");
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(killed->end.signal, 9);
}

TEST(RealCommandsTest, OutputsLargerThanAPipeDoNotBlock) {
  const auto output = shell("head -c 300000 /dev/zero >&2; head -c 400000 /dev/zero");
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->out.size(), 400000u);
  EXPECT_EQ(output->err.size(), 300000u);
}

TEST(RealCommandsTest, EachTroubleHasItsClass) {
  const auto missing = RealCommands().run({{"there-is-no-such-program"}, {}, {}, 100}, Seconds{5}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().cls, ErrorClass::kNotFound);
  const auto slow = shell("sleep 60 & wait", Millis{100});
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().cls, ErrorClass::kUnknownOutcome);
  const auto endless = shell("yes", Seconds{30});
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().cls, ErrorClass::kExhausted);
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  const auto stopped = shell("sleep 60", Seconds{30}, source.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().cls, ErrorClass::kCancelled);
}

}  // namespace
}  // namespace pawl::posix
