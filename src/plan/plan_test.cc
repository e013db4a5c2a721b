#include <gtest/gtest.h>

#include "model/point.h"
#include "plan/catalogue.h"
#include "plan/expansion.h"
#include "plan/image_edit.h"
#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

using codec::Json;

using testing::kShared;
using testing::of_text;
using testing::slurp;
using testing::unzip;

Catalogue load(const std::filesystem::path& folder) {
  return testing::load(folder, {"configs/amd-master.yaml", "configs/nvidia-master.yaml"}, "configs/runners.yaml");
}

const char* kSmall = R"(# comment 中文
demo-a:
  image: "lmsysorg/sglang:v0.5.14-cu130"   # pinned
  model: example/Demo
  model-prefix: demo
  runner: h200
  precision: fp8
  framework: sglang
  multinode: false
  scenarios:
    fixed-seq-len:
    - isl: 8192
      osl: 1024
      search-space:
      - { tp: 8, ep: 8, dp-attn: true, conc-start: 4, conc-end: 100 }
      - { tp: 4, spec-decoding: mtp, conc-list: [1, 32] }
)";

TEST(Expansion, RangeAlwaysEndsAtItsEnd) {
  EXPECT_EQ(concurrency_range(4, 100, 2), (std::vector<std::int64_t>{4, 8, 16, 32, 64, 100}));
  EXPECT_EQ(concurrency_range(4, 64, 3), (std::vector<std::int64_t>{4, 12, 36, 64}));
  EXPECT_EQ(concurrency_range(4, 4, 2), (std::vector<std::int64_t>{4}));
}

TEST(Expansion, RowsHaveTheContractsKeysInOrder) {
  const Catalogue catalogue = of_text(kSmall);
  const auto rows = expand(catalogue, {&catalogue.recipes()[0]}, EvalMode::kDefault);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 8u);
  EXPECT_EQ(codec::write_json((*rows)[4], codec::JsonForm::kPySpaced),
            R"({"image": "lmsysorg/sglang:v0.5.14-cu130", "model": "example/Demo", "model-prefix": "demo", "precision": "fp8", "framework": "sglang", )"
            R"("runner": "h200", "isl": 8192, "osl": 1024, "tp": 8, "pp": 1, "dcp-size": 1, "pcp-size": 1, "conc": 64, "max-model-len": 9472, "ep": 8, )"
            R"("dp-attn": true, "spec-decoding": "none", "exp-name": "demo_8k1k", "disagg": false, "run-eval": true})");
  const auto evals = expand(catalogue, {&catalogue.recipes()[0]}, EvalMode::kEvalsOnly);
  ASSERT_TRUE(evals);
  ASSERT_EQ(evals->size(), 3u);  // 64 and 100 of the first group, 32 of the second
  EXPECT_EQ((*evals)[2]["conc"], 32);
  EXPECT_EQ((*evals)[2].back(), true);
}

TEST(Expansion, UnknownKeysAreRefusedByNameWithTheirPlace) {
  std::string text = kSmall;
  text.replace(text.find("ep: 8, "), 7, "eq: 8, ");
  const Catalogue catalogue = of_text(text);
  const auto rows = expand(catalogue, {&catalogue.recipes()[0]}, EvalMode::kDefault);
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().message.find("'eq'"), std::string::npos);
  EXPECT_EQ(rows.error().remedy, "did you mean ep?");
  ASSERT_TRUE(rows.error().place);
  EXPECT_EQ(rows.error().place->line, 15);
}

TEST(Expansion, SmokeTakesTheLowestConcurrencyOfEveryShapeAndOneEval) {
  const Catalogue catalogue = of_text(kSmall);
  const auto points = expand(catalogue, {&catalogue.recipes()[0]}, EvalMode::kDefault);
  const auto evals = expand(catalogue, {&catalogue.recipes()[0]}, EvalMode::kEvalsOnly);
  const SmokeSelection older = select_smoke(*points, *evals, SmokeEval::kSmokeConcurrency);
  ASSERT_EQ(older.points.size(), 2u);
  EXPECT_EQ(older.points[0]["conc"], 4);
  EXPECT_EQ(older.points[1]["conc"], 1);
  ASSERT_EQ(older.evals.size(), 1u);
  EXPECT_EQ(older.evals[0]["conc"], 4);
  EXPECT_EQ(older.evals[0]["tp"], 8);
  EXPECT_EQ(select_smoke(*points, *evals, SmokeEval::kCanonicalConcurrency).evals[0]["conc"], 32);
}

TEST(ImageEdit, ChangesNothingButTheImage) {
  const Catalogue catalogue = of_text(kSmall);
  const auto after = edit_image(catalogue, catalogue.recipes()[0], "lmsysorg/sglang:v0.5.19-cu130");
  ASSERT_TRUE(after) << after.error().message;
  std::string wanted = kSmall;
  wanted.replace(wanted.find("v0.5.14"), 7, "v0.5.19");
  EXPECT_EQ(*after, wanted);
  EXPECT_EQ(edit_image(catalogue, catalogue.recipes()[0], "lmsysorg/sglang:v0.5.14-cu130").error().cls, ErrorClass::kConflict);
  EXPECT_FALSE(edit_image(catalogue, catalogue.recipes()[0], "bad image"));
}

