#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "io/domain/forge.h"

namespace pawl::io::testing {

/// What the suite needs of one implementation: a fresh forge whose base branch holds `recipes.yaml` ("image: a\n") and
/// `docs/note.md` ("note\n").
struct ForgeWorld {
  virtual ~ForgeWorld() = default;
  virtual Forge& forge() = 0;
  /// The commit of the base branch.
  virtual std::string base() = 0;
  /// Another person's push: `branch` moves to a commit that pawl did not make.
  virtual void push_by_somebody(const std::string& branch) = 0;
  /// Another person's comment.
  virtual void comment_by_somebody(ChangeRequestId id, const std::string& body) = 0;
};

using MakeForgeWorld = std::function<std::unique_ptr<ForgeWorld>()>;

/// What every Forge must do, whatever is behind it: io/domain/forge.h and upgrade-loop 20, 21.5, 25. Instantiate with
/// INSTANTIATE_TEST_SUITE_P(Name, ForgeContract, ::testing::Values(...)).
class ForgeContract : public ::testing::TestWithParam<MakeForgeWorld> {
 protected:
  void SetUp() override {
    world_ = GetParam()();
    ASSERT_NE(world_, nullptr);
  }
  Forge& forge() { return world_->forge(); }
  CommitRequest edit_image(const std::string& image = "b") {
    return {"pawl/auto-1",           world_->base(),        {{"recipes.yaml", "image: " + image + "\n"}}, "Move to " + image + "\n",
            "pawl <pawl@localhost>", "2026-11-30T16:03:27Z"};
  }
  ChangeRequestId opened() {
    EXPECT_TRUE(forge().commit(edit_image()));
    const auto id = forge().open("pawl/auto-1", "Move to b", "Body", "pawl");
    EXPECT_TRUE(id) << id.error().message;
    return *id;
  }
  std::unique_ptr<ForgeWorld> world_;
};

TEST_P(ForgeContract, ABranchThatIsNotThereHasNoHead) {
  const auto head = forge().head("pawl/none");
  ASSERT_TRUE(head);
  EXPECT_FALSE(head->has_value());
}

TEST_P(ForgeContract, ACommitMakesTheBranchAndChangesOnlyItsFiles) {
  const auto made = forge().commit(edit_image());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size(), 40U);
  EXPECT_EQ(forge().head("pawl/auto-1").value(), *made);
  EXPECT_EQ(forge().read(*made, "recipes.yaml").value(), "image: b\n");
  EXPECT_EQ(forge().read(*made, "docs/note.md").value(), "note\n");
  EXPECT_EQ(forge().read(world_->base(), "recipes.yaml").value(), "image: a\n");
}

TEST_P(ForgeContract, ReadingWhatIsNotThereIsNotFound) {
  for (const char* path : {"none.yaml", "docs", "docs/none.md", "recipes.yaml/x"}) {
    const auto bytes = forge().read(world_->base(), path);
    ASSERT_FALSE(bytes) << path;
    EXPECT_EQ(bytes.error().cls, ErrorClass::kNotFound) << path;
  }
}

TEST_P(ForgeContract, ARepeatedCommitIsTheSameCommit) {
  const auto first = forge().commit(edit_image());
  const auto again = forge().commit(edit_image());
  ASSERT_TRUE(first && again);
  EXPECT_EQ(*first, *again);
  auto later = edit_image();
  later.time = "2026-11-30T17:00:00Z";
  EXPECT_EQ(forge().commit(later).value(), *first);
}

TEST_P(ForgeContract, CommitsFollowEachOther) {
  const auto first = forge().commit(edit_image());
  ASSERT_TRUE(first);
  auto next = edit_image("c");
  next.parent = *first;
  const auto second = forge().commit(next);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_NE(*second, *first);
  EXPECT_EQ(forge().head("pawl/auto-1").value(), *second);
}

TEST_P(ForgeContract, ABranchThatSomebodyMovedIsAConflict) {
  const auto first = forge().commit(edit_image());
  ASSERT_TRUE(first);
  world_->push_by_somebody("pawl/auto-1");
  const auto foreign = forge().head("pawl/auto-1").value().value();
  ASSERT_NE(foreign, *first);
  auto next = edit_image("c");
  next.parent = *first;
  for (const auto& request : {edit_image(), next}) {
    const auto refused = forge().commit(request);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cls, ErrorClass::kConflict);
  }
  EXPECT_EQ(forge().head("pawl/auto-1").value(), foreign);
}

TEST_P(ForgeContract, PathsOutsideTheRepositoryAreRefused) {
  for (const char* path : {"../x", "/etc/x", "a/../../x", ".git/config", "a/.GIT/x", "", "a//b", "./a", "docs", "recipes.yaml/x"}) {
    auto request = edit_image();
    request.files = {{path, "x"}};
    const auto made = forge().commit(request);
    ASSERT_FALSE(made) << path;
    EXPECT_EQ(made.error().cls, ErrorClass::kInvalid) << path;
  }
  EXPECT_FALSE(forge().head("pawl/auto-1").value().has_value());
}

TEST_P(ForgeContract, ABranchIsDeletedOnlyWhileItsHeadIsTheExpectedOne) {
  const auto first = forge().commit(edit_image());
  ASSERT_TRUE(first);
  EXPECT_FALSE(forge().delete_branch("pawl/auto-1", world_->base()).value());
  EXPECT_TRUE(forge().head("pawl/auto-1").value().has_value());
  EXPECT_TRUE(forge().delete_branch("pawl/auto-1", *first).value());
  EXPECT_FALSE(forge().head("pawl/auto-1").value().has_value());
  EXPECT_TRUE(forge().delete_branch("pawl/auto-1", *first).value());
}

