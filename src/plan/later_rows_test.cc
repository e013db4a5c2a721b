#include "plan/later_rows.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "plan/generator.h"
#include "plan/schema.h"
#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

using codec::Json;
using testing::format;
using testing::kShared;
using testing::slurp;

const auto kOctober = kShared / "data" / "inferencex-october";

#define SKIP_WITHOUT_OCTOBER() \
  if (!std::filesystem::exists(kOctober)) GTEST_SKIP() << "no ../shared/data/inferencex-october beside the project"

/// The October tree with one of its excerpts as the NVIDIA master; found as a folder is found.
Result<CatalogueTexts> october(const std::string& excerpt, const std::string& generation = {}, const std::map<std::string, std::string>& instead = {}) {
  return collect_catalogue(
      format(),
      [&](const std::string& path) -> Result<std::optional<std::string>> {
        if (const auto other = instead.find(path); other != instead.end()) return std::optional(other->second);
        std::string from = path;
        if (path.ends_with("nvidia-master.yaml")) from = "inferencex-e2e/configs/nvidia-master." + excerpt + ".yaml";
        if (path.ends_with("perf-changelog.yaml")) from = "inferencex-e2e/perf-changelog.excerpt.yaml";
        if (!path.starts_with("inferencex-e2e/") || !std::filesystem::exists(kOctober / from)) return std::optional<std::string>();
        return std::optional(slurp(kOctober / from));
      },
      {}, generation);
}

Catalogue read(const Result<CatalogueTexts>& texts) {
  EXPECT_TRUE(texts) << texts.error().message;
  auto catalogue = Catalogue::read(texts->layout, texts->texts);
  EXPECT_TRUE(catalogue) << catalogue.error().message;
  return std::move(*catalogue);
}

Result<Matrix> rows_of(const Catalogue& catalogue, const std::string& keys, bool no_evals = true) {
  TestConfig options;
  options.config_keys = {keys};
  options.no_evals = no_evals;
  return test_config(catalogue, options);
}

TEST(October, TheTreeIsFoundLoadedCheckedAndExpanded) {
  SKIP_WITHOUT_OCTOBER();
  const auto texts = october("excerpt");
  const Catalogue catalogue = read(texts);
  EXPECT_EQ(texts->layout.name, "e2e");
  EXPECT_EQ(catalogue.generation().id, "2026-10");
  for (const Violation& v : validate(catalogue)) ADD_FAILURE() << v.config << " " << v.path << ": " << v.message;
  const auto matrix = rows_of(catalogue, "*");
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->rows.size(), 11u + 2u + 3u + 3u + 4u);
  const auto agg = rows_of(catalogue, "*-agg");
  ASSERT_TRUE(agg);
  const Json& row = agg->rows[0];
  EXPECT_EQ(row["node-count"], 2);
  EXPECT_EQ(row["srt-recipe"], "benchmarks/multi_node/srt-slurm-recipes/glm5.2/sglang/gb300-fp4/agentx/agg-variants.yaml:override_tp8_c1");
  EXPECT_EQ(codec::write_json(row["prefill"], codec::JsonForm::kPySpaced),
            R"({"num-worker": 1, "tp": 8, "ep": 1, "dp-attn": false, "pp": 1, "dcp-size": 1, "pcp-size": 1})");
  EXPECT_EQ(row["decode"]["num-worker"], 0);
  EXPECT_EQ(row["exp-name"], "glm5.2_p1x8_d0x8_conc1_kvdram-hicache");
  EXPECT_EQ(row["kv-offloading"], "dram");
  EXPECT_GT(row["total-cpu-dram-gb"].get<std::int64_t>(), 0);
  // Nodes of a disaggregated row come from its recipe: one prefill node, six decode nodes.
  const auto apart = rows_of(catalogue, "*gb300*-disagg");
  ASSERT_TRUE(apart);
  std::vector<std::int64_t> nodes;
  for (const Json& r : apart->rows) nodes.push_back(r["node-count"]);
  EXPECT_EQ(nodes, (std::vector<std::int64_t>{3, 5, 7, 8}));
}

