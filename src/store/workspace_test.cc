#include "store/workspace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "posix/real_files.h"

namespace pawl::store {
namespace {

class WorkspaceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pawl-workspace-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  posix::RealFiles files_;
  std::filesystem::path folder_;
};

TEST_F(WorkspaceTest, AFolderWithoutMarkerIsNotFoundAndSaysWhatToRun) {
  const auto opened = Workspace::open(files_, folder_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().cls, ErrorClass::kNotFound);
  EXPECT_EQ(opened.error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(opened.error().remedy, "run pawl demo, or pawl init");
}

TEST_F(WorkspaceTest, MakingOneTwiceGivesTheSameOne) {
  const auto made = Workspace::create_or_open(files_, folder_, "2026-11-30T16:03:27Z");
  ASSERT_TRUE(made) << made.error().message;
  const auto before = files_.read(made->marker());
  ASSERT_TRUE(Workspace::create_or_open(files_, folder_, "2027-01-01T00:00:00Z"));
  EXPECT_EQ(files_.read(made->marker()).value(), before.value());
  const auto opened = Workspace::open(files_, folder_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->database(), folder_ / "pawl.db");
  EXPECT_EQ(opened->job_folder(7, 2, "bench-1"), folder_ / "runs/7/2/bench-1");
}

TEST_F(WorkspaceTest, ANewerSchemaAndAForeignFileAreRefused) {
  for (const char* text : {"schema: pawl.workspace/2\n", "schema: other/1\n", "[1, 2]\n", "schema: pawl.workspace/x\n"}) {
    ASSERT_TRUE(files_.write_atomic(folder_ / "pawl.yaml", text));
    const auto opened = Workspace::create_or_open(files_, folder_);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().exit, ExitStatus::kBadInput);
    EXPECT_TRUE(opened.error().place.has_value());
  }
}

TEST_F(WorkspaceTest, ASecondLockNamesTheFirstHolderUntilItLetsGo) {
  const auto made = Workspace::create_or_open(files_, folder_);
  ASSERT_TRUE(made);
  {
    const auto first = made->lock();
    ASSERT_TRUE(first) << first.error().message;
    const auto second = made->lock();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().cls, ErrorClass::kConflict);
    EXPECT_EQ(second.error().exit, ExitStatus::kMachine);
    EXPECT_EQ(second.error().message, "workspace " + folder_.string() + " is in use by pawl PID " + std::to_string(::getpid()));
  }
  EXPECT_TRUE(made->lock());
}

}  // namespace
}  // namespace pawl::store
