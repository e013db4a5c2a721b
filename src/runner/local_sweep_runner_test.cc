#include "runner/local_sweep_runner.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/hash.h"
#include "codec/describe.h"
#include "posix/real_clock.h"
#include "posix/real_files.h"
#include "runner/job_graph.h"

namespace pawl::runner {
namespace {

using codec::Json;

/// Runs jobs at once, in this process, by a script: each submit of a job takes the next of its endings.
class ScriptedExecutor final : public exec::JobExecutor {
 public:
  enum class Ending { kValid, kLate, kFailure, kNothing };
  explicit ScriptedExecutor(io::Files& files) : files_(files) {}
  [[nodiscard]] std::string name() const override { return "scripted"; }
  [[nodiscard]] std::int64_t width() const override { return at_once; }
  Result<exec::JobHandle> submit(const std::string& key, const std::filesystem::path& folder) override {
    if (!started_.contains(key)) {
      started_.insert(key);
      ++submits;
      alive_[key] = looks_before_the_end;
      most_alive = std::max(most_alive, std::ssize(alive_));
      const Ending ending = script.empty() ? Ending::kValid : script.front();
      if (!script.empty()) script.erase(script.begin());
      PAWL_TRY(leave(ending, folder));
    }
    return exec::JobHandle{key, folder.string(), ""};
  }
  Result<std::optional<exec::JobHandle>> recover(const std::string&, const std::filesystem::path&) override { return std::optional<exec::JobHandle>(); }
  Status forget(const std::string& key, const std::filesystem::path&) override {
    started_.erase(key);
    return {};
  }
  Result<exec::JobState> wait(const exec::JobHandle& handle, Nanos, std::stop_token) override {
    ++looks;
    const auto found = alive_.find(handle.key);
    if (submits < stay_until) return exec::JobState::kRunning;
    if (found != alive_.end() && found->second-- > 0) return exec::JobState::kRunning;
    alive_.erase(handle.key);
    return exec::JobState::kEnded;
  }
  Status cancel(const exec::JobHandle&) override { return {}; }

  std::vector<Ending> script;
  int submits = 0;
  std::int64_t looks = 0;
  int stay_until = 0;  ///< nothing ends before so many were submitted
  std::int64_t at_once = 1;
  int looks_before_the_end = 0;   ///< how often a job is still running when it is looked at
  std::ptrdiff_t most_alive = 0;  ///< jobs that were running at one time

 private:
  Status leave(Ending ending, const std::filesystem::path& folder) {
    if (ending == Ending::kNothing) return {};
    PAWL_ASSIGN(const std::string text, files_.read(folder / "spec.json"));
    PAWL_ASSIGN(const Json json, codec::parse_json(text, "spec.json"));
    PAWL_ASSIGN(const model::JobSpec spec, codec::from_json<model::JobSpec>(json, "spec"));
    model::JobResult result;
    result.run = spec.run;
    result.job = spec.job;
    result.kind = spec.kind;
    if (ending == Ending::kFailure) {
      result.failure = model::JobFailure{model::FailureClass::kEngine, "the engine ended", {"boom"}};
    } else if (spec.kind == model::JobKind::kEval) {
      result.eval = model::EvalResult{.task = "t", .em_strict = 1, .em_flexible = 1, .n_eff = 1, .infrastructure_success = true, .passed = true};
    } else {
      model::BenchResult bench;
      bench.total_token_throughput = bench.output_throughput = 1;
      bench.verdict = ending == Ending::kLate ? "INVALID" : "VALID";
      if (ending == Ending::kLate) bench.reasons = {{"lag", "this client sent late"}};
      result.bench = bench;
    }
    return files_.write_atomic(folder / "result.json", codec::write_json_pretty(codec::to_json(result)));
  }
  io::Files& files_;
  std::set<std::string> started_;
  std::map<std::string, int> alive_;
};

class LocalSweepRunnerTest : public testing::Test {
 protected:
  using Ending = ScriptedExecutor::Ending;
  LocalSweepRunnerTest()
      : folder_(std::filesystem::temp_directory_path() / ("pawl-runner-" + std::to_string(::getpid()))),
        workspace_(*store::Workspace::create_or_open(files_, folder_)),
        database_(*store::Database::open(workspace_.database(), {runner_schema()})),
        executor_(files_),
        runner_({database_, workspace_, clock_, files_, executor_, twin_engines("pawl"), progress_, {}}) {}
  ~LocalSweepRunnerTest() override { std::filesystem::remove_all(folder_); }

