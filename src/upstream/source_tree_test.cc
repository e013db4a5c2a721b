#include "upstream/source_tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "posix/real_files.h"

namespace pawl::upstream {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string path, content, link;
};

std::string packed(const std::vector<Entry>& entries, bool zip) {
  std::string out(4 << 20, '\0');
  std::size_t used = 0;
  archive* a = archive_write_new();
  zip ? archive_write_set_format_zip(a) : archive_write_set_format_pax(a);
  if (!zip) archive_write_add_filter_gzip(a);
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const Entry& e : entries) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, e.path.c_str());
    archive_entry_set_perm(entry, 0644);
    if (e.link.empty()) {
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_size(entry, static_cast<la_int64_t>(e.content.size()));
    } else {
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, e.link.c_str());
    }
    archive_write_header(a, entry);
    archive_write_data(a, e.content.data(), e.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

class SourceTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pawl-upstream-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  posix::RealFiles files_;
  fs::path folder_;
};

TEST_F(SourceTreeTest, AFolderGivesWhatWasAskedForAndFollowsNoLink) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "tree/a/x.py", "x = 1\n"));
  ASSERT_TRUE(files_.write_atomic(folder_ / "tree/a/x.so", "no"));
  ASSERT_TRUE(files_.write_atomic(folder_ / "secret.py", "token = 1\n"));
  fs::create_symlink(folder_ / "secret.py", folder_ / "tree/link.py");
  fs::create_directory_symlink(folder_, folder_ / "tree/up");
  const auto tree = read_folder(files_, folder_ / "tree", {"*.py"});
  ASSERT_TRUE(tree) << tree.error().message;
  ASSERT_EQ(tree->files.size(), 1u);
  EXPECT_EQ(tree->files.begin()->first, "a/x.py");
}

TEST_F(SourceTreeTest, AHugeFileIsLeftOutWithANote) {
  ASSERT_TRUE(files_.write_atomic(folder_ / "big.py", std::string(2000, ' ')));
  ASSERT_TRUE(files_.write_atomic(folder_ / "small.py", "a = 1\n"));
  const auto tree = read_folder(files_, folder_, {"*.py"}, {.one = 1000});
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->files.size(), 1u);
  ASSERT_EQ(tree->notes.size(), 1u);
  EXPECT_NE(tree->notes[0].find("big.py"), std::string::npos);
}

TEST_F(SourceTreeTest, ArchivesOfBothKindsAreReadAndHostilePathsAreNot) {
  for (const bool zip : {true, false}) {
    const std::string bytes = packed({{"pkg/a.py", "a = 1\n", ""}, {"../out.py", "x", ""}, {"pkg/l.py", "", "/etc/passwd"}, {"pkg/b.bin", "b", ""}}, zip);
    const auto tree = read_archive(bytes, "p.whl", {"*.py"});
    ASSERT_TRUE(tree) << tree.error().message;
    ASSERT_EQ(tree->files.size(), 1u) << zip;
    EXPECT_EQ(tree->files.at("pkg/a.py"), "a = 1\n");
    EXPECT_EQ(tree->notes.size(), 2u);
    EXPECT_NE(tree->origin.find("sha256"), std::string::npos);
  }
}

TEST_F(SourceTreeTest, AnArchiveCutShortOrNoneIsAnError) {
  const std::string bytes = packed({{"a.py", std::string(100000, 'q'), ""}, {"b.py", "b", ""}}, false);
  EXPECT_FALSE(read_archive("not an archive", "x.whl", {"*.py"}));
  const auto cut = read_archive(bytes.substr(0, bytes.size() / 2), "x.tar.gz", {"*.py"});
  EXPECT_TRUE(!cut || !cut->notes.empty());
}

TEST_F(SourceTreeTest, TooManyEntriesAreRefused) {
  const std::string bytes = packed({{"a.py", "1", ""}, {"b.py", "1", ""}, {"c.py", "1", ""}}, true);
  EXPECT_FALSE(read_archive(bytes, "x.whl", {"*.py"}, {.files = 2}));
  EXPECT_FALSE(read_archive(bytes, "x.whl", {"*.py"}, {.total = 2}));
}

}  // namespace
}  // namespace pawl::upstream