TEST_P(ForgeContract, OpeningTwiceGivesOneDraft) {
  const ChangeRequestId id = opened();
  EXPECT_GE(id.value, 1);
  EXPECT_EQ(forge().open("pawl/auto-1", "Other", "Other", "pawl").value(), id);
  const auto request = forge().get(id);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->title, "Move to b");
  EXPECT_EQ(request->state, ChangeRequestState::kDraft);
  EXPECT_EQ(request->branch, "pawl/auto-1");
  EXPECT_EQ(request->head, forge().head("pawl/auto-1").value().value());
  EXPECT_FALSE(request->url.empty());
  EXPECT_EQ(forge().list().value().size(), 1U);
}

TEST_P(ForgeContract, OpeningAgainAfterAPersonClosedDoesNotReopen) {
  const ChangeRequestId id = opened();
  ASSERT_TRUE(forge().close(id, "person"));
  EXPECT_EQ(forge().open("pawl/auto-1", "Move to b", "Body", "pawl").value(), id);
  EXPECT_EQ(forge().get(id).value().state, ChangeRequestState::kClosed);
}

TEST_P(ForgeContract, TheHeadOfARequestFollowsItsBranchAndSurvivesIt) {
  const ChangeRequestId id = opened();
  world_->push_by_somebody("pawl/auto-1");
  const auto head = forge().head("pawl/auto-1").value().value();
  EXPECT_EQ(forge().get(id).value().head, head);
  ASSERT_TRUE(forge().delete_branch("pawl/auto-1", head).value());
  EXPECT_EQ(forge().get(id).value().head, head);
}

TEST_P(ForgeContract, AnUnknownRequestIsNotFound) {
  const ChangeRequestId id{4711};
  const auto cls = [](const auto& result) { return result ? ErrorClass::kInternal : result.error().cls; };
  EXPECT_EQ(cls(forge().get(id)), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().comments(id)), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().comment(id, "k", "pawl", "x")), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().set_label(id, "sweep", true)), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().set_ready(id, true)), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().edit(id, "t", "b")), ErrorClass::kNotFound);
  EXPECT_EQ(cls(forge().close(id, "pawl")), ErrorClass::kNotFound);
}

TEST_P(ForgeContract, OneCommentAKeyEditedInPlace) {
  const ChangeRequestId id = opened();
  ASSERT_TRUE(forge().comment(id, "attempt-0", "pawl", "Queued"));
  world_->comment_by_somebody(id, "Looks good");
  ASSERT_TRUE(forge().comment(id, "attempt-1", "pawl", "Queued"));
  ASSERT_TRUE(forge().comment(id, "attempt-0", "pawl", "Queued"));
  auto all = forge().comments(id).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].edited, "");
  ASSERT_TRUE(forge().comment(id, "attempt-0", "pawl", "Passed"));
  all = forge().comments(id).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].key, "attempt-0");
  EXPECT_EQ(all[0].body, "Passed");
  EXPECT_NE(all[0].edited, "");
  EXPECT_EQ(all[1].key, "");
  EXPECT_EQ(all[1].body, "Looks good");
  EXPECT_EQ(all[2].body, "Queued");
}

TEST_P(ForgeContract, LabelsAreASet) {
  const ChangeRequestId id = opened();
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(forge().set_label(id, "sweep", true));
    ASSERT_TRUE(forge().set_label(id, "auto", true));
  }
  EXPECT_EQ(forge().get(id).value().labels, (std::vector<std::string>{"auto", "sweep"}));
  for (int twice = 0; twice < 2; ++twice) ASSERT_TRUE(forge().set_label(id, "sweep", false));
  EXPECT_EQ(forge().get(id).value().labels, std::vector<std::string>{"auto"});
}

TEST_P(ForgeContract, ReadyAndDraftAndEditMayBeRepeated) {
  const ChangeRequestId id = opened();
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(forge().set_ready(id, true));
    ASSERT_TRUE(forge().edit(id, "New title", "New body"));
  }
  EXPECT_EQ(forge().get(id).value().state, ChangeRequestState::kReady);
  EXPECT_EQ(forge().get(id).value().body, "New body");
  ASSERT_TRUE(forge().set_ready(id, false));
  EXPECT_EQ(forge().get(id).value().state, ChangeRequestState::kDraft);
}

TEST_P(ForgeContract, WhoClosedFirstStaysAndNothingReopens) {
  const ChangeRequestId id = opened();
  ASSERT_TRUE(forge().close(id, "person"));
  ASSERT_TRUE(forge().close(id, "pawl"));
  EXPECT_EQ(forge().get(id).value().state, ChangeRequestState::kClosed);
  EXPECT_EQ(forge().get(id).value().closed_by, "person");
  const auto reopened = forge().set_ready(id, false);
  ASSERT_FALSE(reopened);
  EXPECT_EQ(reopened.error().cls, ErrorClass::kConflict);
  EXPECT_TRUE(forge().comment(id, "receipt", "pawl", "Done"));
  EXPECT_TRUE(forge().set_label(id, "sweep", false));
}

}  // namespace pawl::io::testing
