#include "changelog/merge.h"

#include <gtest/gtest.h>

namespace pawl::changelog {
namespace {

std::string link(const std::string& number) { return "https://github.com/SemiAnalysisAI/InferenceX/pull/" + number; }
std::string entry(const std::string& key, const std::string& pr_link) {
  return "- config-keys:\n    - " + key + "\n  description:\n    - \"Text of " + key + "\"\n  pr-link: " + pr_link + "\n";
}
const std::string kBase = entry("a", "XXX") + "\n" + entry("b", link("2"));
const MergeTarget k42{42};

std::string message(const Result<std::string>& result) { return result ? "accepted" : result.error().message; }

TEST(Merge, CanonicalizeFillsOnlyTheLinksOfNewEntries) {
  const std::string head = kBase + "\n" + entry("c", "XXX") + "\n" + entry("d", link("XXX")) + "\n" + entry("e", link("42"));
  const auto result = canonicalize(kBase, head, k42);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, kBase + "\n" + entry("c", link("42")) + "\n" + entry("d", link("42")) + "\n" + entry("e", link("42")));
  EXPECT_EQ(*canonicalize(kBase, *result, k42), *result);
  std::string corrected = kBase;
  corrected.replace(corrected.find("XXX"), 3, link("1"));
  EXPECT_EQ(*canonicalize(kBase, corrected, k42), corrected);
  std::string spaced = head;
  spaced.insert(spaced.find('\n'), " ");
  EXPECT_NE(message(canonicalize(kBase, spaced, k42)).find("historical"), std::string::npos);
  EXPECT_NE(message(canonicalize(kBase, head, {42, "someone/else"})).find("new PR entry"), std::string::npos);
}

TEST(Merge, NewEntriesGoBehindTheBytesOfMain) {
  const std::string main = kBase + "\n\n  \n" + entry("m", link("41")) + "\n";
  const std::string request = kBase + "\n" + entry("c", "XXX") + "\n" + entry("d", "XXX");
  const auto result = resolve_conflict(kBase, request, main, k42);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, main + entry("c", link("42")) + "\n" + entry("d", link("42")));
  const std::string tight = kBase + "\n" + entry("m", link("41"));
  EXPECT_EQ(*resolve_conflict(kBase, request, tight, k42), tight + "\n" + entry("c", link("42")) + "\n" + entry("d", link("42")));
  const std::string has_c = kBase + "\n" + entry("c", link("42"));
  EXPECT_EQ(*resolve_conflict(kBase, request, has_c, k42), has_c + "\n" + entry("d", link("42")));
  EXPECT_NE(message(resolve_conflict(kBase, request, has_c + "\n" + entry("d", link("7")), k42)).find("no changelog contribution"), std::string::npos);
}

TEST(Merge, ACorrectedLinkIsPutIntoMain) {
  std::string request = kBase;
  request.replace(request.find("XXX"), 3, link("1"));
  const std::string main = kBase + "\n" + entry("m", link("41"));
  const auto result = resolve_conflict(kBase, request, main, k42);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, request + "\n" + entry("m", link("41")));
  EXPECT_NE(message(resolve_conflict(kBase, request, *result, k42)).find("already present"), std::string::npos);
  std::string other = main;
  other.replace(other.find("XXX"), 3, link("9"));
  EXPECT_NE(message(resolve_conflict(kBase, request, other, k42)).find("conflicting"), std::string::npos);
  std::string edited = main;
  edited.replace(edited.find("Text of a"), 9, "Other");
  EXPECT_NE(message(resolve_conflict(kBase, request, edited, k42)).find("by hand"), std::string::npos);
  EXPECT_NE(message(resolve_conflict(kBase, request, entry("a", "XXX").substr(0, 0) + "[]\n", k42)).find("does not have entry"), std::string::npos);
  EXPECT_NE(message(resolve_conflict(kBase, kBase, main, k42)).find("neither"), std::string::npos);
}

}  // namespace
}  // namespace pawl::changelog
