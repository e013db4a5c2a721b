#include "exec/testing/job_executor_contract.h"

namespace pawl::exec {

TEST_P(JobExecutorContract, AJobRunsInItsFolderAndLeavesItsResultThere) {
  const auto executor = life();
  const auto folder = job("a", "echo out; echo result > result.json");
  const JobHandle handle = start(*executor, "1.1.a", folder);
  EXPECT_EQ(handle.key, "1.1.a");
  EXPECT_EQ(handle.folder, folder.string());
  const auto state = executor->wait(handle, Seconds{30}, {});
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, JobState::kEnded);
  EXPECT_EQ(text_of(folder / "result.json"), "result\n");
}

TEST_P(JobExecutorContract, AFailedJobHasEndedToo) {
  const auto executor = life();
  const JobHandle handle = start(*executor, "1.1.f", job("f", "exit 9"));
  const auto state = executor->wait(handle, Seconds{30}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded);
}

TEST_P(JobExecutorContract, SubmittingTwiceStartsOnce) {
  const auto executor = life();
  const auto folder = job("twice", "true");
  const JobHandle first = start(*executor, "1.1.twice", folder);
  const JobHandle again = start(*executor, "1.1.twice", folder);
  EXPECT_EQ(first.native, again.native);
  ASSERT_TRUE(executor->wait(first, Seconds{30}, {}));
  const JobHandle late = start(*life(), "1.1.twice", folder);
  EXPECT_EQ(first.native, late.native);
  ASSERT_TRUE(executor->wait(late, Seconds{30}, {}));
  EXPECT_EQ(text_of(folder / "starts"), "start\n");
}

TEST_P(JobExecutorContract, ThreadsThatSubmitOneKeyStartOnce) {
  const auto executor = life();
  const auto folder = job("threads", "true");
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(executor->submit("1.1.threads", folder)); });
  }
  const JobHandle handle = start(*executor, "1.1.threads", folder);
  ASSERT_TRUE(executor->wait(handle, Seconds{30}, {}));
  EXPECT_EQ(text_of(folder / "starts"), "start\n");
}

TEST_P(JobExecutorContract, ANewLifeFindsTheRunningJob) {
  const auto folder = job("recover", "echo up > up; while [ ! -f go ]; do sleep 0.02; done; echo result > result.json");
  const JobHandle handle = start(*life(), "1.1.recover", folder);
  ASSERT_TRUE(appears(folder / "up"));
  const auto later = life();
  const auto found = later->recover("1.1.recover", folder);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->native, handle.native);
  const auto running = later->wait(**found, Millis{20}, {});
  ASSERT_TRUE(running);
  EXPECT_EQ(*running, JobState::kRunning);
  std::ofstream(folder / "go") << "";
  const auto ended = later->wait(**found, Seconds{30}, {});
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, JobState::kEnded);
  EXPECT_TRUE(std::filesystem::exists(folder / "result.json"));
}

TEST_P(JobExecutorContract, AJobThatWasNeverStartedIsNotFound) {
  const auto found = life()->recover("1.1.never", job("never", "true"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->has_value());
}

TEST_P(JobExecutorContract, AFolderBelongsToOneKey) {
  const auto executor = life();
  const auto folder = job("owned", "true");
  start(*executor, "1.1.owned", folder);
  const auto other = executor->submit("2.1.owned", folder);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().cls, ErrorClass::kConflict);
}

TEST_P(JobExecutorContract, CancelEndsTheJobAndWhatItStarted) {
  const auto executor = life();
  // What it starts is told by its command line: in a container it has another process id.
  const std::string mark = (root_ / "cancelled-child").string();
  const auto folder = job("cancel", "sh -c 'echo up > child; while :; do sleep 0.2; done' " + mark + " & wait");
  const JobHandle handle = start(*executor, "1.1.cancel", folder);
  ASSERT_TRUE(appears(folder / "child"));
  EXPECT_GT(processes_with(mark), 0);
  const auto cancelled_job = executor->cancel(handle);
  ASSERT_TRUE(cancelled_job) << cancelled_job.error().message;
  const auto state = executor->wait(handle, Nanos{0}, {});
  ASSERT_TRUE(state);
  EXPECT_EQ(*state, JobState::kEnded);
  EXPECT_EQ(processes_with(mark), 0);
  EXPECT_TRUE(executor->cancel(handle)) << "a second cancel is fine";
}

TEST_P(JobExecutorContract, AStopEndsTheWaitAndNotTheJob) {
  const auto executor = life();
  const JobHandle handle = start(*executor, "1.1.stop", job("stop", "exec sleep 300"));
  std::stop_source source;
  source.request_stop();
  const auto state = executor->wait(handle, Seconds{60}, source.get_token());
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().cls, ErrorClass::kCancelled);
  const auto running = executor->wait(handle, Nanos{0}, {});
  ASSERT_TRUE(running);
  EXPECT_NE(*running, JobState::kEnded);
}

}  // namespace pawl::exec
