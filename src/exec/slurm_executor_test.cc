#include "exec/slurm_executor.h"

#include <deque>

#include "exec/testing/job_executor_contract.h"
#include "exec/testing/slurm_cluster.h"
#include "posix/real_clock.h"
#include "posix/real_commands.h"
#include "posix/real_files.h"

namespace pawl::exec {
namespace {

constexpr Nanos kPoll = Millis{100};

std::unique_ptr<SlurmExecutor> make(io::Commands& commands, const std::string& program, SlurmSettings settings) {
  static posix::RealFiles files;
  static posix::RealClock clock;
  return std::make_unique<SlurmExecutor>(commands, files, clock, program, std::move(settings));
}

SlurmSettings quick() {
  SlurmSettings settings;
  settings.poll = kPoll;
  settings.find_again = Seconds{3};
  settings.record_lag = Seconds{0};
  return settings;
}

posix::RealCommands& real() {
  static posix::RealCommands commands;
  return commands;
}

// ── on a real cluster ────────────────────────────────────────────────────────────────────────────────────────────────

std::unique_ptr<JobExecutor> slurm_executor(const std::string& program) {
  if (!testing::SlurmCluster::instance().up()) return nullptr;  // Debian: slurmctld slurmd slurm-client; as root
  return make(real(), program, quick());
}

INSTANTIATE_TEST_SUITE_P(Slurm, JobExecutorContract, ::testing::Values(ExecutorFactory(slurm_executor)));

class RealSlurmTest : public JobExecutorContract {
 protected:
  [[nodiscard]] std::unique_ptr<SlurmExecutor> slurm(SlurmSettings settings = quick()) const { return make(real(), program_.string(), std::move(settings)); }
};
INSTANTIATE_TEST_SUITE_P(Slurm, RealSlurmTest, ::testing::Values(ExecutorFactory(slurm_executor)));

TEST_P(RealSlurmTest, TheEndIsReadWithoutAccounting) {
  const auto executor = slurm();
  const JobHandle handle = start(*executor, "9.1.end", job("end", "exit 4"));
  const auto ended = executor->wait(handle, Seconds{30}, {});
  ASSERT_TRUE(ended) << ended.error().message;
  ASSERT_EQ(*ended, JobState::kEnded);
  const std::string end = text_of(root_ / "end" / kSlurmEndFile);
  EXPECT_NE(end.find("\"log-decides\""), std::string::npos) << end;
  EXPECT_EQ(text_of(root_ / "end" / kSlurmExitFile), "4\n");
  const auto failure = executor->failure(handle);
  ASSERT_TRUE(failure);
  EXPECT_FALSE(failure->has_value()) << "the log decides";
}

TEST_P(RealSlurmTest, ARequestThatSlurmRefusesLeavesNothing) {
  SlurmSettings settings = quick();
  settings.partition = "there-is-none";
  const auto folder = job("refused", "true");
  const auto handle = slurm(settings)->submit("9.1.refused", folder);
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().cls, ErrorClass::kInvalid);
  EXPECT_NE(handle.error().message.find("invalid partition"), std::string::npos) << handle.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder / kSlurmFile));
  start(*slurm(), "9.1.refused", folder);
}

TEST_P(RealSlurmTest, ARequestThatCanNeverStartIsCancelled) {
  const auto plain = slurm();
  const JobHandle failed = start(*plain, "9.1.failed", job("failed", "exit 4"));
  ASSERT_TRUE(plain->wait(failed, Seconds{30}, {}));
  const auto native = codec::parse_json(failed.native, "handle");
  ASSERT_TRUE(native);
  SlurmSettings settings = quick();
  settings.options = {"--dependency=afterok:" + (*native)["slurm_job"].dump(), "--kill-on-invalid-dep=no"};
  const auto executor = slurm(settings);
  const JobHandle handle = start(*executor, "9.1.hopeless", job("hopeless", "true"));
  const auto ended = executor->wait(handle, Seconds{30}, {});
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, JobState::kEnded);
  const auto failure = executor->failure(handle);
  ASSERT_TRUE(failure && *failure) << text_of(root_ / "hopeless" / kSlurmEndFile);
  EXPECT_EQ((**failure).cls, model::FailureClass::kConfig);
  EXPECT_FALSE(std::filesystem::exists(root_ / "hopeless" / "starts"));
}

