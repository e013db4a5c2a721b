#include "changelog/process.h"

#include <gtest/gtest.h>

#include "changelog/added_text.h"
#include "changelog/append_only.h"
#include "changelog/rows.h"
#include "changelog/rule.h"
#include "changelog/testing/shared_data.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using Evals = GeneratorCall::Evals;

std::vector<LedgerEntry> entries_of(const std::string& text) {
  auto entries = added_entries({text, {}}, "added");
  EXPECT_TRUE(entries) << entries.error().message;
  return entries ? *entries : std::vector<LedgerEntry>();
}

ProcessOptions options_of(const std::string& variant, const std::string& base, const std::string& head) {
  return {.trim_conc = variant == "trim-conc", .all_evals = variant == "all-evals", .evals_only = variant == "evals-only", .base_ref = base, .head_ref = head};
}

std::string first_difference(const std::string& a, const std::string& b) {
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const std::size_t from = at < 120 ? 0 : at - 120;
  return "ours   " + a.substr(from, 240) + "\ntheirs " + b.substr(from, 240);
}

TEST(Process, TheSmallCatalogueGivesTheGoldenBytes) {
  PAWL_NEEDS_SHARED_DATA();
  const auto catalogue = testing::mini_catalogue();
  ASSERT_TRUE(catalogue);
  const auto side = side_of(*catalogue);
  ASSERT_TRUE(side) << side.error().message;
  const auto added = added_text(testing::read_file(testing::golden("mini/perf-changelog.base.yaml")),
                                testing::read_file(testing::golden("mini/perf-changelog.pr1.yaml")), "perf-changelog.yaml", DiffReading::kReference);
  ASSERT_TRUE(added) << added.error().message;
  for (const char* variant : {"default", "trim-conc", "evals-only", "all-evals"}) {
    const auto matrix = process(entries_of(added->text), *side, nullptr, options_of(variant, "main", "HEAD"));
    ASSERT_TRUE(matrix) << variant << ": " << matrix.error().message;
    const std::string ours = matrix_text(*matrix), theirs = testing::read_file(testing::golden(std::string("mini/changelog.pr1.") + variant + ".json"));
    EXPECT_TRUE(ours == theirs) << variant << "\n" << first_difference(ours, theirs);
  }
}

TEST(Process, AppendOnlyGivesTheGoldenBytes) {
  PAWL_NEEDS_SHARED_DATA();
  const auto base = testing::mini_catalogue(), head = testing::mini_catalogue("amd-master.append-only.yaml");
  ASSERT_TRUE(base && head);
  const auto base_side = side_of(*base), head_side = side_of(*head);
  ASSERT_TRUE(base_side && head_side);
  const auto added = added_text(testing::read_file(testing::golden("mini/perf-changelog.base.yaml")),
                                testing::read_file(testing::golden("mini/perf-changelog.append-only.yaml")), "perf-changelog.yaml", DiffReading::kReference);
  ASSERT_TRUE(added);
  const auto matrix = process(entries_of(added->text), *head_side, &*base_side, options_of("default", "main", "HEAD"));
  ASSERT_TRUE(matrix) << matrix.error().message;
  const std::string ours = matrix_text(*matrix), theirs = testing::read_file(testing::golden("mini/changelog.append-only.json"));
  EXPECT_TRUE(ours == theirs) << first_difference(ours, theirs);
  const auto without = process(entries_of(added->text), *head_side, nullptr, {});
  EXPECT_EQ(rule_of(without.error()), "C-61");
  const auto reversed = process(entries_of(added->text), *base_side, &*head_side, {});
  EXPECT_FALSE(reversed);
}

TEST(Process, TheRealCatalogueGivesTheGoldenBytes) {
  PAWL_NEEDS_SHARED_DATA();
  const auto catalogue = testing::real_catalogue();
  ASSERT_TRUE(catalogue);
  const auto side = side_of(*catalogue);
  ASSERT_TRUE(side) << side.error().message;
  const auto star = entries_of(testing::read_file(testing::golden("changelog.star.appended.txt")));
  for (const char* variant : {"default", "trim-conc", "evals-only", "all-evals"}) {
    const auto matrix = process(star, *side, nullptr, options_of(variant, "golden-base", "golden-head"));
    ASSERT_TRUE(matrix) << variant << ": " << matrix.error().message;
    const std::string ours = matrix_text(*matrix), theirs = testing::gunzip(testing::golden(std::string("changelog.star.") + variant + ".json.gz"));
    EXPECT_TRUE(ours == theirs) << variant << "\n" << first_difference(ours, theirs);
  }
}

