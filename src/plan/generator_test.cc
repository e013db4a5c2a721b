#include "plan/generator.h"

#include <gtest/gtest.h>

#include "plan/dram.h"
#include "plan/key_pattern.h"
#include "plan/schema.h"
#include "plan/testing/shared_data.h"

namespace pawl::plan {
namespace {

using codec::Json;
using testing::kShared;
using testing::load;
using testing::of_text;
using testing::slurp;
using testing::unzip;

const auto kData = kShared / "data" / "inferencex";

#define SKIP_WITHOUT_DATA() \
  if (!std::filesystem::exists(kData)) GTEST_SKIP() << "no ../shared/data/inferencex beside the project"

Catalogue real() { return load(kData, {"configs/amd-master.yaml", "configs/nvidia-master.yaml"}, "configs/runners.yaml"); }
Catalogue mini() { return load(kData / "golden" / "mini", {"amd-master.yaml", "nvidia-master.yaml"}, "runners.yaml"); }

FullSweep sweep(bool no_evals, bool evals_only, bool all_evals) {
  FullSweep options;
  options.no_evals = no_evals;
  options.evals_only = evals_only;
  options.all_evals = all_evals;
  return options;
}

TestConfig star(bool no_evals, bool evals_only, bool all_evals) {
  TestConfig options;
  options.config_keys = {"*"};
  options.no_evals = no_evals;
  options.evals_only = evals_only;
  options.all_evals = all_evals;
  return options;
}

void expect_text(const Result<Matrix>& matrix, const std::string& wanted, const std::string& name) {
  ASSERT_TRUE(matrix) << name << ": " << matrix.error().message;
  const std::string found = matrix_text(matrix->rows);
  EXPECT_EQ(matrix->rows.size(), matrix->origins.size()) << name;
  if (found == wanted) return;
  std::size_t at = 0;
  while (at < std::min(found.size(), wanted.size()) && found[at] == wanted[at]) ++at;
  const std::size_t from = at < 200 ? 0 : at - 200;
  ADD_FAILURE() << name << " differs at byte " << at << "\nwanted …" << wanted.substr(from, 400) << "\nfound  …" << found.substr(from, 400);
}

TEST(Generator, FullSweepsOfTheRealCatalogueEqualTheReferenceByteForByte) {
  SKIP_WITHOUT_DATA();
  const Catalogue catalogue = real();
  const auto golden = [](const char* name) { return unzip(kData / "golden" / ("full-sweep." + std::string(name) + ".json.gz")); };
  expect_text(full_sweep(catalogue, sweep(false, false, false)), golden("default"), "default");
  expect_text(full_sweep(catalogue, sweep(true, false, false)), golden("no-evals"), "no-evals");
  expect_text(full_sweep(catalogue, sweep(false, true, false)), golden("evals-only"), "evals-only");
  expect_text(full_sweep(catalogue, sweep(false, false, true)), golden("all-evals"), "all-evals");
  expect_text(full_sweep(catalogue, sweep(false, true, true)), golden("all-evals"), "all-evals with evals-only");
  for (const std::size_t kept : {0u, 100u}) {  // rows that are made again are the same rows
    for (const auto& [none, only, all, name] :
         {std::tuple{false, false, false, "default"}, {false, true, false, "evals-only"}, {false, false, true, "all-evals"}}) {
      FullSweep options = sweep(none, only, all);
      options.entries_kept = kept;
      expect_text(full_sweep(catalogue, options), golden(name), name);
    }
  }
  expect_text(test_config(catalogue, star(true, false, false)), golden("no-evals"), "test-config '*'");
  FullSweep filtered;
  filtered.single_node = true;
  filtered.seq_lens = {"8k1k"};
  filtered.min_conc = 6;
  filtered.max_conc = 200;
  filtered.max_tp = 4;
  filtered.max_ep = 4;
  filtered.step_size = 3;
  expect_text(full_sweep(catalogue, filtered), golden("filtered"), "filtered");
}

TEST(Generator, TheMadeUpCatalogueEqualsTheReferenceByteForByte) {
  SKIP_WITHOUT_DATA();
  const Catalogue catalogue = mini();
  const auto golden = [](const char* name) { return slurp(kData / "golden" / "mini" / (std::string(name) + ".json")); };
  expect_text(test_config(catalogue, star(false, false, false)), golden("test-config.star.default"), "default");
  expect_text(test_config(catalogue, star(true, false, false)), golden("test-config.star.no-evals"), "no-evals");
  expect_text(test_config(catalogue, star(false, true, false)), golden("test-config.star.evals-only"), "evals-only");
  expect_text(test_config(catalogue, star(false, false, true)), golden("test-config.star.all-evals"), "all-evals");
  FullSweep filtered;
  filtered.single_node = true;
  filtered.seq_lens = {"8k1k"};
  filtered.min_conc = 6;
  filtered.max_conc = 20;
  filtered.max_tp = 8;
  filtered.max_ep = 2;
  filtered.step_size = 3;
  filtered.runner_node_filter = "rack";
  filtered.no_evals = true;
  const Catalogue nvidia = load(kData / "golden" / "mini", {"nvidia-master.yaml"}, "runners.yaml");
  expect_text(full_sweep(nvidia, filtered), golden("full-sweep.filtered"), "filtered");
}

TEST(Generator, TrimmingLeavesTheReferencesCounts) {
  SKIP_WITHOUT_DATA();
  const Catalogue catalogue = real();
  auto all = full_sweep(catalogue, sweep(true, false, false));
  ASSERT_TRUE(all);
  EXPECT_EQ(trim_concurrencies(std::move(*all)).rows.size(), 883u);
}

/// Every vector of the schema that speaks of masters and runners: verdict, and rows where there are any.
TEST(Schema, AgreesWithTheReferenceOnEveryVector) {
  SKIP_WITHOUT_DATA();
  const Json vectors = Json::parse(unzip(kData / "golden" / "schema-verdicts.json.gz"));
  const std::string runners = vectors["runners-for-generate"].dump();
  std::size_t masters = 0, runner_files = 0, generated = 0, hangs = 0;
  for (const Json& c : vectors["cases"]) {
    const std::string id = c["id"], kind = c["kind"], text = c["text"];
    if (kind == "changelog-entry") continue;
    const bool wanted = c["schema"] == "accept";
    if (kind == "runners") {
      ++runner_files;
      const auto violations = validate_texts(testing::layout_of({}), {{"r.yaml", text}});
      EXPECT_EQ(violations.empty(), wanted) << id << ": " << (violations.empty() ? "" : violations[0].message);
      continue;
    }
    ++masters;
    const std::map<std::string, std::string> texts{{"m.yaml", text}, {"r.yaml", runners}};
    const Layout layout = testing::layout_of({"m.yaml"});
    const auto violations = validate_texts(layout, texts);
    if (c.value("generate", "") == "hang") {  // O-4: the one place where we refuse what the reference accepts
      ++hangs;
      ASSERT_FALSE(violations.empty()) << id;
      EXPECT_EQ(violations[0].rule, "O-4") << id;
      continue;
    }
    EXPECT_EQ(violations.empty(), wanted) << id << ": " << (violations.empty() ? "accepted" : violations[0].message) << "\n" << text;
    for (const Violation& v : violations) {
      EXPECT_FALSE(v.message.empty()) << id;
      EXPECT_EQ(v.place.file, "m.yaml") << id;
      EXPECT_GT(v.place.line, 0) << id;
      EXPECT_GT(v.place.column, 0) << id;
    }
    if (!wanted || !violations.empty()) continue;
    ++generated;
    const auto catalogue = Catalogue::read(layout, texts);
    ASSERT_TRUE(catalogue) << id;
    std::vector<const Recipe*> recipes;
    for (const Recipe& recipe : catalogue->recipes()) recipes.push_back(&recipe);
    const auto rows = test_config_rows(*catalogue, recipes, star(true, false, false));
    EXPECT_EQ(rows.has_value(), c["generate"] == "ok") << id << ": " << (rows ? "rows" : rows.error().message);
    if (!rows || !c.contains("rows")) continue;
    EXPECT_EQ(codec::write_json(Json(rows->rows), codec::JsonForm::kPySpaced), codec::write_json(c["rows"], codec::JsonForm::kPySpaced)) << id;
  }
  EXPECT_EQ(masters, 585u);
  EXPECT_EQ(runner_files, 26u);
  EXPECT_EQ(hangs, 4u);
  EXPECT_EQ(generated, 249u);
}

TEST(Schema, RetiredCataloguesHaveTheReferencesVerdicts) {
  SKIP_WITHOUT_DATA();
  std::size_t entries = 0, bad_files = 0;
  for (const auto& file : std::filesystem::directory_iterator(kData / "configs" / "deprecated")) {
    const std::string name = file.path().filename().string();
    const auto catalogue = Catalogue::read(testing::layout_of({name}), {{name, slurp(file.path())}});
    ASSERT_TRUE(catalogue) << name;
    entries += catalogue->recipes().size();
    const auto violations = validate(*catalogue);
    if (violations.empty()) continue;
    ++bad_files;
    for (const Violation& v : violations) EXPECT_EQ(v.rule, "M-17") << name << ": " << v.message;
  }
  EXPECT_EQ(entries, 321u);
  EXPECT_EQ(bad_files, 3u);
}

TEST(Schema, EveryViolationIsReportedWithPlacePathAndNearestName) {
  const Catalogue catalogue = of_text(
      "a: {image: i, model: m, modle-prefix: p, precision: fp8, framework: f, runner: r, multinode: false, scenarios: {fixed-seq-len: [\n"
      "  {isl: 1, osl: 2, search-space: [{tp: 8, ep: x, conc-list: [1]},\n"
      "    {tp: 8, conc-list: [0]}]}]}}\n"
      "b: {}\n");
  const auto all = validate(catalogue);
  ASSERT_EQ(all.size(), 4u + 8u);
  EXPECT_EQ(all[0].nearest, "model-prefix");
  EXPECT_EQ(all[0].place.line, 1);
  EXPECT_EQ(all[0].place.column, 25);
  EXPECT_EQ(all[1].path, "model-prefix");
  EXPECT_EQ(all[2].path, "scenarios.fixed-seq-len[0].search-space[0].ep");
  EXPECT_EQ(all[2].place.line, 2);
  EXPECT_EQ(all[3].rule, "M-20");
  EXPECT_EQ(all[3].path, "scenarios.fixed-seq-len[0].search-space[1].conc-list[0]");
  EXPECT_EQ(all[4].config, "b");
  EXPECT_NE(check(catalogue).error().message.find("a failed validation"), std::string::npos);
}

TEST(Dram, IsExact) {
  EXPECT_EQ(dram_gigabytes(2964436, "0.80", 8, 8), 2399);
  EXPECT_EQ(dram_gigabytes(2964436, "0.8", 4, 8), 1199);
  EXPECT_EQ(dram_gigabytes(2964436, "0.75", 4, 8), 1124);
  EXPECT_EQ(dram_gigabytes(1000000, "0.8", 3, 8), 314);
  EXPECT_EQ(dram_gigabytes(1000000, "1e-05", 8, 8), 0);
  EXPECT_EQ(dram_gigabytes(1000000, "1", 8, 8), 1048);
  EXPECT_EQ(dram_gigabytes(1000000, "0.99999999999999999999999999999999999999999", 8, 8), 1048);
  EXPECT_FALSE(dram_gigabytes(1000000, "True", 8, 8));
}

TEST(KeyPattern, MatchesAsTheShellDoes) {
  for (const auto& [pattern, text, wanted] : {std::tuple{"*-sglang", "a-sglang", true},
                                              {"dsr1*", "dsr1-fp8", true},
                                              {"?sr1-*", "dsr1-x", true},
                                              {"*[ab]", "xa", true},
                                              {"*[!ab]", "xa", false},
                                              {"*[a-c]", "xb", true},
                                              {"*[]]", "x]", true},
                                              {"*[x", "a[x", true},
                                              {"?", "é", true},
                                              {"A*", "ab", false},
                                              {"*", "", true}}) {
    EXPECT_EQ(pattern_matches(pattern, text), wanted) << pattern << " " << text;
  }
}

// The table of 16.2 and 16.3, on small catalogues.

std::string single(const std::string& spaces, const std::string& more = {}) {
  return "k-sglang: {image: i, model: m, model-prefix: p, precision: fp8, framework: sglang, runner: b, multinode: false" + more +
         ", scenarios: {fixed-seq-len: [{isl: 8192, osl: 1024, search-space: [" + spaces + "]}]}}\n";
}

std::vector<std::int64_t> concs(const Result<Matrix>& matrix) {
  std::vector<std::int64_t> all;
  for (const Json& row : matrix->rows) all.push_back(row["conc"].is_array() ? row["conc"][0].get<std::int64_t>() : row["conc"].get<std::int64_t>());
  return all;
}

TEST(Generator, ConcurrencyFiltersOfFullSweep) {
  const auto run = [](const std::string& space, std::optional<std::int64_t> min, std::optional<std::int64_t> max) {
    const Catalogue catalogue = of_text(single(space));
    FullSweep options;
    options.min_conc = min;
    options.max_conc = max;
    return concs(full_sweep(catalogue, options));
  };
  using V = std::vector<std::int64_t>;
  const std::string range = "{tp: 8, conc-start: 4, conc-end: 64}", list = "{tp: 8, conc-list: [64, 4, 16, 16]}";
  EXPECT_EQ(run(range, 5, std::nullopt), (V{5, 10, 20, 40, 64}));
  EXPECT_EQ(run(range, std::nullopt, 5), (V{4, 5}));
  EXPECT_EQ(run(range, std::nullopt, 1), (V{1}));
  EXPECT_EQ(run(range, 0, std::nullopt), V{});
  EXPECT_EQ(run(range, 65, std::nullopt), V{});
  EXPECT_EQ(run(range, std::nullopt, -1), V{});
  EXPECT_EQ(run(list, 20, 32), (V{32}));
  EXPECT_EQ(run(list, 16, std::nullopt), (V{64, 16, 16}));
  EXPECT_EQ(run(list, 100, std::nullopt), V{});
}

TEST(Generator, UsageErrorsComeFirstAndInOrder) {
  const Catalogue catalogue = of_text(single("{tp: 8, conc-list: [1]}"));
  FullSweep options;
  options.step_size = 1;
  options.min_conc = 16;
  options.max_conc = 8;
  options.no_evals = options.all_evals = true;
  auto bad = full_sweep(catalogue, options);
  EXPECT_EQ(bad.error().exit, ExitStatus::kUsage);
  EXPECT_NE(bad.error().message.find("greater than 1"), std::string::npos);
  options.step_size = 2;
  EXPECT_NE(full_sweep(catalogue, options).error().message.find("less than or equal"), std::string::npos);
  options.min_conc = 1;
  EXPECT_NE(full_sweep(catalogue, options).error().message.find("--all-evals"), std::string::npos);
  options.no_evals = options.all_evals = false;
  options.runner_types = {"nosuch"};
  bad = full_sweep(catalogue, options);
  EXPECT_EQ(bad.error().exit, ExitStatus::kBadInput);
  EXPECT_NE(bad.error().message.find("Invalid runner type"), std::string::npos);
}

TEST(Generator, KeysAreResolvedInOrderWithoutDuplicates) {
  const Catalogue catalogue = of_text("a-x: {}\na-y: {}\nb-x: {}\n");
  const auto keys = [&](const std::vector<std::string>& wanted) {
    std::vector<std::string> found;
    const auto chosen = resolve_keys(catalogue, wanted);
    for (const Recipe* recipe : *chosen) found.push_back(recipe->key);
    return found;
  };
  using V = std::vector<std::string>;
  EXPECT_EQ(keys({"*-x", "a-*", "b-x"}), (V{"a-x", "b-x", "a-y"}));
  EXPECT_NE(resolve_keys(catalogue, {"z*"}).error().message.find("matched no config keys"), std::string::npos);
  EXPECT_NE(resolve_keys(catalogue, {"a-z"}).error().message.find("Config key(s) not found"), std::string::npos);
}

TEST(Generator, TestConfigTakesTheLabelItselfAsANode) {
  const Catalogue catalogue = of_text(single("{tp: 8, conc-list: [4, 8]}"), "labels: {b: [b-x_0, b-x_0, b-y_1]}\n");
  TestConfig options = star(true, false, false);
  options.runner_node_filter = "b";
  options.conc = {8};
  const auto rows = test_config(catalogue, options);
  ASSERT_TRUE(rows);
  std::vector<std::string> runners;
  for (const Json& row : rows->rows) runners.push_back(row["runner"]);
  EXPECT_EQ(runners, (std::vector<std::string>{"b", "b-x_0", "b-y_1"}));
  EXPECT_EQ(concs(rows), (std::vector<std::int64_t>{8, 8, 8}));
  EXPECT_EQ(rows->origins[0].entry->line, 1);
  FullSweep sweep_options;
  sweep_options.runner_node_filter = "b";
  EXPECT_EQ(full_sweep(catalogue, sweep_options)->rows.size(), 6u);  // duplicates stay, the label is none
  options.runner_node_filter = "zz";
  EXPECT_TRUE(test_config(catalogue, options)->rows.empty());
}

}  // namespace
}  // namespace pawl::plan
