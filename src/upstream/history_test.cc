#include "upstream/history.h"

#include <git2.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "upstream/source_tree.h"

namespace pawl::upstream {
namespace {

namespace fs = std::filesystem;

/// A repository that a test writes commit by commit. A commit says all files that it has.
class HistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    git_libgit2_init();
    std::string name = (fs::temp_directory_path() / "pawl-history-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(git_repository_init(&repo_, folder_.c_str(), 1), 0);
  }
  void TearDown() override {
    git_repository_free(repo_);
    fs::remove_all(folder_);
  }
  std::string commit(const std::string& message, const std::map<std::string, std::string>& files) {
    git_index* index = nullptr;
    git_index_new(&index);
    for (const auto& [path, text] : files) {
      git_index_entry entry{};
      entry.path = path.c_str();
      entry.mode = GIT_FILEMODE_BLOB;
      git_blob_create_from_buffer(&entry.id, repo_, text.data(), text.size());
      git_index_add(index, &entry);
    }
    git_oid tree_id, id;
    git_index_write_tree_to(&tree_id, index, repo_);
    git_index_free(index);
    git_tree* tree = nullptr;
    git_tree_lookup(&tree, repo_, &tree_id);
    git_signature* who = nullptr;
    git_signature_new(&who, "t", "t@t", 1'780'000'000 + 60 * count_++, 0);
    git_commit* parent = nullptr;
    if (!head_.empty()) {
      git_oid parent_id;
      git_oid_fromstr(&parent_id, head_.c_str());
      git_commit_lookup(&parent, repo_, &parent_id);
    }
    const git_commit* parents[] = {parent};
    git_commit_create(&id, repo_, "refs/heads/main", who, who, nullptr, message.c_str(), tree, parent != nullptr ? 1 : 0, parents);
    git_commit_free(parent);
    git_signature_free(who);
    git_tree_free(tree);
    char text[GIT_OID_HEXSZ + 1];
    return head_ = git_oid_tostr(text, sizeof text, &id);
  }
  fs::path folder_;
  git_repository* repo_ = nullptr;
  std::string head_;
  int count_ = 0;
};

TEST_F(HistoryTest, ChangesUnderAPathCarryTheirNumberAndNoneIsSaid) {
  const std::string first = commit("start", {{"srv/a.py", "a = 1\n"}, {"doc/x", "x"}, {"old/y", "y"}});
  commit("docs only (#10)", {{"srv/a.py", "a = 1\n"}, {"doc/x", "xx"}, {"old/y", "y"}});
  const std::string third = commit("rename a (#11)\n\nbody", {{"srv/a.py", "b = 1\n"}, {"doc/x", "xx"}, {"old/y", "y"}});
  const auto history = changes_under(folder_, first, "main", {"srv", "old"}, {});
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->looked_at, 2u);
  ASSERT_EQ(history->changes.size(), 1u);
  EXPECT_EQ(history->changes[0].commit, third);
  EXPECT_EQ(history->changes[0].number, "#11");
  EXPECT_EQ(history->none, std::vector<std::string>{"old"});
  EXPECT_TRUE(history->straight);
  EXPECT_FALSE(changes_under(folder_, "nowhere", "main", {}, {}));
}

TEST_F(HistoryTest, TheBreakingCommitIsFoundAmongFiveHundred) {
  std::map<std::string, std::string> files{{"srv/args.py", "add('--retry-limit')\nadd('--port')\n"}, {"srv/run.py", "use(retry_limit)\n"}, {"doc/notes", ""}};
  const std::string first = commit("start", files);
  std::string culprit, before;
  for (int i = 1; i <= 500; ++i) {
    files["doc/notes"] += "note " + std::to_string(i) + "\n";
    // Noise under the same path: every fifth commit touches it, some speak of retries or of the flag's neighbours.
    if (i % 5 == 0) files["srv/run.py"] += "step(" + std::to_string(i) + ")  # port\n";
    if (i % 50 == 0) files["srv/run.py"] += "log('retry_limit is', retry_limit)\n";
    std::string message = "work " + std::to_string(i);
    if (i == 337) {
      before = head_;
      files["srv/args.py"] = "add('--attempts')\nadd('--port')\n";
      message = "server: clearer naming (#900)";
    }
    const std::string id = commit(message, files);
    if (i == 337) culprit = id;
  }
  const auto found = find_culprit(folder_, first, "main", "srv", "serve: error: unrecognized arguments: --retry-limit 3", {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->history.looked_at, 500u);
  ASSERT_FALSE(found->suspects.empty());
  EXPECT_EQ(found->suspects[0].change.commit, culprit);
  EXPECT_EQ(found->suspects[0].change.parent, before);
  EXPECT_EQ(found->suspects[0].change.number, "#900");
  EXPECT_NE(found->suspects[0].reasons.at(0).find("removes --retry-limit"), std::string::npos);
}

TEST_F(HistoryTest, ASymptomWithoutWordsAndAPathWithoutChangesAreSaid) {
  const std::string first = commit("start", {{"a/x", "1"}, {"b/y", "1"}});
  commit("next", {{"a/x", "2"}, {"b/y", "1"}});
  EXPECT_FALSE(find_culprit(folder_, first, "main", "a", "the error was not", {}));
  const auto none = find_culprit(folder_, first, "main", "b", "--flag", {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->suspects.empty());
  EXPECT_EQ(none->history.none, std::vector<std::string>{"b"});
}

TEST_F(HistoryTest, ATreeIsReadFromACommit) {
  const std::string first = commit("start", {{"p/a.py", "a = 1\n"}, {"p/b.txt", "b"}});
  commit("next", {{"p/a.py", "a = 2\n"}});
  const auto tree = read_git(folder_, first.substr(0, 10), {"*.py"});
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(tree->revision, first);
  EXPECT_EQ(tree->files.at("p/a.py"), "a = 1\n");
  EXPECT_EQ(tree->files.size(), 1u);
  EXPECT_FALSE(read_git(folder_, "v9", {"*.py"}));
}

TEST(SymptomWords, AreIdentifiersAndFlagsInBothSpellings) {
  const auto words = symptom_words("TypeError: Scheduler.__init__() got an unexpected keyword argument 'kv_cache' --tp-size 4");
  EXPECT_NE(std::ranges::find(words, "kv_cache"), words.end());
  EXPECT_NE(std::ranges::find(words, "--tp-size"), words.end());
  EXPECT_NE(std::ranges::find(words, "tp_size"), words.end());
  EXPECT_EQ(std::ranges::find(words, "argument"), words.end());
}

}  // namespace
}  // namespace pawl::upstream