TEST(Process, TheNewestRealCommitGivesTheGoldenBytes) {
  PAWL_NEEDS_SHARED_DATA();
  const auto catalogue = testing::real_catalogue();
  ASSERT_TRUE(catalogue);
  const auto side = side_of(*catalogue);
  ASSERT_TRUE(side);
  const std::string theirs = testing::read_file(testing::golden("changelog.843c6254.json"));
  const auto golden = codec::parse_json(theirs, "golden");
  ASSERT_TRUE(golden);
  const Json metadata = (*golden)["changelog_metadata"];
  // The newest commit added the last entries of the ledger.
  const std::string ledger = testing::read_file(testing::shared("data/inferencex/perf-changelog.yaml"));
  std::size_t at = ledger.size();
  for (std::size_t i = 0; i < metadata["entries"].size(); ++i) at = ledger.rfind("- config-keys:", at - 1);
  const auto matrix = process(entries_of(ledger.substr(at)), *side, nullptr, options_of("default", metadata["base_ref"], metadata["head_ref"]));
  ASSERT_TRUE(matrix) << matrix.error().message;
  const std::string ours = matrix_text(*matrix);
  EXPECT_TRUE(ours == theirs) << first_difference(ours, theirs);
}

/// A catalogue that records how its generator is called.
struct Recorder {
  std::vector<GeneratorCall> calls;
  CatalogueSide side;

  Recorder() {
    for (const char* key : {"config-b", "config-a", "x"}) side.configs.emplace_back(key, Json::object());
    side.generate = [this](const GeneratorCall& call) -> Result<std::vector<Json>> {
      calls.push_back(call);
      return std::vector<Json>();
    };
  }
  std::vector<GeneratorCall> process(const std::string& text, ProcessOptions options = {}) {
    calls.clear();
    const auto matrix = changelog::process(entries_of(text), side, nullptr, options);
    EXPECT_TRUE(matrix) << matrix.error().message;
    return calls;
  }
};

std::string entry(const std::string& keys, const std::string& more = "") {
  return "- config-keys: [" + keys + "]\n  description: [d]\n  pr-link: XXX\n" + more;
}

TEST(Process, KeysResolveInCatalogueOrderWithoutRepeats) {
  const Recorder recorder;
  EXPECT_EQ(*select_keys({"config-*", "config-a"}, recorder.side), (std::vector<std::string>{"config-b", "config-a"}));
  EXPECT_EQ(*select_keys({"x", "*"}, recorder.side), (std::vector<std::string>{"x", "config-b", "config-a"}));
  EXPECT_EQ(rule_of(select_keys({"config-?"}, recorder.side).error()), "C-56");
  EXPECT_EQ(rule_of(select_keys({"[cx]*"}, recorder.side).error()), "C-55");
  const auto slip = select_keys({"config-aa"}, recorder.side);
  EXPECT_EQ(slip.error().remedy, "did you mean config-a?");
}