TEST(October, AnUnknownKeyNamesTheGenerationThatHasIt) {
  SKIP_WITHOUT_OCTOBER();
  const auto in_august = validate(read(october("excerpt", "2026-08")));
  ASSERT_FALSE(in_august.empty());
  EXPECT_EQ(in_august[0].path, "srt-recipe-dir");
  EXPECT_NE(in_august[0].message.find("known from generation 2026-10 on"), std::string::npos) << in_august[0].message;
  const Catalogue september = read(october("excerpt-2026-09"));
  EXPECT_EQ(september.generation().id, "2026-09a");
  for (const Violation& v : validate(september)) ADD_FAILURE() << v.config << " " << v.path << ": " << v.message;
  const auto rows = rows_of(september, "*");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->rows.size(), 5u);
  bool named = false;
  for (const Violation& v : validate(read(october("excerpt-2026-09", "2026-10")))) {
    named = named || (v.message.contains("CONFIG_FILE") && v.expected.contains("'srt-recipe'"));
  }
  EXPECT_TRUE(named);
}

TEST(October, MissingRecipesAndVariantsAreRefused) {
  SKIP_WITHOUT_OCTOBER();
  const auto missing = validate(read(october("excerpt-norecipes")));
  ASSERT_FALSE(missing.empty());
  for (const Violation& v : missing) EXPECT_NE(v.message.find("does not exist"), std::string::npos) << v.message;
  const std::string master = "inferencex-e2e/configs/nvidia-master.yaml", text = slurp(kOctober / "inferencex-e2e/configs/nvidia-master.excerpt.yaml");
  for (const auto& [from, to, wanted] : {std::tuple{"agg-variants.yaml:override_tp8_c1", "agg-variants.yaml:override_nope", "no variant 'override_nope'"},
                                         {"zip_override_mtp_agentx_frontier[0]", "zip_override_mtp_agentx_frontier[9]", "there is no [9]"},
                                         {"c192-mtp.yaml", "c192-mtp.yaml:override_x", "has no variants"},
                                         {"agg-variants.yaml:override_tp8_c1", "agg-variants.yaml:zip_override_x", "no recipe name"}}) {
    const auto broken = validate(read(october("excerpt", {}, {{master, replace_all(text, from, to)}})));
    ASSERT_FALSE(broken.empty()) << to;
    EXPECT_NE(broken[0].message.find(wanted), std::string::npos) << broken[0].message;
  }
}

TEST(October, FingerprintsFollowTheRecipeAndNothingElse) {
  SKIP_WITHOUT_OCTOBER();
  const std::string bundle = "inferencex-e2e/benchmarks/multi_node/srt-slurm-recipes/glm5.2/sglang/gb300-fp4/agentx/agg-variants.yaml";
  const std::string text = slurp(kOctober / bundle);
  const auto prints = [&](const std::string& changed) {
    const Catalogue catalogue = read(october("excerpt", {}, {{bundle, changed}}));
    const auto matrix = rows_of(catalogue, "*");
    std::vector<std::string> all;
    for (const Json& row : matrix->rows) {
      const auto bound = bound_recipe(catalogue, row);
      EXPECT_TRUE(bound) << bound.error().message;
      all.push_back(codec::write_json_sorted(*bound));
    }
    return all;
  };
  const auto differing = [](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
    return count;
  };
  const auto before = prints(text);
  EXPECT_EQ(differing(before, prints("# a comment\n" + text)), 0u);
  EXPECT_EQ(differing(before, prints(replace_all(text, "UCX_TLS: ib,", "UCX_TLS: tcp,"))), 3u);                       // in base: every row of the bundle
  EXPECT_EQ(differing(before, prints(replace_all(text, "max-running-requests: 4", "max-running-requests: 5"))), 1u);  // in one override
}

// The nine-point family: two aggregated points at concurrency 1 and seven above the minimum.
TEST(October, EvalsOfTheNinePointFamily) {
  std::string
      agg =
          "g-agg: {image: i/s:1, model: m, model-prefix: g, precision: fp4, framework: f, runner: 'cluster:c', multinode: true, disagg: false, scenarios: "
          "{agentic-coding: [{search-space: [",
      apart =
          "g-dis: {image: i/s:1, model: m, model-prefix: g, precision: fp4, framework: f, runner: 'cluster:c', multinode: true, disagg: true, "
          "kv-p2p-transfer: nixl, scenarios: {agentic-coding: [{search-space: [";
  for (const int tp : {4, 8}) {
    agg += "{conc-list: [1], num-nodes: 1, worker: {num-worker: 1, tp: " + std::to_string(tp) + ", ep: 1, dp-attn: false}},";
  }
  int workers = 1;
  for (const int conc : {36, 48, 64, 96, 96, 224, 336}) {
    apart += "{conc-list: [" + std::to_string(conc) + "], prefill: {num-worker: " + std::to_string(workers++) +
             ", tp: 4, ep: 4, dp-attn: true}, decode: {num-worker: 2, tp: 4, ep: 1, dp-attn: false}},";
  }
  const std::string end = "]}]}}\n", runners = "labels: {'cluster:c': [c_0]}\nclusters: {c: {gpus-per-node: 4, scheduler: slurm}}\n";
  const auto evals = [&](const std::string& master, std::optional<std::int64_t> least) {
    const auto catalogue = Catalogue::read(testing::layout_of({"m.yaml"}, "r.yaml", "2026-09b"), {{"m.yaml", master}, {"r.yaml", runners}});
    EXPECT_TRUE(catalogue);
    TestConfig options;
    options.config_keys = {"*"};
    options.evals_only = true;
    options.agentic_min_eval_conc = least;
    const auto matrix = test_config(*catalogue, options);
    EXPECT_TRUE(matrix) << matrix.error().message;
    return matrix->rows.size();
  };
  EXPECT_EQ(evals(agg + end + apart + end, std::nullopt), 7u);
  EXPECT_EQ(evals(agg + end, std::nullopt) + evals(apart + end, std::nullopt), 8u);
  EXPECT_EQ(evals(agg + end + apart + end, 0), 9u);
}

