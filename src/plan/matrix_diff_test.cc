#include "plan/matrix_diff.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "plan/patch_scan.h"
#include "plan/strict_check.h"
#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

const std::string kText =
    "a: {image: r/x:1, model: m, model-prefix: p, precision: fp8, framework: f, runner: b, multinode: false, scenarios: {fixed-seq-len: [{isl: 8192, osl: 1024,"
    " search-space: [{tp: 8, ep: 1, conc-list: [4, 8]}, {tp: 4, conc-list: [4]}]}]}}\n";

Matrix rows(const Catalogue& catalogue) {
  TestConfig options;
  options.config_keys = {"*"};
  options.no_evals = true;
  auto matrix = test_config(catalogue, options);
  EXPECT_TRUE(matrix) << matrix.error().message;
  return std::move(*matrix);
}

std::vector<RowChange> diff(const std::string& before, const std::string& after) {
  const Catalogue a = testing::of_text(before), b = testing::of_text(after);
  return diff_matrices(rows(a), rows(b));
}

TEST(MatrixDiff, NamesTheFieldsOfThePointsThatDiffer) {
  EXPECT_TRUE(diff(kText, kText).empty());
  const auto image = diff(kText, replace_all(kText, "r/x:1", "r/x:2"));
  ASSERT_EQ(image.size(), 3u);
  EXPECT_EQ(image[0].recipe, "a");
  ASSERT_EQ(image[0].fields.size(), 1u);
  EXPECT_EQ(image[0].fields[0].path, "image");
  EXPECT_EQ(image[0].fields[0].before, "r/x:1");
  EXPECT_EQ(image[0].fields[0].after, "r/x:2");
}

TEST(MatrixDiff, AChangedTopologyIsAChangeAndAConcurrencyComesOrGoes) {
  const auto topology = diff(kText, replace_all(kText, "{tp: 4, conc", "{tp: 2, conc"));
  ASSERT_EQ(topology.size(), 1u);
  EXPECT_EQ(topology[0].kind, RowChange::Kind::kChanged);
  EXPECT_EQ(topology[0].fields[0].path, "tp");
  const auto more = diff(kText, replace_all(kText, "[4, 8]", "[4, 8, 16]"));
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].kind, RowChange::Kind::kAdded);
  EXPECT_EQ(more[0].row["conc"], 16);
  const auto gone = diff(kText,
                         "b: {image: r/x:1, model: m, model-prefix: p, precision: x, framework: f, runner: b, multinode: false, scenarios: {fixed-seq-len: "
                         "[{isl: 1, osl: 1, search-space: []}]}}\n");
  ASSERT_EQ(gone.size(), 3u);
  EXPECT_EQ(gone[0].kind, RowChange::Kind::kRemoved);
}

TEST(PatchScan, FindsWhatChangesAnImageAtRunTime) {
  const auto script = scan_patches(
      "#!/bin/bash\n# pip install x.whl\nsed -i 's/a/b/' /usr/lib/python3/dist-packages/sglang/x.py\npip install --no-deps https://h/x.whl\n"
      "export PYTHONPATH=/overlay:$PYTHONPATH\ngit apply fix.patch\npython3 -m sglang.launch_server --port 1\npip install -q datasets\n",
      "a.sh");
  ASSERT_EQ(script.size(), 4u);
  EXPECT_EQ(script[0].line, 3);
  EXPECT_EQ(name_of(script[0].kind), "package edit");
  EXPECT_EQ(name_of(script[1].kind), "wheel");
  EXPECT_EQ(name_of(script[2].kind), "overlay");
  EXPECT_EQ(script[3].line, 6);
  const auto recipe = scan_patches("setup_script: install.sh\ndynamo:\n  hash: 0123\n  install: false\nidentity:\n", "r.yaml");
  ASSERT_EQ(recipe.size(), 2u);
}

TEST(StrictCheck, NamesWhatTheReferenceAcceptsAndNobodyMeans) {
  const Catalogue catalogue = testing::of_text(
      "a: {image: i, model: m, model-prefix: p, precision: x, framework: f, runner: h20, multinode: false, scenarios: {fixed-seq-len: [{isl: 2048, osl: 1024,"
      " search-space: [{tp: 1, dp_attn: true, conc-list: [1]}]}]}}\na: {image: i, model: m, model-prefix: p, precision: x, framework: f, runner: h20, "
      "multinode: false,"
      " scenarios: {fixed-seq-len: [{isl: 2048, osl: 1024, search-space: [{tp: 1, dp_attn: true, conc-list: [1]}]}]}}\n",
      "labels: {h200: [h200-x_0]}\n");
  std::vector<std::string> rules;
  for (const Violation& v : strict_findings(catalogue)) {
    rules.push_back(v.rule);
    EXPECT_EQ(v.place.line, 2) << v.message;
  }
  EXPECT_EQ(rules, (std::vector<std::string>{"O-6", "O-2", "O-18", "O-27"}));
  EXPECT_EQ(strict_findings(catalogue)[0].nearest, "h200");
  EXPECT_TRUE(validate(catalogue).empty());
}

TEST(StrictCheck, TheRealCatalogueHasEightLabelsThatNoMachineServes) {
  const auto folder = testing::kShared / "data" / "inferencex";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/data/inferencex beside the project";
  const Catalogue catalogue = testing::load(folder, {"configs/amd-master.yaml", "configs/nvidia-master.yaml"}, "configs/runners.yaml");
  std::size_t labels = 0;
  for (const Violation& v : strict_findings(catalogue)) labels += v.rule == "O-6";
  EXPECT_EQ(labels, 8u);
}

}  // namespace
}  // namespace pawl::plan