  static io::SweepRequest request(const std::string& marker, bool fail_fast = true) {
    const Json row = Json::parse(R"({"image":"r:1","model":"m","model-prefix":"demo","precision":"fp8","framework":"sglang","runner":"h200","isl":64,"osl":32,
      "tp":1,"pp":1,"dcp-size":1,"pcp-size":1,"conc":2,"max-model-len":352,"ep":1,"dp-attn":false,"spec-decoding":"none","exp-name":"demo_64_32","disagg":false,"run-eval":false})");
    Json second = row;
    second["conc"] = 4;
    return {.marker = marker,
            .recipe = "demo",
            .purpose = "smoke",
            .head = "abc",
            .points = {row, second},
            .evals = {row},
            .eval_task = "t",
            .fail_fast = fail_fast};
  }

  /// State of every job of the graph, by name.
  std::map<std::string, std::string> states(RunId run) {
    std::map<std::string, std::string> all;
    const auto jobs = runner_.jobs(run);
    EXPECT_TRUE(jobs) << jobs.error().message;
    for (const JobState& job : *jobs) all[job.job] = job.state;
    return all;
  }

  std::filesystem::path folder_;
  posix::RealClock clock_;
  posix::RealFiles files_;
  store::Workspace workspace_;
  store::Database database_;
  ScriptedExecutor executor_;
  io::NoProgress progress_;
  LocalSweepRunner runner_;
};

TEST_F(LocalSweepRunnerTest, AMarkerIsOneRunHoweverOftenItIsDispatched) {
  const auto first = runner_.dispatch(request("m")), second = runner_.dispatch(request("m"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->value, second->value);
  EXPECT_EQ(runner_.list()->size(), 1u);
  EXPECT_FALSE(*runner_.find("other"));
}

TEST_F(LocalSweepRunnerTest, ASuccessfulRunLeavesRowsEvalsAndAManifest) {
  const RunId run = *runner_.dispatch(request("m"));
  EXPECT_FALSE(runner_.evidence(run));  // not terminal yet
  const auto status = runner_.wait(run, {});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, io::RunState::kSuccess);
  const auto evidence = runner_.evidence(run);
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(evidence->rows.size(), 2u);
  EXPECT_EQ(evidence->evals.size(), 1u);
  EXPECT_EQ(evidence->manifest["head"], "abc");
  EXPECT_EQ(evidence->manifest["full_sweep"], false);
  EXPECT_EQ(executor_.submits, 3);
  ASSERT_TRUE(runner_.wait(run, {}));  // again: nothing more runs
  EXPECT_EQ(executor_.submits, 3);
}

TEST_F(LocalSweepRunnerTest, TheMatrixOfTheB200RecipeIsSeventeenJobsNamedByKind) {
  // The validated upgrade of the field: seven points at 8k/1k, evals at the two highest concurrencies.
  io::SweepRequest wanted = request("b200");
  const Json row =
      Json::parse(R"({"image":"lmsysorg/sglang:v0.5.19-cu130","model":"nvidia/Qwen3.5-397B-A17B-NVFP4-V2","model-prefix":"qwen3.5","precision":"fp4",
    "framework":"sglang","runner":"cluster:b200-nscale","isl":8192,"osl":1024,"tp":2,"pp":1,"dcp-size":1,"pcp-size":1,"conc":4,"max-model-len":9472,"ep":1,
    "dp-attn":false,"spec-decoding":"none","exp-name":"qwen3.5_8k1k","disagg":false,"run-eval":false})");
  wanted.points.clear();
  wanted.evals.clear();
  wanted.points.push_back(row);
  wanted.points.back()["tp"] = 4;
  for (const int conc : {4, 8, 16, 32, 64, 128}) {
    wanted.points.push_back(row);
    wanted.points.back()["conc"] = conc;
    if (conc >= 64) wanted.points.back()["run-eval"] = true;
    if (conc >= 64) wanted.evals.push_back(wanted.points.back());
  }
  wanted.canary = true;
  const auto run = runner_.wait(*runner_.dispatch(wanted), {});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->state, io::RunState::kSuccess);
  EXPECT_EQ(run->jobs, 17);
  EXPECT_EQ(run->done, 17);
  std::map<std::string, int> kinds;
  const auto jobs = runner_.jobs(run->id);
  ASSERT_TRUE(jobs) << jobs.error().message;
  for (const JobState& job : *jobs) ++kinds[job.kind];
  EXPECT_EQ(kinds, (std::map<std::string, int>{{"setup", 1},
                                               {"canary", 1},
                                               {"benchmark", 6},
                                               {"eval", 2},
                                               {"collector", 2},
                                               {"compare", 1},
                                               {"success-rate", 1},
                                               {"changelog-metadata", 1},
                                               {"preview-comment", 1},
                                               {"manifest", 1}}));
  const auto folder = workspace_.run_folder(run->id.value, 1);
  const auto document = [&](const char* file) { return *codec::parse_json(*files_.read(folder / file), file); };
  EXPECT_EQ(document(kStatisticsFile), Json::parse(R"({"b200-nscale":{"n_success":9,"total":9}})"));
  EXPECT_EQ(document(kBotManifestFile)["full-sweep"], false) << "the purpose of this request is a smoke";
  EXPECT_EQ(document(kBotManifestFile)["matrix"].size(), 9u);
  EXPECT_EQ(document(kComparisonFile)["verdict"], "no_baseline");
  const Json manifest = document(kManifestFile);
  EXPECT_EQ(manifest["jobs"].size(), 17u);
  EXPECT_EQ(manifest["totals"]["ok"], 9);
  EXPECT_EQ(manifest["jobs"][2]["name"], "single-node 8k1k / qwen3.5 fp4 cluster:b200-nscale sglang TP2/EP1 none c4");
  EXPECT_EQ(manifest["artifacts"][kResultsFile], sha256_hex(*files_.read(folder / kResultsFile)));
  const Json fingerprint = manifest["points"][0]["fingerprint"];
  io::SweepRequest edited = wanted;
  edited.launch_script = model::LaunchScript{"benchmarks/x.sh", "serve --new-flag\n"};
  EXPECT_EQ(job_fingerprint(wanted.points[0], wanted), fingerprint);
  EXPECT_NE(job_fingerprint(wanted.points[0], edited), fingerprint) << "the launch script belongs to the recipe";
  EXPECT_EQ(job_fingerprint(wanted.points[1], wanted), job_fingerprint(wanted.points[2], wanted)) << "two concurrencies are one recipe";
}