TEST_P(RealSlurmTest, ACrashOfTheControllerLosesNothingAndRunsNothingTwice) {
  const auto executor = slurm();
  std::vector<JobHandle> handles;
  for (int i = 0; i < 4; ++i) {
    const std::string name = "crash" + std::to_string(i);
    handles.push_back(start(*executor, "9.1." + name, job(name, "sleep 0.3; echo result > result.json")));
  }
  ASSERT_TRUE(testing::SlurmCluster::instance().control("crash"));
  const auto unreachable = executor->wait(handles[0], Nanos{0}, {});
  ASSERT_TRUE(unreachable) << "an unreachable controller is no error of the job: " << unreachable.error().message;
  ASSERT_TRUE(testing::SlurmCluster::instance().control("controller"));
  for (int i = 0; i < 4; ++i) {
    const std::string name = "crash" + std::to_string(i);
    const auto folder = root_ / name;
    auto state = executor->wait(handles[static_cast<std::size_t>(i)], Seconds{40}, {});
    ASSERT_TRUE(state) << state.error().message;
    ASSERT_EQ(*state, JobState::kEnded);
    if (!std::filesystem::exists(folder / "result.json")) {
      // The controller forgot it: infrastructure, and run again under the same key.
      const auto failure = executor->failure(handles[static_cast<std::size_t>(i)]);
      ASSERT_TRUE(failure && *failure);
      EXPECT_EQ((**failure).cls, model::FailureClass::kInfrastructure);
      ASSERT_TRUE(executor->forget("9.1." + name, folder));
      const JobHandle again = start(*executor, "9.1." + name, folder);
      ASSERT_TRUE(executor->wait(again, Seconds{40}, {}));
    }
    EXPECT_TRUE(std::filesystem::exists(folder / "result.json")) << name;
    EXPECT_EQ(text_of(folder / "starts"), "start\n") << name;
  }
}

TEST_P(RealSlurmTest, APreemptedJobRunsAgainUnderItsKey) {
  SlurmSettings low = quick();
  low.partition = "low";
  low.options = {"--exclusive", "--nodes=2"};
  const auto executor = slurm(low);
  const auto folder = job("victim", "[ $(wc -l < starts) -ge 2 ] && { echo result > result.json; exit 0; }; echo up > up; exec sleep 300");
  const JobHandle victim = start(*executor, "9.1.victim", folder);
  ASSERT_TRUE(appears(folder / "up"));
  SlurmSettings high = low;
  high.partition = "high";
  const auto strong = slurm(high);
  const JobHandle winner = start(*strong, "9.1.winner", job("winner", "true"));
  ASSERT_TRUE(strong->wait(winner, Seconds{40}, {}));
  const auto ended = executor->wait(victim, Seconds{60}, {});
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(*ended, JobState::kEnded);
  EXPECT_TRUE(std::filesystem::exists(folder / "result.json"));
  EXPECT_EQ(text_of(folder / "starts"), "start\nstart\n");
}

TEST_P(RealSlurmTest, OneLookServesAllJobs) {
  SlurmSettings settings = quick();
  settings.poll = Seconds{1};
  const auto executor = slurm(settings);
  std::vector<JobHandle> handles;
  for (int i = 0; i < 10; ++i) handles.push_back(start(*executor, "9.1.many" + std::to_string(i), job("many" + std::to_string(i), "sleep 30")));
  const auto before = executor->looks();
  for (const JobHandle& handle : handles) ASSERT_TRUE(executor->wait(handle, Nanos{0}, {}));
  EXPECT_LE(executor->looks(), before + 2);
  for (const JobHandle& handle : handles) EXPECT_TRUE(executor->cancel(handle));
}

// ── faults that a real cluster does not show on demand: scripted answers (a simulation) ──────────────────────────────

struct ScriptedCommands final : io::Commands {
  struct Answer {
    std::string program;
    int code = 0;
    std::string out, err;
  };
  std::deque<Answer> answers;
  std::vector<std::string> asked;

  Result<io::CommandOutput> run(const io::CommandSpec& spec, Nanos, std::stop_token) override {
    asked.push_back(spec.argv[0] + (spec.argv.size() > 1 && spec.argv[0] == "scancel" ? " " + spec.argv[1] : ""));
    if (answers.empty() || answers.front().program != spec.argv[0]) {
      if (spec.argv[0] == "squeue") return io::CommandOutput{{.code = 0, .signal = {}}, "{\"jobs\":[]}", ""};
      if (spec.argv[0] == "sacct") return io::CommandOutput{{.code = 1, .signal = {}}, "", "Slurm accounting storage is disabled\n"};
      return io::CommandOutput{{.code = 0, .signal = {}}, "", ""};
    }
    const Answer answer = answers.front();
    answers.pop_front();
    return io::CommandOutput{{.code = answer.code, .signal = {}}, answer.out, answer.err};
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& command) const { return std::count(asked.begin(), asked.end(), command); }
};

