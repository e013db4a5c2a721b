#include "runner/job_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/hash.h"
#include "codec/describe.h"
#include "codec/json.h"
#include "posix/embedded_assets.h"
#include "posix/real_clock.h"
#include "posix/real_commands.h"
#include "posix/real_files.h"
#include "posix/real_processes.h"
#include "runner/engine_process.h"

namespace pawl::runner {
namespace {

class JobRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-job-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// A benchmark whose engine is a shell script: what a job meets before and instead of a good engine.
  model::JobSpec spec_of(const std::string& script) {
    model::JobSpec spec;
    spec.run = 7;
    spec.attempt = 2;
    spec.job = "tp2-conc4";
    spec.row = codec::Json::object();
    spec.engine.kind = "script";
    spec.engine.argv = {"/bin/sh", "-c", script};
    spec.engine.served_model = "m";
    spec.load = model::LoadSpec{.isl = 16, .osl = 4};
    return spec;
  }

  Result<model::JobResult> run(const model::JobSpec& spec, std::stop_token stop = {}) {
    EXPECT_TRUE(files_.write_atomic(folder_ / "spec.json", codec::write_json_pretty(codec::to_json(spec))));
    io::NoProgress progress;
    return run_job(spec, folder_, {clock_, files_, processes_, assets_, commands_}, progress, std::move(stop));
  }

  posix::RealClock clock_;
  posix::RealFiles files_;
  posix::RealProcesses processes_;
  posix::RealCommands commands_;
  posix::EmbeddedAssets assets_;
  std::filesystem::path folder_;
};

TEST_F(JobRunnerTest, AnEngineThatEndsAtOnceFailsTheJobWithItsLastWords) {
  const auto result =
      run(spec_of("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; do echo line $i; done; "
                  "printf '\\033[31merror: invalid argument: --nope\\033[0m\\n' >&2; exit 3"));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->cls, model::FailureClass::kEngine);
  EXPECT_EQ(result->failure->message, "the engine ended before it was ready with exit status 3");
  ASSERT_EQ(result->failure->evidence.size(), 20u);
  EXPECT_EQ(result->failure->evidence.front(), "line 5");
  EXPECT_EQ(result->failure->evidence.back(), "error: invalid argument: --nope");
  EXPECT_FALSE(result->bench);
  EXPECT_EQ(result->run, 7);
  EXPECT_EQ(result->attempt, 2);
  EXPECT_FALSE(result->node.empty());
}

TEST_F(JobRunnerTest, TheResultOfAFailedJobIsWrittenAndAnswersItsSpec) {
  const auto result = run(spec_of("exit 1"));
  ASSERT_TRUE(result);
  const auto text = files_.read(folder_ / "result.json");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, codec::write_json_pretty(codec::to_json(*result)));
  EXPECT_EQ(result->spec_sha256, sha256_hex(*files_.read(folder_ / "spec.json")));
  auto known = finished_result(files_, folder_);
  ASSERT_TRUE(known) << known.error().message;
  ASSERT_TRUE(known->has_value());
  EXPECT_EQ((*known)->failure->message, result->failure->message);
  ASSERT_TRUE(files_.write_atomic(folder_ / "spec.json", "{}"));
  known = finished_result(files_, folder_);
  ASSERT_TRUE(known);
  EXPECT_FALSE(known->has_value()) << "another spec is another question";
}

TEST_F(JobRunnerTest, AnEngineEndedByASignalSaysSo) {
  const auto result = run(spec_of("kill -SEGV $$"));
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->message, "the engine ended before it was ready with signal 11");
}

TEST_F(JobRunnerTest, AnEngineThatIsNeverReadyTimesOutAndIsEnded) {
  model::JobSpec spec = spec_of("echo loading; echo $$ > pid; exec sleep 300");
  spec.engine.ready_timeout_s = 0.5;
  const auto result = run(spec);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->cls, model::FailureClass::kTimeout);
  EXPECT_NE(result->failure->message.find("waited for status 200 of GET /health"), std::string::npos) << result->failure->message;
  EXPECT_EQ(result->failure->evidence, std::vector<std::string>{"loading"});
  const auto pid = files_.read(folder_ / "pid");
  ASSERT_TRUE(pid);
  EXPECT_NE(::kill(std::stoi(*pid), 0), 0) << "the engine still runs";
}

TEST_F(JobRunnerTest, TheTimeOfTheJobBoundsTheStartOfTheEngine) {
  model::JobSpec spec = spec_of("exec sleep 300");
  spec.timeout_s = 0.3;
  const auto result = run(spec);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->cls, model::FailureClass::kTimeout);
}