TEST(Process, EveryPassIsOneGeneratorCall) {
  Recorder r;
  const std::vector<std::string> a{"config-a"};
  const GeneratorCall rows{a, Evals::kNone, true, true}, marked{a, Evals::kOnly, true, true}, all{a, Evals::kAll, true, true};
  EXPECT_EQ(r.process(entry("config-a", "  all-evals: true\n")), (std::vector{all}));      // P15
  EXPECT_EQ(r.process(entry("config-a")), (std::vector{rows, marked}));                    // P16
  EXPECT_EQ(r.process(entry("config-a"), {.all_evals = true}), (std::vector{rows, all}));  // P17
  EXPECT_EQ(r.process(entry("config-a", "  evals-only: true\n"), {.all_evals = true}), (std::vector{all}));
  EXPECT_EQ(r.process(entry("config-a"), {.evals_only = true}), (std::vector{marked}));  // P18
  EXPECT_EQ(r.process(entry("config-a"), {.all_evals = true, .evals_only = true}), (std::vector{all}));
  const std::string agentic = "  scenario-type: [agentic-coding]\n", fixed = "  scenario-type: [fixed-seq-len]\n";  // P19
  const GeneratorCall agentic_rows{a, Evals::kNone, false, true}, agentic_marked{a, Evals::kOnly, false, true}, agentic_all{a, Evals::kAll, false, true};
  const GeneratorCall fixed_rows{a, Evals::kNone, true, false}, fixed_marked{a, Evals::kOnly, true, false};
  EXPECT_EQ(r.process(entry("config-a", agentic), {.evals_only = true}), (std::vector{agentic_marked}));
  EXPECT_EQ(r.process(entry("config-a", agentic), {.all_evals = true}), (std::vector{agentic_rows, agentic_all}));
  EXPECT_EQ(r.process(entry("config-a") + entry("config-a", "  all-evals: true\n")), (std::vector{all, rows}));  // P20
  EXPECT_EQ(r.process(entry("config-a", agentic) + entry("config-a", fixed)),                                    // P21
            (std::vector{agentic_rows, agentic_marked, fixed_rows, fixed_marked}));
  EXPECT_EQ(r.process(entry("config-a", agentic + "  all-evals: true\n") + entry("config-a", fixed)),  // P22
            (std::vector{agentic_all, fixed_rows, fixed_marked}));
  // A key that two entries list is generated once; keys whose scenarios differ by then are different calls.
  EXPECT_EQ(r.process(entry("config-a") + entry("config-*")),
            (std::vector<GeneratorCall>{rows, marked, {{"config-b"}, Evals::kNone, true, true}, {{"config-b"}, Evals::kOnly, true, true}}));
}

TEST(Process, ModesThatExcludeEachOtherAreRefused) {
  const Recorder r;
  const std::string only = entry("config-a", "  append-only: true\n");
  const auto rule = [&](const std::string& text, const ProcessOptions& options) {
    return rule_of(process(entries_of(text), r.side, &r.side, options).error());
  };
  EXPECT_EQ(rule(only + entry("x"), {}), "C-53");
  EXPECT_EQ(rule(only, {.all_evals = true}), "C-54");
  EXPECT_EQ(rule(only, {.evals_only = true}), "C-54");
  EXPECT_EQ(rule(only, {}), "C-66");
}

Json row(const std::string& json) { return Json::parse(json); }
const std::string kRow = R"("image":"i:1","model":"m","tp":4,"duration":3600)";
Json with(const std::string& more, const std::string& fields = kRow) { return row("{" + fields + "," + more + "}"); }

TEST(AppendOnly, OnlyNewPointsRemain) {
  const auto delta = [](const std::vector<Json>& base, const std::vector<Json>& head) {
    const auto rows = new_points(base, head);
    if (!rows) return rule_of(rows.error());
    std::string text;
    for (const Json& r : *rows) text += r["conc"].dump() + " ";
    return text;
  };
  const Json c4 = with(R"("conc":4)"), c8 = with(R"("conc":8)"), c12 = with(R"("conc":12)");
  EXPECT_EQ(delta({c4, c8}, {c4, c8, c12}), "12 ");                                         // P3
  EXPECT_EQ(delta({with(R"("conc":[8,16])")}, {with(R"("conc":[8,16,24,24])")}), "[24] ");  // P4
  EXPECT_EQ(delta({c4}, {c4, c8, c8}), "8 ");                                               // P5
  const std::string moved = R"("image":"i:2","model":"m","tp":4,"duration":3600)";
  EXPECT_EQ(delta({c4}, {with(R"("conc":4)", moved), with(R"("conc":8)", moved)}), "C-67");  // P6
  const std::string wider = R"("image":"i:1","model":"m","tp":8,"duration":3600)";
  EXPECT_EQ(delta({c4}, {c4, with(R"("conc":4)", wider)}), "4 ");  // P7
  const std::string other = R"("image":"i:2","model":"m","tp":8,"duration":3600)";
  EXPECT_EQ(delta({c4}, {c4, with(R"("conc":4)", other)}), "C-70");  // P8
  EXPECT_EQ(delta({c4, c8}, {c8, c12}), "C-68");                     // P9
  EXPECT_EQ(delta({c4}, {c4}), "C-69");
  EXPECT_EQ(delta({}, {c4}), "C-66");
}