TEST(October, AWorkerGivesTheRowOfTheOldPairExceptItsNodeCount) {
  const std::string head =
                        "k: {image: i/s:1, model: m, model-prefix: g, precision: fp4, framework: f, runner: gb, multinode: true, scenarios: {fixed-seq-len: "
                        "[{isl: 8192, osl: 1024, search-space: [{conc-list: [1], ",
                    tail = "}]}]}}\n", worker = "{num-worker: 1, tp: 4, ep: 1, dp-attn: false, pp: 1, dcp-size: 1, pcp-size: 1}";
  const auto row = [&](const std::string& generation, const std::string& workers) {
    const auto catalogue =
        Catalogue::read(testing::layout_of({"m.yaml"}, "r.yaml", generation), {{"m.yaml", head + workers + tail}, {"r.yaml", "labels: {}\n"}});
    EXPECT_TRUE(catalogue);
    auto matrix = rows_of(*catalogue, "*");
    EXPECT_TRUE(matrix) << matrix.error().message;
    return matrix->rows.at(0);
  };
  Json later = row("2026-09a", "num-nodes: 1, worker: " + worker);
  EXPECT_EQ(later["node-count"], 1);
  later.erase("node-count");
  EXPECT_EQ(later, row("2026-08", "prefill: " + worker + ", decode: " + replace_all(worker, "num-worker: 1", "num-worker: 0")));
}

TEST(Layouts, TwoThatFitAreAConflictAndUnknownNamesAreHelped) {
  const auto reader = [](const std::string& path) -> Result<std::optional<std::string>> {
    const bool there = path == "configs/runners.yaml" || path == "configs/amd-master.yaml" || path == ".github/configs/runners.yaml" ||
                       path == ".github/configs/nvidia-master.yaml";
    return there ? std::optional<std::string>(path.contains("runners") ? "x: [a_0]\n" : "k: {}\n") : std::nullopt;
  };
  const auto both = collect_catalogue(format(), reader);
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().remedy.find("--layout"), std::string::npos);
  const auto old = collect_catalogue(format(), reader, "historical");
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(old->layout.name, "github-configs");
  const auto catalogue = Catalogue::read(old->layout, old->texts);
  ASSERT_TRUE(catalogue);
  EXPECT_NE(catalogue->nodes("x"), nullptr);  // its runners file is the map of labels itself
  EXPECT_EQ(collect_catalogue(format(), reader, "rot").error().remedy, "did you mean root?");
  EXPECT_EQ(collect_catalogue(format(), reader, "root", "2026-1").error().cls, ErrorClass::kNotFound);
}

TEST(Schema, ImageSourcesOfOurOwnHaveAForm) {
  const auto violations = [](const std::string& image) {
    return validate(testing::of_text("k: {image: '" + image +
                                     "', model: m, model-prefix: p, precision: x, framework: f, runner: r, multinode: false, scenarios: "
                                     "{fixed-seq-len: [{isl: 1, osl: 1, search-space: []}]}}\n"));
  };
  EXPECT_TRUE(violations("pypi:sglang==0.5.19").empty());
  EXPECT_TRUE(violations("dir:/opt/engine").empty());
  EXPECT_EQ(violations("pypi:sglang").at(0).rule, "M-60");
  EXPECT_EQ(violations("dir:opt").at(0).path, "image");
}

}  // namespace
}  // namespace pawl::plan
