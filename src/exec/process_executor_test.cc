#include "exec/process_executor.h"

#include "exec/process_record.h"
#include "exec/testing/job_executor_contract.h"
#include "posix/real_clock.h"
#include "posix/real_files.h"
#include "posix/real_processes.h"

namespace pawl::exec {
namespace {

/// A fresh executor over a world that outlives every test: what a restart of pawl gives.
std::unique_ptr<JobExecutor> process_executor(const std::string& program) {
  static posix::RealProcesses processes;
  static posix::RealFiles files;
  static posix::RealClock clock;
  return std::make_unique<ProcessExecutor>(processes, files, clock, program);
}

INSTANTIATE_TEST_SUITE_P(Process, JobExecutorContract, testing::Values(ExecutorFactory(process_executor)));

class ProcessExecutorTest : public JobExecutorContract {};
INSTANTIATE_TEST_SUITE_P(Process, ProcessExecutorTest, testing::Values(ExecutorFactory(process_executor)));

TEST_P(ProcessExecutorTest, WithoutASpecNothingStarts) {
  const auto handle = life()->submit("1.1.x", root_ / "nowhere");
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().cls, ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(root_ / "nowhere"));
}

TEST_P(ProcessExecutorTest, OutputGoesToTheLogOfTheJob) {
  const auto executor = life();
  const auto folder = job("log", "echo words; echo more >&2");
  ASSERT_TRUE(executor->wait(start(*executor, "1.1.log", folder), Seconds{30}, {}));
  EXPECT_EQ(text_of(folder / "job.log"), "words\nmore\n");
}

TEST_P(ProcessExecutorTest, AHolderOfTheLockIsAdoptedWhenTheRecordIsMissing) {
  // What a pawl leaves that died between the start of the job and its record.
  const auto executor = life();
  const auto folder = job("adopt", "exec sleep 300");
  const JobHandle lost = start(*executor, "1.1.adopt", folder);
  std::filesystem::rename(folder / kProcessFile, folder / kLockFile);
  const JobHandle adopted = start(*life(), "1.1.adopt", folder);
  EXPECT_EQ(adopted.native, lost.native);
  EXPECT_TRUE(std::filesystem::exists(folder / kProcessFile));
  EXPECT_TRUE(executor->cancel(adopted));
}

TEST_P(ProcessExecutorTest, TheJobRunsAsLongAsTheHolderOfTheLock) {
  const auto executor = life();
  const auto holder_folder = job("holder", "exec sleep 300");
  const JobHandle holder = start(*executor, "1.1.holder", holder_folder);
  const auto folder = job("second", "exit 4");
  const JobHandle second = start(*executor, "1.1.second", folder);
  std::filesystem::copy_file(holder_folder / kProcessFile, folder / kLockFile);
  auto state = executor->wait(second, Millis{50}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kRunning);
  EXPECT_TRUE(executor->cancel(second));
  state = executor->wait(holder, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded) << "cancel ends the holder too";
}

TEST(ProcessRecordTest, ARecordReadsBack) {
  const ProcessRecord record{"1.2.job", {4711, 99, "boot"}};
  const auto back = parse_record(write_record(record), "t");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->key, record.key);
  EXPECT_EQ(back->process, record.process);
  EXPECT_FALSE(parse_record("{}", "t"));
  EXPECT_FALSE(parse_record("", "t"));
}

TEST(ProcessRecordTest, TheOwnProcessIsAlive) {
  posix::RealFiles files;
  const auto self = own_process(files);
  ASSERT_TRUE(self) << self.error().message;
  EXPECT_EQ(self->pid, ::getpid());
  EXPECT_TRUE(posix::RealProcesses().alive(*self));
}

}  // namespace
}  // namespace pawl::exec
