#include "exec/podman_executor.h"

#include <algorithm>

#include "exec/testing/job_executor_contract.h"
#include "exec/testing/podman_box.h"
#include "posix/real_clock.h"
#include "posix/real_commands.h"
#include "posix/real_files.h"
#include "posix/real_processes.h"

namespace pawl::exec {
namespace {

std::unique_ptr<PodmanExecutor> make(const std::string& program, const std::string& image) {
  static posix::RealCommands commands;
  static posix::RealProcesses processes;
  static posix::RealFiles files;
  static posix::RealClock clock;
  PodmanSettings settings;
  settings.container.image = image;
  settings.poll = Millis{50};
  return std::make_unique<PodmanExecutor>(commands, processes, files, clock, program, std::move(settings));
}

std::unique_ptr<JobExecutor> podman_executor(const std::string& program) {
  if (!testing::PodmanBox::instance().up()) return nullptr;  // Debian: podman runc conmon busybox-static; as root
  return make(program, testing::PodmanBox::image());
}

INSTANTIATE_TEST_SUITE_P(Podman, JobExecutorContract, ::testing::Values(ExecutorFactory(podman_executor)));

class RealPodmanTest : public JobExecutorContract {};
INSTANTIATE_TEST_SUITE_P(Podman, RealPodmanTest, ::testing::Values(ExecutorFactory(podman_executor)));

TEST_P(RealPodmanTest, TheJobIsInTheImageKnowsItsDigestAndLeavesNothingForeign) {
  const auto executor = life();
  const auto folder =
      job("inside", "ls / > seen 2>/dev/null || echo / > seen; echo $PAWL_IMAGE_DIGEST > digest; mkdir -p deep 2>/dev/null; echo x > result.json");
  const JobHandle handle = start(*executor, "1.1.inside", folder);
  ASSERT_TRUE(executor->wait(handle, Seconds{30}, {}));
  EXPECT_EQ(text_of(folder / "digest").substr(0, 7), "sha256:");
  EXPECT_NE(handle.native.find(text_of(folder / "digest").substr(0, 20)), std::string::npos) << handle.native;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat found {};
    ASSERT_EQ(::stat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_uid, ::geteuid()) << entry.path();
  }
  EXPECT_NE(std::system("podman container exists pawl-1.1.inside >/dev/null 2>&1"), 0) << "nothing of it stays";
}

TEST_P(RealPodmanTest, AnImageThatCannotBeHadIsTheFailureOfTheJob) {
  const auto executor = make(program_.string(), "127.0.0.1:9/none/such:1");
  const JobHandle handle = start(*executor, "1.1.none", job("none", "true"));
  const auto state = executor->wait(handle, Seconds{5}, {});
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(*state, JobState::kEnded);
  const auto failure = executor->failure(handle);
  ASSERT_TRUE(failure && *failure);
  EXPECT_EQ((*failure)->cls, model::FailureClass::kImage);
  EXPECT_NE((*failure)->message.find("127.0.0.1:9/none/such:1"), std::string::npos) << (*failure)->message;
}

TEST_P(RealPodmanTest, APodmanThatWasKilledLeavesItsJobToTheNextLife) {
  const auto folder = job("killed", "echo up > up; while [ ! -f go ]; do sleep 0.02; done; echo result > result.json");
  const JobHandle handle = start(*life(), "1.1.killed", folder);
  ASSERT_TRUE(appears(folder / "up"));
  const std::string record = text_of(folder / kPodmanFile);
  const auto at = record.find("\"pid\": ");
  ASSERT_NE(at, std::string::npos) << record;
  ASSERT_EQ(::kill(std::stoi(record.substr(at + 7)), SIGKILL), 0);
  const auto later = life();
  const auto running = later->wait(handle, Millis{300}, {});
  ASSERT_TRUE(running) << running.error().message;
  EXPECT_EQ(*running, JobState::kRunning) << "the container lives on without its podman";
  std::ofstream(folder / "go") << "";
  const auto ended = later->wait(handle, Seconds{30}, {});
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, JobState::kEnded);
  EXPECT_TRUE(std::filesystem::exists(folder / "result.json"));
}

TEST(ContainerCommandTest, TheImageIsRunByItsDigestWithDevicesAndMounts) {
  ContainerSettings settings;
  settings.devices = {"nvidia.com/gpu=all"};
  settings.mounts = {"/models:/models:ro"};
  const ContainerJob job{"pawl-1.1.a", "1.1.a", "reg.example:5000/eng/x:v1", "sha256:abc", "/w/runs/1/1/a", "/usr/bin/pawl"};
  const auto argv = podman_command(settings, job);
  const auto has = [&](const std::string& word) { return std::ranges::find(argv, word) != argv.end(); };
  EXPECT_TRUE(has("reg.example:5000/eng/x@sha256:abc"));
  EXPECT_TRUE(has("--device=nvidia.com/gpu=all"));
  EXPECT_TRUE(has("--volume=/models:/models:ro"));
  EXPECT_TRUE(has("--volume=/usr/bin/pawl:/usr/bin/pawl:ro"));
  EXPECT_EQ(argv.back(), "spec.json");
  settings.program = "/opt/pawl";
  const auto srun = pyxis_command(settings, job);
  EXPECT_EQ(srun[1], "--container-image=reg.example:5000/eng/x:v1");
  EXPECT_EQ(srun[2], "--container-mounts=/w/runs/1/1/a:/w/runs/1/1/a,/w/runs/1/1/a:/workspace,/models:/models:ro");
  EXPECT_EQ(srun[srun.size() - 3], "/opt/pawl");
}

}  // namespace
}  // namespace pawl::exec