TEST_F(JobRunnerTest, AStopLeavesNoResult) {
  std::stop_source source;
  std::jthread stopper([&] {
    while (!std::filesystem::exists(folder_ / "up")) std::this_thread::yield();
    source.request_stop();
  });
  std::ofstream(folder_ / "result.json") << "{}";  // of an earlier spec
  const auto result = run(spec_of("echo > up; exec sleep 300"), source.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().cls, ErrorClass::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "result.json"));
}

TEST_F(JobRunnerTest, AProgramThatIsNotThereIsAMistakeOfTheConfiguration) {
  model::JobSpec spec = spec_of("");
  spec.engine.argv = {"no-such-engine-anywhere"};
  const auto result = run(spec);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->cls, model::FailureClass::kConfig);
}

TEST_F(JobRunnerTest, AnUnknownEvalTaskFailsBeforeTheEngineStarts) {
  model::JobSpec spec = spec_of("echo started > started; exit 0");
  spec.kind = model::JobKind::kEval;
  spec.load.reset();
  spec.eval = model::EvalSpec{.task = "no-such-task"};
  const auto result = run(spec);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->cls, model::FailureClass::kConfig);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "started"));
}

TEST_F(JobRunnerTest, ThePortAndTheEnvironmentReachTheEngine) {
  model::JobSpec spec = spec_of("echo port=$1 $GREETING; exit 1");
  spec.engine.argv.push_back("engine");
  spec.engine.argv.push_back("{port}");
  spec.engine.env = {{"GREETING", "hello"}};
  const auto result = run(spec);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  ASSERT_EQ(result->failure->evidence.size(), 1u);
  EXPECT_THAT(result->failure->evidence[0], testing::MatchesRegex("port=[0-9]+ hello"));
}

TEST_F(JobRunnerTest, LinesOfAnEarlierTryAreNoEvidence) {
  std::ofstream(folder_ / "server.log") << "old\n";
  const auto result = run(spec_of("echo new; exit 1"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->failure->evidence, std::vector<std::string>{"new"});
}

TEST(JobSpecText, WhatIsWrongIsNamedByItsPath) {
  struct Case {
    const char* pointer;
    codec::Json value;
    const char* message;
  };
  model::JobSpec good;
  good.job = "j";
  good.row = codec::Json::object();
  good.engine.argv = {"x"};
  good.engine.served_model = "m";
  good.load = model::LoadSpec{.isl = 16, .osl = 4};
  ASSERT_TRUE(parse_spec(codec::to_json(good).dump(), "spec.json"));
  for (const Case& c : std::vector<Case>{
           {"/schema", "pawl.job/9", "schema: expected pawl.job/1"},
           {"/engine/argv", codec::Json::array(), "engine.argv"},
           {"/engine/argv", 3, "spec.json.engine.argv: expected a list"},
           {"/engine/ready_timeout_s", -1, "engine.ready_timeout_s"},
           {"/engine/prot", 1, "engine.prot: unknown key"},
           {"/load/concurrency", 0, "load.concurrency: expected at least 1"},
           {"/load/range_ratio", 2, "load.range_ratio"},
           {"/kind", "eval", "eval: missing"},
           {"/kind", "other", "kind: expected one of benchmark, eval"},
           {"/timeout_s", 0, "timeout_s"},
       }) {
    codec::Json json = codec::to_json(good);
    json[codec::Json::json_pointer(c.pointer)] = c.value;
    const auto spec = parse_spec(json.dump(), "spec.json");
    ASSERT_FALSE(spec) << c.pointer;
    EXPECT_NE(spec.error().message.find(c.message), std::string::npos) << spec.error().message;
    EXPECT_EQ(spec.error().exit, ExitStatus::kBadInput);
  }
  codec::Json json = codec::to_json(good);
  json.erase("timeout_s");
  EXPECT_FALSE(parse_spec(json.dump(), "spec.json")) << "an absent time is no time";
}

TEST(ReadableTail, IsFitForJsonAndAScreen) {
  EXPECT_EQ(readable_tail("a\n\n  \nb\n", 5), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(readable_tail("a\nb\nc", 2), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(readable_tail("\x1b[1;31mred\x1b[0m \x1b]0;title\x07text\r\n", 1), std::vector<std::string>{"red text"});
  EXPECT_EQ(readable_tail("10%\r50%\r100%\n", 1), std::vector<std::string>{"100%"});
  EXPECT_EQ(readable_tail("bad \xff byte\n", 1), std::vector<std::string>{"bad ? byte"});
  EXPECT_EQ(readable_tail("中文\n", 1), std::vector<std::string>{"中文"});
  EXPECT_EQ(readable_tail(std::string(5000, 'x'), 1).front().size(), 1000u + std::string("…").size());
  EXPECT_TRUE(readable_tail("", 3).empty());
  EXPECT_TRUE(readable_tail("\x1b", 3).empty());
}

}  // namespace
}  // namespace pawl::runner