TEST_F(LocalSweepRunnerTest, EveryExecutionOfAJobIsCountedInItsAttempt) {
  executor_.script = {Ending::kLate, Ending::kFailure, Ending::kValid};
  const auto failed = runner_.wait(*runner_.dispatch(request("m")), {});
  ASSERT_TRUE(failed) << failed.error().message;
  ASSERT_TRUE(runner_.rerun(failed->id, 1, false));
  const auto good = runner_.wait(failed->id, {});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->state, io::RunState::kSuccess);
  const auto hours = runner_.gpu_hours(good->id);
  ASSERT_TRUE(hours) << hours.error().message;
  ASSERT_EQ(hours->size(), 2u);
  EXPECT_EQ((*hours)[0].tries, 3) << "late, failed, and the eval; the second point was cancelled before it ran";
  EXPECT_EQ((*hours)[1].tries, 2) << "the eval succeeded before and does not run again";
  const Json stats = *codec::parse_json(*files_.read(workspace_.run_folder(good->id.value, 2) / kStatisticsFile), "stats");
  EXPECT_EQ(stats, Json::parse(R"({"h200":{"n_success":3,"total":5}})")) << "both attempts";
  const auto tries = (*runner_.evidence(good->id)).manifest["points"][0]["attempts"];
  EXPECT_EQ(tries.size(), 1u);
}

