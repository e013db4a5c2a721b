#include "forge/local_forge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "forge/unified_diff.h"
#include "io/domain/testing/forge_contract.h"
#include "posix/real_clock.h"
#include "posix/real_files.h"

namespace pawl::forge {
namespace {

const std::map<std::string, std::string> kCatalogue{{"recipes.yaml", "image: a\n"}, {"docs/note.md", "note\n"}};
constexpr const char* kAuthor = "pawl <pawl@localhost>";
constexpr const char* kTime = "2026-11-30T16:00:00Z";

class LocalWorld final : public io::testing::ForgeWorld {
 public:
  LocalWorld() {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() / ("pawl-forge-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    database_.emplace(store::Database::open(folder_ / "pawl.db", {forge_schema()}).value());
    forge_.emplace(LocalForge::open(folder_ / "forge.git", *database_, clock_).value());
    base_ = forge_->import_catalogue(kCatalogue, "Catalogue\n", kAuthor, kTime).value();
  }
  ~LocalWorld() override { std::filesystem::remove_all(folder_); }
  LocalForge& forge() override { return *forge_; }
  std::string base() override { return base_; }
  void push_by_somebody(const std::string& branch) override {
    // A second forge on the same repository, without our tables: a push from outside.
    store::Database other = store::Database::open(folder_ / "other.db", {forge_schema()}).value();
    LocalForge outside = LocalForge::open(folder_ / "forge.git", other, clock_).value();
    const std::string head = outside.head(branch).value().value();
    ASSERT_TRUE(outside.commit({branch, head, {{"foreign.txt", "x"}}, "By hand", "somebody <s@example.org>", kTime}));
  }
  void comment_by_somebody(ChangeRequestId id, const std::string& body) override { ASSERT_TRUE(forge_->add_foreign_comment(id, "somebody", body)); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  posix::RealClock clock_;
  std::optional<store::Database> database_;
  std::optional<LocalForge> forge_;
  std::string base_;
};

TEST(LocalForge, ImportingTheSameCatalogueAgainIsTheSameCommit) {
  LocalWorld world;
  EXPECT_EQ(world.forge().import_catalogue(kCatalogue, "Again\n", kAuthor, "2027-01-01T00:00:00Z").value(), world.base());
  auto changed = kCatalogue;
  changed["recipes.yaml"] = "image: z\n";
  changed.erase("docs/note.md");
  const auto next = world.forge().import_catalogue(changed, "Again\n", kAuthor, "2027-01-01T00:00:00Z");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_NE(*next, world.base());
  EXPECT_FALSE(world.forge().read(*next, "docs/note.md"));
}

TEST(LocalForge, CommitsDependOnlyOnWhatIsInThem) {
  LocalWorld a, b;
  EXPECT_EQ(a.base(), b.base());
}

TEST(LocalForge, WhatWasWrittenIsThereAfterOpeningAgain) {
  LocalWorld world;
  const auto head = world.forge().commit({"pawl/x", world.base(), {{"recipes.yaml", "image: b\n"}}, "Move", kAuthor, kTime});
  ASSERT_TRUE(head);
  ASSERT_TRUE(world.forge().open("pawl/x", "T", "B", "pawl"));
  posix::RealClock clock;
  auto database = store::Database::open(world.folder() / "pawl.db", {forge_schema()});
  ASSERT_TRUE(database);
  auto again = LocalForge::open(world.folder() / "forge.git", *database, clock);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->list().value().at(0).head, *head);
  EXPECT_EQ(again->list().value().at(0).number, 1);
  EXPECT_EQ(again->list().value().at(0).url, "pawl:cr/1");
}

TEST(LocalForge, ABranchUsedAgainAfterACloseGetsANewRequest) {
  LocalWorld world;
  const auto first_head = world.forge().commit({"pawl/x", world.base(), {{"recipes.yaml", "image: b\n"}}, "Move", kAuthor, kTime}).value();
  const auto first = world.forge().open("pawl/x", "T", "B", "pawl").value();
  ASSERT_TRUE(world.forge().close(first, "pawl"));
  ASSERT_TRUE(world.forge().delete_branch("pawl/x", first_head).value());
  EXPECT_EQ(world.forge().open("pawl/x", "T", "B", "pawl").value(), first);
  ASSERT_TRUE(world.forge().commit({"pawl/x", world.base(), {{"recipes.yaml", "image: c\n"}}, "Move", kAuthor, kTime}));
  const auto second = world.forge().open("pawl/x", "T", "B", "pawl").value();
  EXPECT_EQ(second.value, 2);
  EXPECT_EQ(world.forge().get(first).value().head, first_head);
}

TEST(LocalForge, TheDifferenceOfARequestIsAgainstWhereItLeftTheBase) {
  LocalWorld world;
  ASSERT_TRUE(world.forge().commit({"pawl/x", world.base(), {{"recipes.yaml", "image: b\n"}, {"new.txt", "n\n"}}, "Move", kAuthor, kTime}));
  const auto id = world.forge().open("pawl/x", "T", "B", "pawl").value();
  auto moved = kCatalogue;
  moved["docs/note.md"] = "other\n";
  ASSERT_TRUE(world.forge().import_catalogue(moved, "Base moves\n", kAuthor, kTime));
  const auto diff = world.forge().diff(id);
  ASSERT_TRUE(diff) << diff.error().message;
  EXPECT_EQ(
      *diff,
      "diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000..8ba3a16\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n"
      "diff --git a/recipes.yaml b/recipes.yaml\nindex 003b3d9..8a617ec 100644\n--- a/recipes.yaml\n+++ b/recipes.yaml\n@@ -1 +1 @@\n-image: a\n+image: b\n");
}

TEST(LocalForge, TimesAuthorsAndBranchesThatMeanNothingAreRefused) {
  LocalWorld world;
  const io::CommitRequest good{"pawl/x", world.base(), {{"a", "b"}}, "m", kAuthor, kTime};
  const auto refused = [&](auto change) {
    io::CommitRequest request = good;
    change(request);
    const auto made = world.forge().commit(request);
    return !made && made.error().exit == ExitStatus::kBadInput;
  };
  EXPECT_TRUE(refused([](auto& r) { r.time = "2026-02-30T00:00:00Z"; }));
  EXPECT_TRUE(refused([](auto& r) { r.time = "now"; }));
  EXPECT_TRUE(refused([](auto& r) { r.author = "pawl"; }));
  EXPECT_TRUE(refused([](auto& r) { r.branch = "a..b"; }));
  EXPECT_TRUE(refused([](auto& r) { r.branch = "-x"; }));
  EXPECT_TRUE(refused([](auto& r) { r.parent = "HEAD"; }));
  EXPECT_TRUE(refused([](auto& r) { r.files = {{"d", "1"}, {"d/e", "2"}}; }));
  EXPECT_TRUE(world.forge().commit(good));
}

TEST(UnifiedDiff, IsWhatGitDiffPrints) {
  std::string before, after;
  for (int i = 1; i <= 12; ++i) {
    before += "line " + std::to_string(i) + "\n";
    after += i == 6 ? "changed\n" : "line " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(unified_diff("configs/a.yaml", before, after).value(), R"(diff --git a/configs/a.yaml b/configs/a.yaml
index 624b469..5dc285c 100644
--- a/configs/a.yaml
+++ b/configs/a.yaml
@@ -3,7 +3,7 @@ line 2
 line 3
 line 4
 line 5
-line 6
+changed
 line 7
 line 8
 line 9
)");
  EXPECT_EQ(unified_diff("a", before, before).value(), "");
}

TEST(UnifiedDiff, KnowsNewDeletedEmptyAndUnendedFiles) {
  EXPECT_EQ(unified_diff("n", std::nullopt, "x\n").value(),
            "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..587be6b\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(unified_diff("n", "x\n", std::nullopt).value(),
            "diff --git a/n b/n\ndeleted file mode 100644\nindex 587be6b..0000000\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
  EXPECT_EQ(unified_diff("n", "", "x").value(),
            "diff --git a/n b/n\nindex e69de29..c1b0730 100644\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n");
}

}  // namespace
}  // namespace pawl::forge

namespace pawl::io::testing {
INSTANTIATE_TEST_SUITE_P(Local, ForgeContract, ::testing::Values(MakeForgeWorld([] { return std::make_unique<forge::LocalWorld>(); })));
}  // namespace pawl::io::testing
