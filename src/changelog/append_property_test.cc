#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "changelog/added_text.h"
#include "changelog/gate.h"
#include "changelog/ledger.h"
#include "changelog/merge.h"
#include "changelog/strict.h"
#include "codec/yaml.h"

namespace pawl::changelog {
namespace {

/// The same cases in every run; RC_PARAMS of the environment overrides.
const bool kSeeded = (::setenv("RC_PARAMS", "seed=20261130 max_success=300", 0), true);

std::string some_text() {
  return *rc::gen::element<std::string>("Update SGLang image", "更新镜像 \xF0\x9F\x9A\x80", "it's: a \"quoted\" #text", "- looks like an item", "010", "yes",
                                        "a\\b", "tail ", " pr-link: x", "{braces}", "*star", "x: y", "2026-07-20", "é\xE2\x80\xA8z");
}
std::string some_key() { return *rc::gen::element<std::string>("dsr1-fp8-h200-sglang", "qwen3.5-fp4-*", "模型-fp8", "k", "22:30", "true-ish"); }

Entry some_entry(const std::string& link) {
  Entry entry;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) entry.config_keys.push_back(some_key());
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) entry.description.push_back(some_text());
  entry.pr_link = link;
  return entry;
}

std::string link_of(int number) { return canonical_link(std::to_string(number)); }

/// A history in the canonical form.
std::string some_history(int entries) {
  std::string text;
  for (int i = 0; i < entries; ++i) {
    text += i == 0 ? "" : *rc::gen::element<std::string>("\n", "\n\n", "\n# 注 comment\n");
    text += write_entry(some_entry(link_of(i + 1)));
  }
  return text;
}

TEST(AppendProperties, AnyHistoryIsAPrefixAndSaysWhatItSaid) {
  ASSERT_TRUE(kSeeded);
  EXPECT_TRUE(rc::check([] {
    std::string base = *rc::gen::arbitrary<bool>() ? "\xEF\xBB\xBF" : "";
    base += *rc::gen::element<std::string>("", "# kopf é\n", "---\n");
    base += some_history(*rc::gen::inRange(1, 4));
    base += *rc::gen::element<std::string>("", "\n", "# fuß\n", "- &a {config-keys: [é], description: [*x], pr-link: y}\n", "- |\n  text\n", "- |+\n  kept\n\n",
                                           "- >-\n  folded\n");
    const bool crlf = *rc::gen::inRange(0, 4) == 0;
    if (crlf) {
      std::string with;
      for (const char c : base) with += c == '\n' ? std::string("\r\n") : std::string(1, c);
      base = with;
    }
    const auto before = codec::parse_yaml(base, "f");
    const Entry entry = some_entry("XXX");
    const auto head = append(base, entry, "f");
    if (!before) {  // an undefined alias, for one
      RC_ASSERT_FALSE(head.has_value());
      return;
    }
    if (!head) {
      RC_ASSERT(base.find("|+") != std::string::npos);  // its kept line ends would grow
      return;
    }
    RC_ASSERT(head->starts_with(base));
    RC_ASSERT(head->ends_with('\n') && !head->ends_with("\n\n"));
    const auto after = codec::parse_yaml(*head, "f");
    RC_ASSERT(after.has_value());
    const std::size_t old = before->root.items.size();
    RC_ASSERT(after->root.items.size() == old + 1);
    for (std::size_t i = 0; i < old; ++i) RC_ASSERT(codec::yaml_same(before->root.items[i], after->root.items[i]));
    const auto last = codec::yaml_value(*after, after->root.items[old]);
    RC_ASSERT(last.has_value());
    RC_ASSERT((*last)["config-keys"] == codec::Json(entry.config_keys));
    RC_ASSERT((*last)["description"] == codec::Json(entry.description));
    RC_ASSERT((*last)["pr-link"] == "XXX");
    if (!crlf && entry.config_keys.size() == 1) RC_ASSERT(check_appended(base, *head, entry.config_keys[0], "f").has_value());
    const auto added = gate_additions({base, *head, {}, "f", false});
    RC_ASSERT(added.has_value());
    RC_ASSERT(added->size() == 1u && (*added)[0].config_keys == entry.config_keys && (*added)[0].description == entry.description);
  }));
}

TEST(AppendProperties, AMergeKeepsEveryByteOfMainAndBringsEveryEntryOfTheRequest) {
  EXPECT_TRUE(rc::check([] {
    const int old = *rc::gen::inRange(1, 4), ours = *rc::gen::inRange(0, 3), theirs = *rc::gen::inRange(1, 4);
    const std::string base = some_history(old);
    std::string main = base, request = base;
    for (int i = 0; i < ours; ++i) {
      const auto next = append(main, some_entry(link_of(100 + i)), "f");
      RC_ASSERT(next.has_value());
      main = *next;
    }
    std::vector<Entry> mine;
    for (int i = 0; i < theirs; ++i) {
      Entry entry = some_entry(*rc::gen::element<std::string>("XXX", link_of(7)));
      entry.description.push_back("number " + std::to_string(i));  // no two alike, none like one on main
      const auto next = append(request, entry, "f");
      RC_ASSERT(next.has_value());
      request = *next;
      mine.push_back(std::move(entry));
    }
    const auto merged = resolve_conflict(base, request, main, {7});
    if (!merged) RC_LOG(merged.error().message);
    RC_ASSERT(merged.has_value());
    RC_ASSERT(merged->starts_with(main));
    const auto prepared = canonicalize(base, request, {7});
    RC_ASSERT(prepared.has_value() && prepared->starts_with(base));
    const auto parsed = parse_strict(*merged, "merged");
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(parsed->entries.size() == static_cast<std::size_t>(old + ours + theirs));
    for (int i = 0; i < theirs; ++i) {
      const LedgerEntry& entry = parsed->entries[static_cast<std::size_t>(old + ours + i)];
      RC_ASSERT(entry.config_keys == mine[static_cast<std::size_t>(i)].config_keys && entry.description == mine[static_cast<std::size_t>(i)].description);
      RC_ASSERT(entry.pr_link == link_of(7));
    }
    RC_ASSERT(check_strict(main, *merged, 7).has_value());
  }));
}

TEST(Append, RefusesWhereAnAdditionWouldChangeTheOldEntries) {
  for (const std::string base : {"- a: |+\n    x\n", "[a]\n", "- a\n...\n", "  - a\n  - b\n"}) {
    const auto head = append(base, {{"k"}, {"d"}, "XXX"}, "f");
    ASSERT_FALSE(head) << base;
    EXPECT_FALSE(head.error().remedy.empty());
  }
}

}  // namespace
}  // namespace pawl::changelog
