#include "posix/real_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace pawl::posix {
namespace {

namespace fs = std::filesystem;

class RealFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pawl-files-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
  RealFiles files_;
};

TEST_F(RealFilesTest, BytesComeBackAsTheyWereWritten) {
  const std::string bytes("zero\0line\r\n\xff", 12);
  ASSERT_TRUE(files_.write_atomic(folder_ / "new" / "deep" / "file", bytes));
  const auto back = files_.read(folder_ / "new" / "deep" / "file");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, bytes);
}

TEST_F(RealFilesTest, AWriteReplacesTheWholeFileAndLeavesNothingBeside) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "file", "a long first text"));
  ASSERT_TRUE(files_.write_atomic(folder_ / "file", "short"));
  EXPECT_EQ(*files_.read(folder_ / "file"), "short");
  EXPECT_EQ(*files_.list_tree(folder_), std::vector<std::string>{"file"});
}

TEST_F(RealFilesTest, AReaderSeesOldOrNewAndNothingBetween) {
  const std::string a(200'000, 'a'), b(100'000, 'b');
  ASSERT_TRUE(files_.write_atomic(folder_ / "file", a));
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(files_.write_atomic(folder_ / "file", i % 2 == 0 ? b : a));
    done = true;
  });
  while (!done) {
    const auto seen = files_.read(folder_ / "file");
    ASSERT_TRUE(seen) << seen.error().message;
    ASSERT_TRUE(*seen == a || *seen == b) << seen->size();
  }
}

TEST_F(RealFilesTest, AFileOverTheLimitIsRefused) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "file", "12345"));
  EXPECT_TRUE(files_.read(folder_ / "file", 5));
  const auto refused = files_.read(folder_ / "file", 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cls, ErrorClass::kInvalid);
}

TEST_F(RealFilesTest, ErrorsNameThePathAndWhatToDo) {
  const auto missing = files_.read(folder_ / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().cls, ErrorClass::kNotFound);
  EXPECT_NE(missing.error().message.find((folder_ / "none").string()), std::string::npos);
  const auto folder = files_.read(folder_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().cls, ErrorClass::kInvalid);
  ASSERT_TRUE(files_.write_atomic(folder_ / "file", ""));
  const auto below = files_.write_atomic(folder_ / "file" / "x", "y");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().exit, ExitStatus::kMachine);
}

TEST_F(RealFilesTest, AReadOnlyFolderIsAnErrorOfThisMachine) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const auto refused = files_.write_atomic(folder_ / "file", "x");
  fs::permissions(folder_, fs::perms::owner_all);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit, ExitStatus::kMachine);
  EXPECT_FALSE(refused.error().remedy.empty());
}

TEST_F(RealFilesTest, ATreeIsListedSortedWithoutFollowingLinks) {
  for (const char* name : {"b", "a/z", "a/b/c"}) ASSERT_TRUE(files_.write_atomic(folder_ / name, "x"));
  fs::create_symlink(folder_ / "b", folder_ / "link");
  fs::create_directory_symlink("/", folder_ / "root");
  const auto names = files_.list_tree(folder_);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(*names, (std::vector<std::string>{"a/b/c", "a/z", "b"}));
  EXPECT_FALSE(files_.list_tree(folder_ / "none"));
}

TEST_F(RealFilesTest, RemovingATreeTwiceIsFine) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "a/b", "x"));
  EXPECT_TRUE(files_.remove_tree(folder_ / "a"));
  EXPECT_FALSE(files_.exists(folder_ / "a"));
  EXPECT_TRUE(files_.remove_tree(folder_ / "a"));
}

}  // namespace
}  // namespace pawl::posix