TEST_F(LocalSweepRunnerTest, ALateClientMeasuresAgainAtMostTwice) {
  executor_.script = {Ending::kLate, Ending::kLate, Ending::kValid};
  const auto status = runner_.wait(*runner_.dispatch(request("m")), {});
  EXPECT_EQ(status->state, io::RunState::kSuccess);
  EXPECT_EQ(executor_.submits, 5);
  EXPECT_EQ(runner_.evidence(status->id)->rows[0]["pawl"]["verdict"], "VALID");
  executor_.script = {Ending::kLate, Ending::kLate, Ending::kLate};
  const auto late = runner_.wait(*runner_.dispatch(request("n")), {});
  EXPECT_EQ(runner_.evidence(late->id)->rows[0]["pawl"]["verdict"], "INVALID");  // kept, and judged by whoever reads it
}

TEST_F(LocalSweepRunnerTest, AfterAFailureFailFastCancelsTheRestOfItsFamilyAndTheFirstErrorIsKept) {
  executor_.script = {Ending::kFailure};
  const auto status = runner_.wait(*runner_.dispatch(request("m")), {});
  EXPECT_EQ(status->state, io::RunState::kFailure);
  EXPECT_EQ(executor_.submits, 2) << "the failed point, and the eval, which is of another family";
  EXPECT_EQ(status->failed, 1);
  EXPECT_EQ(runner_.evidence(status->id)->evals.size(), 1u);
  ASSERT_TRUE(status->failure);
  EXPECT_EQ(status->failure->evidence, (std::vector<std::string>{"boom"}));
  executor_.script = {Ending::kFailure};
  ASSERT_TRUE(runner_.wait(*runner_.dispatch(request("slow", false)), {}));
  EXPECT_EQ(executor_.submits, 5);
}

TEST_F(LocalSweepRunnerTest, AFailedCanaryLeavesEverythingElseUnstarted) {
  io::SweepRequest wanted = request("m", false);
  for (Json& point : wanted.points) {
    point["isl"] = 1024;
    point["osl"] = 1024;
    point["max-model-len"] = 2304;
  }
  std::swap(wanted.points[0], wanted.points[1]);  // the cheaper one stands second
  wanted.canary = true;
  executor_.script = {Ending::kFailure};
  const auto failed = runner_.wait(*runner_.dispatch(wanted), {});
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->state, io::RunState::kFailure);
  EXPECT_EQ(executor_.submits, 1);
  EXPECT_EQ(failed->jobs, 3 + 8) << "the canary is one of the points, not one more";
  const auto left = states(failed->id);
  EXPECT_EQ(left.at("bench-01-tp1-ep1-c4"), "skipped");
  EXPECT_EQ(left.at("eval-01-tp1-ep1-c2"), "skipped");
  for (const char* step : {kCollectResults, kCollectEvals, kCompareResults, kSuccessRate}) EXPECT_EQ(left.at(step), "skipped") << step;
  for (const char* step : {kSetupStep, kChangelogMetadata, kPreviewComment, kManifestStep}) EXPECT_EQ(left.at(step), "succeeded") << step;
  const auto nothing = runner_.evidence(failed->id);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->rows.empty() && nothing->evals.empty());
  EXPECT_EQ(nothing->manifest["totals"], Json::parse(R"({"expected":3,"ok":0,"failed":1,"missing":2})"));
  wanted.marker = "n";
  const auto good = runner_.wait(*runner_.dispatch(wanted), {});
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->state, io::RunState::kSuccess);
  EXPECT_EQ(runner_.evidence(good->id)->manifest["jobs"][1]["job"], "canary-02-tp1-ep1-c2");
  EXPECT_EQ(runner_.evidence(good->id)->rows.size(), 2u);
}

