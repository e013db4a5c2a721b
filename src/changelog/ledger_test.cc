#include "changelog/ledger.h"

#include <gtest/gtest.h>

#include "changelog/ledger_entry.h"
#include "changelog/testing/shared_data.h"

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

TEST(Ledger, AnEntrySaysWhichPartOfTheWorkItAsksFor) {
  const auto head = append(kBase, kEntry, "f", {.evals_only = true, .eval_min_prefill_ep = 2, .scenario_type = {"agentic-coding"}});
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->substr(kBase.size() + 1), write_entry(kEntry) + "  evals-only: true\n  eval-min-prefill-ep: 2\n  scenario-type:\n    - agentic-coding\n");
  const auto document = codec::parse_yaml(head->substr(kBase.size() + 1), "added");
  ASSERT_TRUE(document);
  const auto entry = read_entry(*document, document->root.items[0]);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_TRUE(entry->evals_only);
  EXPECT_EQ(entry->eval_min_prefill_ep, 2);
  EXPECT_FALSE(append(kBase, kEntry, "f", {.all_evals = true, .append_only = true}));
  EXPECT_FALSE(append(kBase, kEntry, "f", {.all_evals = true, .no_evals = true}));
}

TEST(Ledger, NoEvalsIsAFieldOfLaterGenerations) {
  const auto document = codec::parse_yaml("{config-keys: [a], description: [d], pr-link: x, no-evals: true}\n", "f");
  ASSERT_TRUE(document);
  EXPECT_FALSE(read_entry(*document, document->root));
  const auto entry = read_entry(*document, document->root, true);
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->no_evals, true);
  EXPECT_EQ(entry_json(*entry)["no-evals"], true);
}

TEST(Ledger, AgreesWithTheReferenceOnEveryVectorOfEntries) {
  PAWL_NEEDS_SHARED_DATA();
  const codec::Json vectors = codec::Json::parse(testing::gunzip(testing::golden("schema-verdicts.json.gz")));
  std::size_t count = 0;
  for (const codec::Json& c : vectors["cases"]) {
    if (c["kind"] != "changelog-entry") continue;
    ++count;
    const auto document = codec::parse_yaml(c["text"].get<std::string>(), "entry");
    const bool ours = document && read_entry(*document, document->root);
    EXPECT_EQ(ours, c["schema"] == "accept") << c["id"];
  }
  EXPECT_EQ(count, 39u);
}

}  // namespace
}  // namespace pawl::changelog
