#include "plan/launch_script.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

const std::string kScript =
    "#!/bin/bash\n# sglang.launch_server --not-this\nset -e\npython3 -m sglang.launch_server \\\n  --model-path \"$MODEL\" --host 0.0.0.0 --port $PORT "
    "--tp-size \"$TP\" \\\n"
    "  --kv-cache-dtype 'fp8_e4m3' --enable-deepep-waterfill \\\n  --cuda-graph-bs 1 2 4 > server.log 2>&1 &\necho --later\n";

TEST(LaunchScript, FlagsAreThoseOfTheLaunchCommandThatTheScriptItselfFixes) {
  EXPECT_EQ(launch_flags(kScript), (std::vector<std::string>{"--kv-cache-dtype", "fp8_e4m3", "--enable-deepep-waterfill", "--cuda-graph-bs", "1", "2", "4"}));
  EXPECT_TRUE(launch_flags("echo hello\n").empty());
}

TEST(LaunchScript, ASwitchIsReplacedAndNothingElseChanges) {
  const auto edited = replace_switch(kScript, "--enable-deepep-waterfill", "--enable-waterfill --moe-a2a-backend deepep");
  ASSERT_TRUE(edited);
  std::string wanted = kScript;
  wanted.replace(wanted.find("--enable-deepep-waterfill"), 25, "--enable-waterfill --moe-a2a-backend deepep");
  EXPECT_EQ(*edited, wanted);
  EXPECT_FALSE(replace_switch(kScript, "--enable-deepep", "x"));  // only a part of a longer name
  EXPECT_FALSE(replace_switch(kScript + "--enable-deepep-waterfill", "--enable-deepep-waterfill", "x"));
}

TEST(LaunchScript, PathsNameTheFrameworkFirst) {
  model::Point p;
  p.exp_name = "qwen3.5_8k1k";
  p.precision = "fp8";
  p.runner = "cluster:h200-cw";
  p.framework = "sglang";
  EXPECT_EQ(launch_script_paths(p), (std::vector<std::string>{"benchmarks/single_node/fixed_seq_len/qwen3.5_fp8_h200_sglang.sh",
                                                              "benchmarks/single_node/fixed_seq_len/qwen3.5_fp8_h200.sh"}));
  p.spec_decoding = "mtp";
  EXPECT_EQ(launch_script_paths(p)[1], "benchmarks/single_node/fixed_seq_len/qwen3.5_fp8_h200_mtp.sh");
}

}  // namespace
}  // namespace pawl::plan
