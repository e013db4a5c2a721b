#include "changelog/ledger.h"

#include <gtest/gtest.h>

namespace pawl::changelog {
namespace {

const std::string kBase = "- config-keys:\n    - a\n  description:\n    - \"First\"\n  pr-link: https://example.org/pull/1\n";
const Entry kEntry{{"b"}, {"Update SGLang image, \"quoted\" 中文"}, "https://example.org/pull/2"};

TEST(Ledger, AppendKeepsEveryByteAndPassesItsOwnGate) {
  for (const std::string& base : {kBase, kBase + "\n"}) {
    const auto head = append(base, kEntry, "perf-changelog.yaml");
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_TRUE(head->starts_with(base));
    EXPECT_EQ(*head, kBase + "\n" + write_entry(kEntry));
    const Status gate = check_appended(base, *head, "b", "perf-changelog.yaml");
    EXPECT_TRUE(gate) << gate.error().message;
  }
  EXPECT_FALSE(append("- config-keys: [a]", kEntry, "f"));
  EXPECT_FALSE(append("a: 1\n", kEntry, "f"));
}

TEST(Ledger, TheGateNamesWhatIsWrong) {
  const std::string good = *append(kBase, kEntry, "f");
  const auto why = [&](const std::string& base, const std::string& head, const std::string& key = "b") {
    const Status status = check_appended(base, head, key, "f");
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_NE(why(kBase, "x" + good).find("Deletions are not allowed"), std::string::npos);
  EXPECT_NE(why(kBase, kBase).find("No additions found"), std::string::npos);
  EXPECT_NE(why(kBase, kBase + write_entry(kEntry)).find("blank line"), std::string::npos);
  EXPECT_NE(why(kBase, kBase + "\n\n" + write_entry(kEntry)).find("blank line"), std::string::npos);
  EXPECT_NE(why(kBase, good + "\n").find("one newline"), std::string::npos);
  EXPECT_NE(why(kBase, good, "c").find("exactly c"), std::string::npos);
  EXPECT_NE(why(kBase, good + "\n" + write_entry(kEntry)).find("exactly one entry"), std::string::npos);
  std::string modified = good;
  modified.insert(modified.find("  pr-link", kBase.size()), "  all-evals: true\n");
  EXPECT_NE(why(kBase, modified).find("'all-evals'"), std::string::npos);
  // Somebody else's entry arrived first: the branch is stale.
  EXPECT_NE(why(kBase + "\n" + write_entry({{"z"}, {"Other"}, "l"}), good).find("Deletions"), std::string::npos);
}

TEST(Ledger, DescriptionsStayShort) {
  EXPECT_EQ(bump_description("SGLang", "r:1", "r:2"), "Update SGLang image from r:1 to r:2");
  EXPECT_LE(bump_description("SGLang", std::string(90, 'a'), std::string(60, 'b')).size(), 120u);
  EXPECT_EQ(bump_description("SGLang", std::string(90, 'a'), std::string(150, 'b')), "Update SGLang image");
}

}  // namespace
}  // namespace pawl::changelog