TEST_F(LocalSweepRunnerTest, AWideExecutorHasAllJobsAtOnceAndTheCanaryAlone) {
  executor_.at_once = 10;
  executor_.looks_before_the_end = 2;
  io::SweepRequest wanted = request("m");
  ASSERT_TRUE(runner_.wait(*runner_.dispatch(wanted), {}));
  EXPECT_EQ(executor_.most_alive, 3);
  executor_.most_alive = 0;
  wanted.marker = "n";
  wanted.canary = true;
  for (Json& point : wanted.points) {
    point["isl"] = 8192;
    point["osl"] = 1024;
    point["max-model-len"] = 9472;
  }
  ASSERT_TRUE(runner_.wait(*runner_.dispatch(wanted), {}));
  EXPECT_EQ(executor_.most_alive, 2);
}

TEST_F(LocalSweepRunnerTest, AJobThatLeavesNothingFailsTheRun) {
  executor_.script = {Ending::kNothing};
  const auto status = runner_.wait(*runner_.dispatch(request("m")), {});
  EXPECT_EQ(status->state, io::RunState::kFailure);
  EXPECT_NE(status->failure->message.find("without a result"), std::string::npos);
}

TEST_F(LocalSweepRunnerTest, ACancelledRunIsTerminalAfterTheNextWaitAndHasEvidence) {
  const RunId run = *runner_.dispatch(request("m"));
  ASSERT_TRUE(runner_.cancel(run));
  const auto status = runner_.wait(run, {});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, io::RunState::kCancelled);
  EXPECT_EQ(executor_.submits, 0);
  EXPECT_TRUE(runner_.evidence(run)->rows.empty());
}

/// Run by tests/long/many-jobs.sh, one size a process: the peak of memory is that of the process.
TEST_F(LocalSweepRunnerTest, ManyJobsAtOnce) {
  const char* wanted = std::getenv("PAWL_MANY_JOBS");
  if (wanted == nullptr) GTEST_SKIP() << "a long job: PAWL_MANY_JOBS=10000";
  const int count = std::atoi(wanted);
  ASSERT_GT(count, 0);
  executor_.at_once = count;
  executor_.stay_until = count;  // all at once
  io::SweepRequest many = request("many", false);
  const Json row = many.points[0];
  many.points.clear();
  many.evals.clear();
  for (int i = 0; i < count; ++i) {
    many.points.push_back(row);
    many.points.back()["conc"] = 1 + i % 100;
    many.points.back()["tp"] = 1 + i / 100;
  }
  const MonoTime began = clock_.now();
  const auto run = runner_.dispatch(many);
  ASSERT_TRUE(run) << run.error().message;
  const MonoTime dispatched = clock_.now();
  const auto status = runner_.wait(*run, {});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, io::RunState::kSuccess);
  const double seconds = seconds_of(clock_.now() - began);
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto evidence = runner_.evidence(*run);
  ASSERT_TRUE(evidence) << evidence.error().message;
  std::set<std::string> keys;
  for (const Json& one : evidence->rows) keys.insert(one["pawl"]["point_key"].get<std::string>());
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(evidence->rows.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(executor_.submits, count);
  EXPECT_EQ(executor_.most_alive, count);
  fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {} | {:.1f} |\n", count, seconds_of(dispatched - began), seconds, 1000 * seconds / count,
             usage.ru_maxrss / 1024, static_cast<double>(executor_.looks) / count);
}

}  // namespace
}  // namespace pawl::runner
