#include "changelog/gate.h"

#include <gtest/gtest.h>

#include "changelog/rule.h"
#include "changelog/testing/shared_data.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using testing::base64;

GateInput input_of(const Json& c, bool compat) {
  GateInput input;
  input.base = base64(c["base_b64"]);
  input.head = base64(c["head_b64"]);
  input.compat = compat;
  return input;
}

ProcessOptions options_of(const Json& c) {
  ProcessOptions options;
  for (const Json& flag : c["flags"]) {
    if (flag == "--all-evals") options.all_evals = true;
    if (flag == "--evals-only") options.evals_only = true;
  }
  return options;
}

/// Anchors of the reference that the vectors carry and that our message must hold.
const std::vector<std::string> kAnchors{"does not end with a newline", "Deletions are not allowed",        "No additions found",
                                        "No valid YAML entries",       "did not add any generated points", "cannot share a sweep"};

TEST(Gate, AgreesWithEveryVerdictOfTheReference) {
  PAWL_NEEDS_SHARED_DATA();
  const auto catalogue = testing::mini_catalogue();
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const auto side = side_of(*catalogue);
  ASSERT_TRUE(side) << side.error().message;
  std::size_t checked = 0;
  const Json file = testing::json_file(testing::golden("mini/changelog-verdicts.json"));
  for (const Json& c : file["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto report = check_gate(input_of(c, true), *side, &*side, options_of(c));
    EXPECT_EQ(report ? "accept" : "reject", c["gate"].get<std::string>()) << (report ? "" : report.error().message);
    ++checked;
    if (report || !c.contains("gate_reason")) continue;
    const std::string reason = c["gate_reason"];
    for (const std::string& anchor : kAnchors) {
      if (reason.find(anchor) != std::string::npos) {
        EXPECT_NE(report.error().message.find(anchor), std::string::npos) << report.error().message;
      }
    }
  }
  EXPECT_EQ(checked, 51u);
}

TEST(Gate, TheDefaultDiffersFromTheReferenceOnlyWhereItLosesLines) {
  PAWL_NEEDS_SHARED_DATA();
  const auto catalogue = testing::mini_catalogue();
  ASSERT_TRUE(catalogue);
  const auto side = side_of(*catalogue);
  ASSERT_TRUE(side);
  std::vector<std::string> different;
  const Json file = testing::json_file(testing::golden("mini/changelog-verdicts.json"));
  for (const Json& c : file["cases"]) {
    const bool accepted = check_gate(input_of(c, false), *side, &*side, options_of(c)).has_value();
    if (accepted != (c["gate"] == "accept")) different.push_back(c["name"]);
  }
  EXPECT_EQ(different, std::vector<std::string>{"description starting with ++"});
}

CatalogueSide made_up() {
  CatalogueSide side;
  for (const char* key : {"tiny-a", "tiny-b", "tiny-c", "tiny-x"}) side.configs.emplace_back(key, Json::object());
  side.generate = [](const GeneratorCall&) -> Result<std::vector<Json>> { return std::vector<Json>(); };
  return side;
}

TEST(Gate, AgreesWithTheCasesFromPublicReports) {
  if (!std::ifstream(testing::shared("cases/changelog.json")).good()) GTEST_SKIP() << "the cases (shared/cases) are not here";
  const CatalogueSide side = made_up();
  const Json file = testing::json_file(testing::shared("cases/changelog.json"));
  for (const Json& c : file["cases"]) {
    SCOPED_TRACE(c["id"].get<std::string>());
    GateInput input;
    input.base = c["base"];
    input.head = c["head"];
    input.compat = true;
    const auto report = check_gate(input, side, &side, {});
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find(c["expected"]["gate_anchor"].get<std::string>()), std::string::npos) << report.error().message;
    EXPECT_TRUE(report.error().place);
    if (!c.contains("merge_base")) continue;
    input.compat = false;
    input.merge_base = c["merge_base"];
    const auto fair = check_gate(input, side, &side, {});
    ASSERT_TRUE(fair) << fair.error().message;
    EXPECT_EQ(fair->base_ahead, 1u);
    EXPECT_EQ(fair->added.size(), 1u);
  }
}

TEST(Gate, ErrorsPointAtTheLineOfHead) {
  GateInput input;
  input.base = "- config-keys: [tiny-a]\n  description: [x]\n  pr-link: l\n";
  const CatalogueSide side = made_up();
  const auto line = [&](const std::string& added) {
    input.head = input.base + added;
    const auto report = check_gate(input, side, &side, {});
    return report ? -1 : report.error().place ? report.error().place->line : 0;
  };
  EXPECT_EQ(line("\n- config-keys: [tiny-a]\n  description: [x]\n  pr-link: l\n"), -1);
  EXPECT_EQ(line("\n- config-keys: [tiny-a]\n  description: [x]\n  pr-link: l\n  evals: true\n"), 8);
  EXPECT_EQ(line("\n- config-keys: [tiny-q]\n  description: [x]\n  pr-link: l\n"), 5);
  EXPECT_EQ(line("\n- config-keys: [tiny-a\n"), 5);
  EXPECT_EQ(line("# only\n"), 4);
}

}  // namespace
}  // namespace pawl::changelog
