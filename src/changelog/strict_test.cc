#include "changelog/strict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "changelog/rule.h"
#include "changelog/testing/shared_data.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using testing::base64;

std::string verdict(const Result<StrictChanges>& changes) { return changes ? "accept" : "reject " + rule_of(changes.error()); }

/// The phrases of the reference behind each rule, as the vectors carry them.
const std::vector<std::pair<std::string, std::string>> kPhrases{{"C-20", "does not end with a newline"},
                                                                {"C-21", "contains CR"},
                                                                {"C-22", "contains tabs"},
                                                                {"C-23", "contains NUL"},
                                                                {"C-24", "is not UTF-8"},
                                                                {"C-25", "is not valid YAML"},
                                                                {"C-27", "top-level config entries"},
                                                                {"C-28", "fails ChangelogEntry"},
                                                                {"C-31", "changed; existing entries"},
                                                                {"C-34", "do not mix"},
                                                                {"C-35", "new PR entry"},
                                                                {"C-36", "main-branch entry"},
                                                                {"C-40", "changed historical"},
                                                                {"C-41", "separated from history"},
                                                                {"C-42", "separator line"},
                                                                {"C-43", "end with one newline"},
                                                                {"C-47", "no appended entry"}};

TEST(Strict, AgreesWithEveryVerdictOfTheReference) {
  PAWL_NEEDS_SHARED_DATA();
  const Json vectors = testing::json_file(testing::golden("mini/changelog-verdicts.json"));
  std::size_t checked = 0;
  for (const Json& c : vectors["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const std::string base = base64(c["base_b64"]), head = base64(c["head_b64"]);
    for (const char* side : {"strict_pr", "strict_main"}) {
      const auto changes = check_strict(base, head, std::string(side) == "strict_pr" ? std::optional(c["pr"].get<std::int64_t>()) : std::nullopt);
      const std::string name(side);
      EXPECT_EQ(changes ? "accept" : "reject", c[name].get<std::string>()) << (changes ? "" : changes.error().message);
      ++checked;
      if (changes && c.contains(name + "_additions")) {
        EXPECT_EQ(changes->additions, c[name + "_additions"].get<std::size_t>());
        EXPECT_EQ(changes->corrections.size(), c[name + "_corrections"].get<std::size_t>());
      }
      if (changes || !c.contains(name + "_reason")) continue;
      EXPECT_TRUE(changes.error().place) << changes.error().message;
      const std::string reason = c[name + "_reason"];
      for (const auto& [rule, phrase] : kPhrases) {
        if (reason.find(phrase) != std::string::npos) {
          EXPECT_EQ(rule_of(changes.error()), rule) << reason;
        }
      }
    }
  }
  EXPECT_EQ(checked, 102u);
}

TEST(Strict, AgreesWithTheCasesFromPublicReports) {
  if (!std::ifstream(testing::shared("cases/changelog.json")).good()) GTEST_SKIP() << "the cases (shared/cases) are not here";
  const Json file = testing::json_file(testing::shared("cases/changelog.json"));
  for (const Json& c : file["cases"]) {
    EXPECT_EQ(verdict(check_strict(c["base"], c["head"], c["pr_number"].get<std::int64_t>())), c["expected"]["strict"].get<std::string>())
        << c["id"].get<std::string>();
  }
}

TEST(Strict, ReadsTheWholeLedgerOfTheField) {
  PAWL_NEEDS_SHARED_DATA();
  const auto file = parse_strict(testing::read_file(testing::shared("data/inferencex/perf-changelog.yaml")), "perf-changelog.yaml");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->entries.size(), 772u);
  std::size_t keys = 0, wildcards = 0, typed = 0, evals_only = 0, append_only = 0, canonical = 0;
  for (const LedgerEntry& entry : file->entries) {
    keys += entry.config_keys.size();
    for (const std::string& key : entry.config_keys) wildcards += key.contains('*') ? 1 : 0;
    typed += entry.scenario_type ? 1 : 0;
    evals_only += entry.evals_only ? 1 : 0;
    append_only += entry.append_only ? 1 : 0;
    const std::string start = canonical_link("");
    canonical += entry.pr_link.starts_with(start) && entry.pr_link.find_first_not_of("0123456789", start.size()) == std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(keys, 1066u);
  EXPECT_EQ(wildcards, 6u);
  EXPECT_EQ(typed, 67u);
  EXPECT_EQ(evals_only, 6u);
  EXPECT_EQ(append_only, 1u);
  EXPECT_EQ(canonical, 770u);
}

const std::string kFirst = "- config-keys:\n    - a\n  description:\n    - \"First\"\n  pr-link: https://github.com/SemiAnalysisAI/InferenceX/pull/1\n";
std::string entry(const std::string& link, const std::string& more = "") {
  return "- config-keys:\n    - b\n  description:\n    - \"New\"\n  pr-link: " + link + "\n" + more;
}

TEST(Strict, EveryRuleOfOneFileIsNamed) {
  const auto rule = [](const std::string& bytes) {
    const auto file = parse_strict(bytes, "f");
    return file ? std::string("accept") : rule_of(file.error()) + (file.error().place ? fmt::format(":{}", file.error().place->line) : "");
  };
  EXPECT_EQ(rule(""), "C-20:1");
  EXPECT_EQ(rule("[]\n"), "accept");
  EXPECT_EQ(rule("\n"), "C-26:1");
  EXPECT_EQ(rule("a: 1\n"), "C-26:1");
  EXPECT_EQ(rule(kFirst + "# \r\n"), "C-21:6");
  EXPECT_EQ(rule(kFirst + "\n  \t\n"), "C-22:7");
  EXPECT_EQ(rule(kFirst + std::string("# \0\n", 4)), "C-23:6");
  EXPECT_EQ(rule(kFirst + "# \xff\n"), "C-24:6");
  EXPECT_EQ(rule(kFirst + "  pr-link: x\n"), "C-25:6");
  EXPECT_EQ(rule(kFirst + "\n" + entry("XXX", "  evals-only: [\n")), "C-25:13");
  EXPECT_EQ(rule("- config-keys: [a]\n  description: [{x: {y: 1, y: 2}}]\n  pr-link: x\n"), "C-25:2");
  EXPECT_EQ(rule("- description: [a]\n  config-keys: [a]\n  pr-link: x\n"), "C-27:1");
  EXPECT_EQ(rule("-  config-keys: [a]\n   description: [a]\n   pr-link: x\n"), "C-27");
  EXPECT_EQ(rule(kFirst + "  all-eval: true\n"), "C-28:6");
  EXPECT_EQ(rule("- config-keys: []\n  description: [a]\n  pr-link: x\n"), "C-28:1");
  EXPECT_EQ(rule("- config-keys: [a]\n  description: a\n  pr-link: x\n"), "C-28:2");
  EXPECT_EQ(rule("- config-keys: [a]\n  description: [a]\n  pr-link: 1\n"), "C-28:3");
  EXPECT_EQ(rule("- config-keys: [a]\n  description: [2026-07-20]\n  pr-link: x\n"), "C-28:2");
  EXPECT_EQ(rule(kFirst + "  append-only: true\n  all-evals: true\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  append-only: true\n  all-evals: false\n  eval-min-prefill-ep: null\n"), "accept");
  EXPECT_EQ(rule(kFirst + "  scenario-type: []\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  scenario-type: agentic-coding\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  scenario-type: [agentic]\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  scenario-type: [agentic-coding, agentic-coding]\n  all-evals: yes\n  evals-only: \"ON\"\n  eval-min-prefill-ep: \" 8.0 \"\n"),
            "accept");
  EXPECT_EQ(rule(kFirst + "  all-evals: null\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  eval-min-prefill-ep: 0\n"), "C-28:6");
  EXPECT_EQ(rule(kFirst + "  eval_min_prefill_ep: 2\n"), "accept");
  EXPECT_EQ(rule(kFirst + "  pr_link: x\n"), "C-28:6");
}

TEST(Strict, HistoryMayOnlyHaveItsLinksCorrected) {
  const std::string base = kFirst + "\n" + entry("https://github.com/SemiAnalysisAI/InferenceX/pull/2");
  const auto on_main = [&](const std::string& head) { return verdict(check_strict(base, head, std::nullopt)); };
  EXPECT_EQ(on_main(kFirst), "reject C-30");
  std::string head = base;
  head.replace(head.find("pull/2"), 6, "pull/9");
  EXPECT_EQ(on_main(head), "accept");
  EXPECT_EQ(on_main(head + "# x\n"), "reject C-44");
  std::string bad = base;
  bad.replace(bad.find("pull/2"), 6, "pull/x");
  EXPECT_EQ(on_main(bad), "reject C-33");
  std::string also = head;
  also.replace(also.find("\"First\""), 7, "'First'");
  EXPECT_EQ(on_main(also), "reject C-45");
  std::string quoted = head;
  quoted.replace(quoted.find("  pr-link: h"), 12, "  pr-link:  h");
  EXPECT_EQ(on_main(quoted), "reject C-46");
}

}  // namespace
}  // namespace pawl::changelog
