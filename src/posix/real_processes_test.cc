#include "posix/real_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/text.h"

namespace pawl::posix {
namespace {

namespace fs = std::filesystem;

class RealProcessesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pawl-processes-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    for (const auto& id : started_) (void)processes_.end_group(id, Nanos{0});
    fs::remove_all(folder_);
  }

  io::ProcessId start(const std::string& script) {
    io::ProcessSpec spec;
    spec.argv = {"sh", "-c", script};
    spec.folder = folder_;
    spec.output_file = folder_ / "out";
    auto id = processes_.launch(spec);
    EXPECT_TRUE(id) << id.error().message;
    if (!id) return {};
    started_.push_back(*id);
    return *id;
  }
  io::ProcessEnd end_of(const io::ProcessId& id) {
    const auto end = processes_.wait(id, Seconds{30}, {});
    EXPECT_TRUE(end && *end) << "it still runs";
    return end && *end ? **end : io::ProcessEnd{};
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(folder_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool appears(const std::string& name) const {
    for (int i = 0; i < 5000 && text_of(name).empty(); ++i) ::usleep(2000);
    return !text_of(name).empty();
  }
  /// Not running: gone, or only waiting for its parent to take note.
  static bool ended(const std::string& pid) {
    std::ifstream in("/proc/" + std::string(trim(pid)) + "/stat");
    std::string line;
    return !std::getline(in, line) || line.find(") Z ") != std::string::npos;
  }

  RealProcesses processes_;
  fs::path folder_;
  std::vector<io::ProcessId> started_;
};

TEST_F(RealProcessesTest, AnExitStatusComesBackAsOftenAsAskedFor) {
  const auto id = start("exit 7");
  EXPECT_EQ(end_of(id).code, 7);
  EXPECT_EQ(end_of(id).code, 7);
  EXPECT_FALSE(processes_.alive(id));
}

TEST_F(RealProcessesTest, ASignalIsToldFromAnExit) {
  const io::ProcessEnd end = end_of(start("kill -SEGV $$"));
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_FALSE(end.code);
  EXPECT_EQ(end.text(), "signal 11");
}

TEST_F(RealProcessesTest, OutputIsAppendedInTheWorkingFolder) {
  end_of(start("pwd; echo error >&2"));
  end_of(start("echo again"));
  EXPECT_EQ(text_of("out"), fs::canonical(folder_).string() + "\nerror\nagain\n");
}

TEST_F(RealProcessesTest, TheEnvironmentIsOursPlusWhatIsGiven) {
  io::ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", "echo $GIVEN; echo $HOME; [ -n \"$PATH\" ]"};
  spec.env = {{"GIVEN", "a b"}, {"HOME", "/replaced"}};
  spec.output_file = folder_ / "out";
  const auto id = processes_.launch(spec);
  ASSERT_TRUE(id);
  EXPECT_TRUE(end_of(*id).ok());
  EXPECT_EQ(text_of("out"), "a b\n/replaced\n");
}

TEST_F(RealProcessesTest, AProgramThatIsNotThereIsNotFound) {
  io::ProcessSpec spec;
  spec.argv = {"no-such-program-anywhere"};
  const auto id = processes_.launch(spec);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().cls, ErrorClass::kNotFound);
  EXPECT_NE(id.error().message.find("no-such-program-anywhere"), std::string::npos);
}

TEST_F(RealProcessesTest, AFileThatIsNoProgramIsAnErrorOfThisMachine) {
  std::ofstream(folder_ / "text") << "words";
  io::ProcessSpec spec;
  spec.argv = {(folder_ / "text").string()};
  const auto id = processes_.launch(spec);
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().exit, ExitStatus::kMachine);
}

TEST_F(RealProcessesTest, AWaitEndsAtItsLimitOrWhenStopped) {
  const auto id = start("exec sleep 300");
  auto end = processes_.wait(id, Millis{5}, {});
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->has_value());
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  end = processes_.wait(id, Seconds{300}, source.get_token());
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->has_value());
  EXPECT_TRUE(processes_.alive(id));
}

TEST_F(RealProcessesTest, EndingAGroupEndsWhatItStartedToo) {
  const auto id = start("sleep 300 & echo $! > child; wait");
  ASSERT_TRUE(appears("child"));
  const auto status = processes_.end_group(id, Seconds{5});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_FALSE(processes_.alive(id));
  EXPECT_TRUE(ended(text_of("child")));
  EXPECT_EQ(end_of(id).signal, SIGTERM);
}

TEST_F(RealProcessesTest, AGroupThatOutlivesItsLeaderIsEndedToo) {
  const auto id = start("sleep 300 & echo $! > child");
  EXPECT_TRUE(end_of(id).ok());
  EXPECT_FALSE(ended(text_of("child")));
  EXPECT_TRUE(processes_.end_group(id, Seconds{5}));
  EXPECT_TRUE(ended(text_of("child")));
}

TEST_F(RealProcessesTest, AGroupThatIgnoresTheRequestIsKilledAfterTheGrace) {
  const auto id = start("trap '' TERM; echo up > up; while :; do sleep 1; done");
  ASSERT_TRUE(appears("up"));
  EXPECT_TRUE(processes_.end_group(id, Millis{50}));
  EXPECT_EQ(end_of(id).signal, SIGKILL);
}

TEST_F(RealProcessesTest, AReusedNumberIsAnotherProcess) {
  const auto id = start("exec sleep 300");
  EXPECT_TRUE(processes_.alive(id));
  io::ProcessId other = id;
  other.start_ticks -= 1;
  EXPECT_FALSE(processes_.alive(other)) << "started at another time";
  EXPECT_TRUE(processes_.end_group(other, Nanos{0}));
  other = id;
  other.boot = "of another boot";
  EXPECT_FALSE(processes_.alive(other));
  EXPECT_TRUE(processes_.end_group(other, Nanos{0}));
  EXPECT_TRUE(processes_.alive(id)) << "ending somebody else's process did not touch it";
}

TEST_F(RealProcessesTest, ADependentProcessEndsWithTheThreadThatLaunchedIt) {
  io::ProcessId id;
  {
    std::jthread launcher([&] {
      io::ProcessSpec spec;
      spec.argv = {"sleep", "300"};
      spec.ends_with_parent = true;
      const auto launched = processes_.launch(spec);
      ASSERT_TRUE(launched);
      id = *launched;
    });
  }
  EXPECT_EQ(end_of(id).signal, SIGKILL);
}

}  // namespace
}  // namespace pawl::posix
