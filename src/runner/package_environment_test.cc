#include "runner/package_environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "posix/real_files.h"

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;

/// uv without a network: makes the folders that uv makes and remembers what it was asked.
class ScriptedUv final : public io::Commands {
 public:
  Result<io::CommandOutput> run(const io::CommandSpec& spec, Nanos, std::stop_token) override {
    std::string line;
    for (const std::string& word : spec.argv) line += (line.empty() ? "" : " ") + word;
    asked.push_back(line);
    if (!there && spec.argv[0] == "uv") return not_found("no uv");
    io::CommandOutput output;
    output.end.code = 0;
    if (line.starts_with("uv venv") || line.find("-m venv") != std::string::npos)
      fs::create_directories(fs::path(spec.argv.back()) / "lib/python3.12/site-packages");
    if (line.find("pip install") != std::string::npos && broken) {
      output.end.code = 1;
      output.err = "No solution found when resolving dependencies\n";
    }
    if (line.find("freeze") != std::string::npos) output.out = "engine==1.0\ntorch==2.13.0\n";
    return output;
  }
  std::vector<std::string> asked;
  bool there = true, broken = false;
};

class PackageEnvironmentTest : public testing::Test {
 protected:
  PackageEnvironmentTest() : cache_(fs::temp_directory_path() / ("pawl-environments-" + std::to_string(::getpid()))) {}
  ~PackageEnvironmentTest() override { fs::remove_all(cache_); }
  auto prepare(const model::PackageSpec& package) { return prepare_package(package, cache_, files_, uv_, progress_, {}); }

  fs::path cache_;
  posix::RealFiles files_;
  ScriptedUv uv_;
  io::NoProgress progress_;
};

TEST_F(PackageEnvironmentTest, ItIsMadeOnceAndFoundAgain) {
  const model::PackageSpec package{"engine==1.0", {{"torch==2.13.0"}, {{"engine-1.0.dist-info/METADATA", "Name: engine\n"}}}};
  const auto first = prepare(package);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*files_.read(first->folder / "overrides.txt"), "torch==2.13.0\n");
  EXPECT_EQ(*files_.read(first->folder / "lib/python3.12/site-packages/engine-1.0.dist-info/METADATA"), "Name: engine\n");
  EXPECT_TRUE(first->digest.starts_with("sha256:"));
  const std::size_t asked = uv_.asked.size();
  const auto second = prepare(package);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->folder, first->folder);
  EXPECT_EQ(second->digest, first->digest);
  EXPECT_EQ(uv_.asked.size(), asked) << "nothing is installed again";
  const auto other = prepare({"engine==1.1", package.needs});
  ASSERT_TRUE(other);
  EXPECT_NE(other->folder, first->folder);
}

TEST_F(PackageEnvironmentTest, WhatCannotBeInstalledIsAnImageFailureAndIsTriedAgain) {
  uv_.broken = true;
  const auto failed = prepare({"engine==9", {}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().cls, model::FailureClass::kImage);
  EXPECT_EQ(failed.error().evidence, std::vector<std::string>{"No solution found when resolving dependencies"});
  uv_.broken = false;
  EXPECT_TRUE(prepare({"engine==9", {}}));
}

TEST_F(PackageEnvironmentTest, WithoutUvPipDoesItButNotOverrides) {
  uv_.there = false;
  EXPECT_TRUE(prepare({"engine==1.0", {}}));
  const auto refused = prepare({"engine==1.0", {{"torch==2"}, {}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cls, model::FailureClass::kConfig);
  EXPECT_NE(refused.error().message.find("uv"), std::string::npos);
}

TEST_F(PackageEnvironmentTest, AFileStaysInside) {
  const auto refused = prepare({"engine==1.0", {{}, {{"../../x", "y"}}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cls, model::FailureClass::kConfig);
}

}  // namespace
}  // namespace pawl::runner