TEST(ImageEdit, RefusesAnImageSharedThroughAnAnchor) {
  const Catalogue catalogue = of_text("a:\n  image: &i r/x:1\nb:\n  image: *i\n");
  EXPECT_FALSE(edit_image(catalogue, catalogue.recipes()[0], "r/x:2"));
  EXPECT_FALSE(edit_image(catalogue, catalogue.recipes()[1], "r/x:2"));
}

TEST(ImageEdit, CasesFromBugReports) {
  const auto path = kShared / "cases" / "yaml-edit.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no ../shared/cases beside the project";
  const Json cases = Json::parse(slurp(path));
  for (const Json& c : cases["cases"]) {
    const Catalogue catalogue = of_text(c["before"]);
    const auto recipe = catalogue.find(c["key"].get<std::string>());
    ASSERT_TRUE(recipe) << c["id"];
    const auto after = edit_image(catalogue, **recipe, c["new"]);
    ASSERT_TRUE(after) << c["id"] << ": " << after.error().message;
    EXPECT_EQ(*after, c["after"].get<std::string>()) << c["id"];
  }
}

TEST(Catalogue, UnknownRecipeNamesTheNearest) {
  const Catalogue catalogue = of_text(kSmall);
  const auto found = catalogue.find("demo-b");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().remedy, "did you mean demo-a?");
}

TEST(Catalogue, MistakesHaveAPlace) {
  const auto star = Catalogue::read(testing::layout_of({"m.yaml"}), {{"m.yaml", "ok: {}\nbad*: {}\n"}});
  ASSERT_FALSE(star);
  EXPECT_EQ(star.error().place->line, 2);
  EXPECT_FALSE(Catalogue::read(testing::layout_of({"m.yaml"}), {{"m.yaml", ""}}));
  const auto twice = Catalogue::read(testing::layout_of({"a.yaml", "b.yaml"}), {{"a.yaml", "k: {}\n"}, {"b.yaml", "k: {}\n"}});
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("Duplicate configuration keys"), std::string::npos);
  const auto again = Catalogue::read(testing::layout_of({"a.yaml", "a.yaml"}), {{"a.yaml", "k: {}\n"}});
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("Duplicate configuration keys"), std::string::npos);
  EXPECT_TRUE(Catalogue::read(testing::layout_of({"a.yaml", "a.yaml"}), {{"a.yaml", "{}\n"}})) << "there is nothing to be there twice";
}

TEST(RealCatalogue, FixedRowsEqualTheReferenceByteForByte) {
  const auto folder = kShared / "data" / "inferencex";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/data/inferencex beside the project";
  const Catalogue catalogue = load(folder);
  EXPECT_EQ(catalogue.recipes().size(), 208u);
  std::vector<const Recipe*> fixed;
  for (const Recipe& recipe : catalogue.recipes()) {
    if (recipe.config()["scenarios"].contains("fixed-seq-len")) fixed.push_back(&recipe);
  }
  for (const auto& [mode, file] : {std::pair{EvalMode::kNone, "no-evals"}, {EvalMode::kDefault, "default"}, {EvalMode::kEvalsOnly, "evals-only"}}) {
    Json golden = Json::parse(unzip(folder / "golden" / (std::string("full-sweep.") + file + ".json.gz")));
    std::string wanted, found;
    std::size_t rows_wanted = 0;
    for (const Json& row : golden) {
      if (row.contains("scenario-type")) continue;
      wanted += codec::write_json(row, codec::JsonForm::kPySpaced) + "\n";
      ++rows_wanted;
    }
    const auto rows = expand(catalogue, fixed, mode);
    ASSERT_TRUE(rows) << rows.error().message;
    for (const Json& row : *rows) found += codec::write_json(row, codec::JsonForm::kPySpaced) + "\n";
    EXPECT_EQ(rows->size(), rows_wanted) << file;
    EXPECT_TRUE(wanted == found) << file;
  }
}

TEST(RealCatalogue, TheTwoThreadsHaveTheirPointsAndEvals) {
  const auto folder = kShared / "data" / "inferencex";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/data/inferencex beside the project";
  const Catalogue catalogue = load(folder);
  const auto labels = [&](const char* key, EvalMode mode) {
    const auto recipe = catalogue.find(key);
    const auto rows = expand(catalogue, {*recipe}, mode);
    std::vector<std::string> all;
    for (const Json& row : *rows) all.push_back(model::point_of_row(row)->label());
    return all;
  };
  EXPECT_EQ(labels("qwen3.5-fp4-b200-sglang", EvalMode::kDefault),
            (std::vector<std::string>{"TP4/EP1 conc 4", "TP2/EP1 conc 4", "TP2/EP1 conc 8", "TP2/EP1 conc 16", "TP2/EP1 conc 32", "TP2/EP1 conc 64",
                                      "TP2/EP1 conc 128"}));
  EXPECT_EQ(labels("qwen3.5-fp4-b200-sglang", EvalMode::kEvalsOnly), (std::vector<std::string>{"TP2/EP1 conc 64", "TP2/EP1 conc 128"}));
  EXPECT_EQ(labels("qwen3.5-fp8-h200-sglang", EvalMode::kDefault).size(), 5u);
}

}  // namespace
}  // namespace pawl::plan