TEST(AppendOnly, TheScopeOfTheChangeIsChecked) {
  const auto side = [](const std::string& json) {
    CatalogueSide s;
    const Json all = row(json);
    for (auto it = all.begin(); it != all.end(); ++it) s.configs.emplace_back(it.key(), it.value());
    return s;
  };
  const auto rule = [&](const std::string& base, const std::string& head, Scope scope = {true, false}) {
    const Status status = check_scope(side(base), side(head), {{"a", scope}});
    return status ? std::string("accept") : rule_of(status.error());
  };
  const std::string base = R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1]}},"b":{"x":1}})";
  EXPECT_EQ(rule(base, R"({"b":{"x":1.0},"a":{"scenarios":{"fixed-seq-len":[1,2]},"router":{},"image":"i"}})"), "accept");  // P11, P12
  EXPECT_EQ(rule(R"({"b":{}})", base), "C-60");
  EXPECT_EQ(rule(base, R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1]}},"b":{"x":2}})"), "C-62");
  EXPECT_EQ(rule(base, R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1]}}})"), "C-62");
  EXPECT_EQ(rule(base, R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1]}},"b":{"x":1},"c":{}})"), "C-62");
  EXPECT_EQ(rule(base, R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1],"agentic-coding":[]}},"b":{"x":1}})"), "C-63");
  const std::string both = R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1],"agentic-coding":[1]}}})";
  EXPECT_EQ(rule(both, R"({"a":{"image":"j","scenarios":{"fixed-seq-len":[1],"agentic-coding":[1]}}})"), "C-64");  // P13
  EXPECT_EQ(rule(both, R"({"a":{"image":"i","scenarios":{"fixed-seq-len":[1],"agentic-coding":[2]}}})"), "C-65");
  EXPECT_EQ(rule(both, R"({"a":{"image":"j","scenarios":{"fixed-seq-len":[1],"agentic-coding":[2]}}})", {true, true}), "accept");
}

TEST(Rows, TheFingerprintIsThatOfTheRecipe) {
  const Json a = with(R"("conc":4,"exp-name":"n4")"), b = with(R"("exp-name":"n8","conc":8)");
  EXPECT_EQ(recipe_fingerprint(a), recipe_fingerprint(b));  // P10
  EXPECT_NE(recipe_fingerprint(a), recipe_fingerprint(with(R"("conc":4)", R"("image":"i:1","model":"m","tp":8,"duration":3600)")));
  EXPECT_EQ(recipe_fingerprint(a).size(), 64u);
  PAWL_NEEDS_SHARED_DATA();
  const Json golden = testing::json_file(testing::golden("mini/changelog.pr1.trim-conc.json"));
  EXPECT_EQ(golden["single_node"]["agentic"][0]["recipe-fingerprint"], recipe_fingerprint(golden["single_node"]["agentic"][0]));
}

TEST(Rows, ARowOfTheWrongShapeIsRefused) {
  PAWL_NEEDS_SHARED_DATA();
  const Json golden = testing::json_file(testing::golden("mini/changelog.pr1.default.json"));
  const Json agentic = golden["agentic_evals"][0], fixed = golden["evals"][0], multi = golden["multinode_evals"][0];
  EXPECT_TRUE(normal_row(RowShape::kSingleAgentic, agentic));
  EXPECT_FALSE(normal_row(RowShape::kSingleFixed, agentic));
  EXPECT_FALSE(normal_row(RowShape::kMultiFixed, fixed));
  EXPECT_FALSE(normal_row(RowShape::kMultiAgentic, multi));
  EXPECT_EQ(*normal_row(RowShape::kSingleFixed, fixed), fixed);
  Json text = fixed;
  text["tp"] = "8";
  text["conc"] = 2.0;
  text["router"] = nullptr;
  const auto normal = normal_row(RowShape::kSingleFixed, text);
  ASSERT_TRUE(normal);
  EXPECT_EQ((*normal)["tp"], Json(8));
  EXPECT_EQ((*normal)["conc"].dump(), "2");
  EXPECT_FALSE(normal->contains("router"));
}

}  // namespace
}  // namespace pawl::changelog
