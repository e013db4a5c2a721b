#include "playbook/playbook.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pawl::playbook {
namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Playbook shipped() {
  const std::filesystem::path data = std::filesystem::path(PAWL_SOURCE_DIR) / "data" / "playbook";
  auto book = Playbook::parse(slurp(data / "signatures.yaml"), slurp(data / "flags.yaml"));
  EXPECT_TRUE(book) << book.error().message;
  return std::move(*book);
}

TEST(Playbook, AnUnknownFlagIsRecognisedAndNamed) {
  const auto found = shipped().classify({"INFO: starting", "usage: launch_server.py [-h]",
                                         "launch_server.py: error: unrecognized arguments: --enable-deepep-waterfill --nope 1",
                                         "torch.OutOfMemoryError: later and a consequence"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row, "3.14");
  EXPECT_EQ(found->cls, RepairClass::kFlag);
  EXPECT_EQ(found->flags, (std::vector<std::string>{"--enable-deepep-waterfill", "--nope"}));
}

TEST(Playbook, HealthyLogsGiveNothing) {
  EXPECT_FALSE(shipped().classify({"The server is fired up and ready to roll!", "NCCL INFO error counters: 0", "token 'unrecognized'"}));
}

TEST(Playbook, AFlagWithoutSuccessorHasNone) {
  EXPECT_EQ(shipped().find_flag("SGLang", "--enable-deepep-waterfill")->replacement, "--enable-waterfill --moe-a2a-backend deepep");
  EXPECT_EQ(shipped().find_flag("SGLang", "--torchao-config")->verdict, FlagVerdict::kRemoved);
  EXPECT_FALSE(shipped().find_flag("vLLM", "--enable-deepep-waterfill"));
}

TEST(Playbook, APatternThatIsNoneIsRefused) {
  EXPECT_FALSE(Playbook::parse("signatures:\n  - {row: \"1\", class: flag, pattern: '(', summary: x}\n", "flags: []\n"));
}

}  // namespace
}  // namespace pawl::playbook