std::string listed(std::int64_t id, const std::string& name, const std::string& state) {
  return codec::Json{{"jobs", {{{"job_id", id}, {"name", name}, {"job_state", state}, {"submit_time", 4'000'000'000}}}}}.dump();
}

class ScriptedSlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-exec-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::ofstream(folder_ / "spec.json") << "{}";
    settings_ = quick();
    settings_.poll = Millis{1};
    settings_.find_again = Millis{5};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  ScriptedCommands commands_;
  SlurmSettings settings_;
};

TEST_F(ScriptedSlurmTest, ALostReplyIsLookedForByNameBeforeASecondSubmit) {
  commands_.answers = {{"sbatch", 1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"},
                       {"squeue", 0, "{\"jobs\":[]}", ""},
                       {"squeue", 0, listed(41, "pawl-1.1.a", "PENDING"), ""}};
  const auto handle = make(commands_, "pawl", settings_)->submit("1.1.a", folder_);
  ASSERT_TRUE(handle) << handle.error().message;
  EXPECT_NE(handle->native.find("41"), std::string::npos) << handle->native;
  EXPECT_EQ(commands_.count("sbatch"), 1);
}

TEST_F(ScriptedSlurmTest, ASubmitThatWasNotFoundIsLookedForAgainInTheNextLife) {
  commands_.answers = {{"sbatch", 1, "", "sbatch: error: Unable to contact slurm controller (connect failure)\n"}};
  const auto lost = make(commands_, "pawl", settings_)->submit("1.1.a", folder_);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().cls, ErrorClass::kTransient);
  // It had arrived after all.
  commands_.answers = {{"squeue", 0, listed(42, "pawl-1.1.a", "RUNNING"), ""}};
  const auto found = make(commands_, "pawl", settings_)->submit("1.1.a", folder_);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(commands_.count("sbatch"), 1);
}

TEST_F(ScriptedSlurmTest, AJobThatAControllerBringsBackIsCancelledAndCounted) {
  commands_.answers = {{"sbatch", 0, "50\n", ""}, {"squeue", 0, listed(50, "pawl-1.1.a", "FAILED"), ""}};
  const auto executor = make(commands_, "pawl", settings_);
  const auto handle = executor->submit("1.1.a", folder_);
  ASSERT_TRUE(handle);
  auto state = executor->wait(*handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded);
  ::usleep(2000);
  commands_.answers = {{"squeue", 0, listed(50, "pawl-1.1.a", "PENDING"), ""}};
  state = executor->wait(*handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded);
  EXPECT_EQ(commands_.count("scancel 50"), 1);
  EXPECT_EQ(executor->duplicates_cancelled(), 1);
}

TEST_F(ScriptedSlurmTest, ASecondLiveJobOfTheNameIsCancelled) {
  commands_.answers = {
      {"sbatch", 0, "50\n", ""},
      {"squeue", 0,
       codec::Json{
           {"jobs", {{{"job_id", 50}, {"name", "pawl-1.1.a"}, {"job_state", "RUNNING"}}, {{"job_id", 49}, {"name", "pawl-1.1.a"}, {"job_state", "PENDING"}}}}}
           .dump(),
       ""}};
  const auto executor = make(commands_, "pawl", settings_);
  const auto handle = executor->submit("1.1.a", folder_);
  ASSERT_TRUE(handle);
  const auto state = executor->wait(*handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kRunning);
  EXPECT_EQ(commands_.count("scancel 49"), 1);
  EXPECT_EQ(commands_.count("scancel 50"), 0);
}

TEST_F(ScriptedSlurmTest, AnIdThatWasGivenAwayIsNotOurs) {
  settings_.record_lag = Seconds{600};
  commands_.answers = {{"sbatch", 0, "50\n", ""}, {"squeue", 0, listed(50, "pawl-someone-else", "COMPLETED"), ""}};
  const auto executor = make(commands_, "pawl", settings_);
  const auto handle = executor->submit("1.1.a", folder_);
  ASSERT_TRUE(handle);
  auto state = executor->wait(*handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kUnknown) << "it may not be listed yet";
  settings_.record_lag = Nanos{0};
  const auto later = make(commands_, "pawl", settings_);
  state = later->wait(*handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded);
  const auto failure = later->failure(*handle);
  ASSERT_TRUE(failure && *failure);
  EXPECT_EQ((**failure).cls, model::FailureClass::kInfrastructure);
}

TEST_F(ScriptedSlurmTest, NamesHoldOnlyWhatSlurmTakes) { EXPECT_EQ(plain_job_name("my box", "3.1.bench a/b"), "my_box-3.1.bench_a_b"); }

}  // namespace
}  // namespace pawl::exec
