#include "results/api.h"

#include <gtest/gtest.h>

#include "posix/embedded_assets.h"
#include "results/answer_diff.h"
#include "results/answer_source.h"
#include "results/result_store.h"

namespace pawl::results {
namespace {

using codec::Json;

/// A store in memory and its API.
class ApiTest : public testing::Test {
 protected:
  ApiTest()
      : names_(ModelNames::load(posix::EmbeddedAssets()).value()),
        database_(store::Database::open_memory({results_schema()}).value()),
        source_(answers_of_store(database_, names_, "store")) {}

  static BenchmarkRecord row(std::int64_t conc, double x, double y, const std::string& image = "i:1") {
    BenchmarkRecord r;
    r.deployment = {"b200", "sglang", "dsr1", "fp8", "none", false, false, 8, 1, false, 0, 8, 1, false, 0, 8, 8};
    r.isl = 1024, r.osl = 1024, r.conc = conc, r.image = image;
    r.metrics = {{"median_intvty", x}, {"output_tput_per_gpu", y}, {"tput_per_gpu", 2 * y}};
    return r;
  }
  struct Run {
    std::int64_t number = 1;
    std::string date = "2026-06-01", started, conclusion = "success";
    bool append_only = false;
    std::int64_t attempt = 1;
  };
  void add(const Run& run, std::vector<BenchmarkRecord> rows) {
    RunBatch batch;
    batch.run.run = run.number, batch.run.attempt = run.attempt, batch.run.date = run.date, batch.run.started_at = run.started,
    batch.run.conclusion = run.conclusion;
    batch.run.append_only = run.append_only, batch.run.html_url = "https://ci/runs/" + std::to_string(run.number);
    batch.rows = std::move(rows);
    const auto written = ResultStore(database_).write({std::move(batch)}, WriteMode::kUpsert, {"2026-06-02T00:00:00Z", "ingest", "test"});
    ASSERT_TRUE(written) << written.error().message;
  }
  Json get(const std::string& path, Query query) {
    auto answer = source_->get("/api/v1/" + path, query);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : Json();
  }
  std::string error_of(const std::string& path, Query query) {
    ResultsApi api(names_);
    const auto answer = api.answer(database_, {"/api/v1/" + path, std::move(query), false});
    EXPECT_TRUE(answer);
    EXPECT_EQ(answer->status, 400) << answer->body;
    return text_of(codec::parse_json(answer->body, "answer").value(), "error");
  }
  /// "conc:run" of each row.
  std::vector<std::string> rows(Query more = {}) {
    more.insert(more.begin(), {"model", "DeepSeek-R1-0528"});
    std::vector<std::string> out;
    for (const Json& r : get("benchmarks", more)) {
      const std::string url = text_of(r, "run_url");
      out.push_back(std::to_string(r["conc"].get<int>()) + ":" + url.substr(url.find("/runs/") + 6, 1));
    }
    return out;
  }
  using Rows = std::vector<std::string>;

  ModelNames names_;
  store::Database database_;
  std::unique_ptr<AnswerSource> source_;
};

TEST_F(ApiTest, APartialSweepReplacesItsWholeCurve) {
  add({.number = 1, .date = "2026-06-01"}, {row(4, 90, 10), row(8, 80, 20)});
  add({.number = 2, .date = "2026-06-03"}, {row(4, 91, 11)});
  EXPECT_EQ(rows(), (Rows{"4:2"}));
  EXPECT_EQ(rows({{"date", "2026-06-02"}}), (Rows{"4:1", "8:1"}));
  EXPECT_EQ(rows({{"date", "2026-06-02"}, {"exact", "true"}}), Rows{});
  EXPECT_EQ(rows({{"date", "2026-06-01"}, {"exact", "true"}}), (Rows{"4:1", "8:1"}));
  EXPECT_EQ(get("benchmarks/history", {{"model", "DeepSeek-R1-0528"}, {"isl", "1024"}, {"osl", "1024"}}).size(), 3U);
}

TEST_F(ApiTest, OfOneDayTheRunThatStartedLastWins) {
  add({.number = 2, .date = "2026-06-01", .started = "2026-06-01T01:00:00Z"}, {row(4, 90, 10)});
  add({.number = 1, .date = "2026-06-01", .started = "2026-06-01T02:00:00Z"}, {row(8, 90, 10)});
  add({.number = 3, .date = "2026-06-01"}, {row(16, 90, 10)});  // an unknown start counts as the oldest
  EXPECT_EQ(rows(), (Rows{"8:1"}));
}

TEST_F(ApiTest, ANewerAttemptHidesTheOlderOne) {
  add({.number = 1, .attempt = 1}, {row(4, 90, 10), row(8, 80, 20)});
  add({.number = 1, .attempt = 2}, {row(4, 91, 11)});
  EXPECT_EQ(rows(), (Rows{"4:1"}));
  EXPECT_EQ(get("benchmarks", {{"model", "DeepSeek-R1-0528"}})[0]["run_url"], "https://ci/runs/1/attempts/2");
}

TEST_F(ApiTest, AnAppendOnlyChainStopsAtAnotherImage) {
  add({.number = 1, .date = "2026-06-01"}, {row(2, 95, 5, "i:0")});
  add({.number = 2, .date = "2026-06-02", .append_only = true}, {row(4, 90, 10), row(8, 80, 20)});
  add({.number = 3, .date = "2026-06-03", .append_only = true}, {row(8, 81, 21), row(16, 70, 30)});
  EXPECT_EQ(rows(), (Rows{"4:2", "8:3", "16:3"}));
  for (const Json& r : get("benchmarks", {{"model", "DeepSeek-R1-0528"}})) EXPECT_EQ(r["curve_workflow_run_id"], "3");
}

TEST_F(ApiTest, AsOfARunLimitsByItsStartAndAnUnknownRunLimitsNothing) {
  add({.number = 1, .date = "2026-06-01", .started = "2026-06-01T01:00:00Z"}, {row(4, 90, 10)});
  add({.number = 2, .date = "2026-06-01", .started = "2026-06-01T05:00:00Z"}, {row(8, 90, 10)});
  EXPECT_EQ(rows({{"date", "2026-06-01"}, {"runId", "1"}}), (Rows{"4:1"}));
  EXPECT_EQ(rows({{"date", "2026-06-01"}, {"runId", "77"}}), (Rows{"8:2"}));
  EXPECT_EQ(rows({{"runId", "1"}, {"exactRun", "true"}}), (Rows{"4:1"}));
  EXPECT_EQ(rows({{"runId", "x1"}, {"exactRun", "true"}}), (Rows{"8:2"}));
}

TEST_F(ApiTest, AnAgenticSweepReplacesEveryVariant) {
  const auto agentic = [&](std::int64_t conc, const char* spec, const char* offload) {
    BenchmarkRecord r = row(conc, 50, 10);
    r.isl = r.osl = std::nullopt;
    r.benchmark_type = "agentic_traces", r.offload_mode = offload, r.deployment.spec_method = spec;
    return r;
  };
  add({.number = 1, .date = "2026-06-01"}, {agentic(4, "none", "off"), agentic(4, "mtp", "on")});
  add({.number = 2, .date = "2026-06-02"}, {agentic(8, "none", "off")});
  EXPECT_EQ(rows(), (Rows{"8:2"}));
  EXPECT_EQ(get("benchmarks", {{"model", "DeepSeek-R1-0528"}})[0]["workflow_run_id"], "2");
}

TEST_F(ApiTest, HeldRowsAreInNoAnswerUntilAPersonAcceptsThem) {
  BenchmarkRecord slipped = row(4, 90, 10);
  slipped.held = "unitSlip: times look like milliseconds";
  add({.number = 1}, {slipped, row(8, 80, 20)});
  EXPECT_EQ(rows(), (Rows{"8:1"}));
  ASSERT_TRUE(ResultStore(database_).accept(1, "checked", "2026-06-03T00:00:00Z"));
  EXPECT_EQ(rows(), (Rows{"4:1", "8:1"}));
  EXPECT_EQ(get("benchmarks", {{"model", "DeepSeek-R1-0528"}})[0]["pawl"]["accepted"], "checked");
  // Taking the run in again does not hold it again.
  add({.number = 1}, {slipped, row(8, 80, 20)});
  EXPECT_EQ(rows(), (Rows{"4:1", "8:1"}));
}

TEST_F(ApiTest, ARunWithoutConclusionIsInNoAvailability) {
  add({.number = 1, .conclusion = ""}, {row(4, 90, 10)});
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_TRUE(get("availability", {}).empty());
  EXPECT_TRUE(get("submissions", {})["summary"].empty());
  EXPECT_TRUE(get("workflow-info", {{"date", "2026-06-01"}})["runs"].empty());
  add({.number = 2, .date = "2026-06-04"}, {row(4, 90, 10), row(8, 1, 1)});
  const Json summary = get("submissions", {})["summary"];
  ASSERT_EQ(summary.size(), 1U);
  EXPECT_EQ(summary[0]["total_datapoints"], 2);
  EXPECT_EQ(summary[0]["max_concurrency"], 8);
  EXPECT_EQ(get("submissions", {})["volume"][0], (Json{{"date", "2026-06-04"}, {"hardware", "b200"}, {"datapoints", 2}}));
}

TEST_F(ApiTest, ViewsAndPagesCutWhatTheySay) {
  add({.number = 1}, {row(4, 90.123456789, 10), row(8, 80, 20), row(16, 70, 30)});
  const Query model{{"model", "DeepSeek-R1-0528"}};
  Query calculator = model;
  calculator.insert(calculator.end(), {{"view", "calculator"}, {"sequence", "1k/1k"}});
  EXPECT_EQ(get("benchmarks", calculator).size(), 3U);
  Query columns = model;
  columns.emplace_back("view", "columns");
  const Json c = get("benchmarks", columns);
  EXPECT_EQ(c["schema"], "pawl.columns/1");
  EXPECT_EQ(c["numbers"]["conc"], (Json{4, 8, 16}));
  EXPECT_EQ(c["metrics"]["median_intvty"][0], 90.1235);
  EXPECT_EQ(c["words"]["hardware"]["words"], Json::array({"b200"}));
  Query page = model;
  page.insert(page.end(), {{"limit", "2"}, {"offset", "1"}});
  EXPECT_EQ(get("benchmarks", page).size(), 2U);
  EXPECT_EQ(error_of("benchmarks", {{"model", "DeepSeek-R1-0528"}, {"view", "calculator"}}), "Unknown calculator sequence");
  EXPECT_EQ(error_of("benchmarks/history", {{"model", "DeepSeek-R1-0528"}}), "model, isl, and osl are required");
  EXPECT_EQ(error_of("log-availability", {}), "ids query param is required");
  EXPECT_EQ(error_of("log-availability", {{"ids", "x,-1"}}), "no valid ids provided");
  EXPECT_EQ(error_of("server-log", {}), "id is required (benchmark_result_id)");
  EXPECT_EQ(error_of("eval-samples", {{"eval_result_id", "0"}}), "eval_result_id is required and must be a positive integer");
}

TEST_F(ApiTest, ParetoIsGlobalAndStrict) {
  add({.number = 1}, {row(4, 90, 10), row(8, 80, 20), row(16, 70, 15)});
  const Query query{{"model", "DeepSeek-R1-0528"},      {"rawModel", "dsr1"},  {"sequence", "1k/1k"}, {"xMetric", "median_intvty"},
                    {"yMetric", "output_tput_per_gpu"}, {"xDirection", "max"}, {"yDirection", "max"}};
  const Json answer = get("pareto", query);
  EXPECT_EQ(answer["counts"], (Json{{"returned", 3}, {"selected", 3}, {"eligible", 3}, {"missing_or_nonfinite", 0}}));
  ASSERT_EQ(answer["frontier"].size(), 2U);
  EXPECT_EQ(answer["frontier"][0]["x"], 80);
  EXPECT_EQ(answer["frontier"][0]["observations"][0]["conc"], 8);
  EXPECT_EQ(answer["hinterland"].size(), 2U);
  Query repeated = query;
  repeated.emplace_back("xMetric", "a");
  EXPECT_NE(error_of("pareto", repeated).find("more than once"), std::string::npos);
  Query power = query;
  power[3].second = "avg_power_w";
  EXPECT_NE(error_of("pareto", power).find("powerValid=strictV2"), std::string::npos);
}

TEST_F(ApiTest, TheTcoFeedReadsTheFrontierAtTiers) {
  add({.number = 1}, {row(4, 100, 10), row(8, 50, 40), row(16, 40, 45)});
  const Query query{{"model", "dsr1"}, {"workloads", "1024x1024"}, {"tiers", "30,50,75,120"}};
  const Json answer = get("tco-feed", query);
  ASSERT_EQ(answer["rows"].size(), 4U);
  const Json& low = answer["rows"][0];
  EXPECT_EQ(low["boundary"], "clamped_low");
  EXPECT_EQ(low["output_tput_per_gpu"], 45);
  EXPECT_EQ(answer["rows"][1]["output_tput_per_gpu"], 40);
  EXPECT_EQ(answer["rows"][1]["is_interpolated"], false);
  EXPECT_EQ(answer["rows"][2]["is_interpolated"], true);
  EXPECT_GT(answer["rows"][2]["output_tput_per_gpu"], 10);
  EXPECT_LT(answer["rows"][2]["output_tput_per_gpu"], 40);
  EXPECT_EQ(answer["rows"][3]["boundary"], "unreachable");
  EXPECT_EQ(answer["rows"][3]["output_tput_per_gpu"], 0);
  EXPECT_TRUE(answer["rows"][3]["evidence_date"].is_null());
  Query bands = query;
  bands.emplace_back("bands", "true");
  const Json banded = get("tco-feed", bands)["rows"][1];
  EXPECT_LE(banded["band"]["low"], banded["output_tput_per_gpu"]);
  EXPECT_EQ(banded["band"]["resamples"], 200);
  // A score is the weighted sum of its readings.
  Query scores = query;
  scores.insert(scores.end(), {{"view", "scores"}, {"weights", "1,1,1,1"}, {"alpha", "1"}});
  double sum = 0;
  for (const Json& r : answer["rows"]) sum += r["output_tput_per_gpu"].get<double>() / 4;
  EXPECT_NEAR(get("tco-feed", scores)["rows"][0]["score"].get<double>(), 2 * sum, 1e-3);
  ResultsApi api(names_);
  Query csv = query;
  csv.emplace_back("format", "csv");
  const auto text = api.answer(database_, {"/api/v1/tco-feed", csv, false}).value();
  EXPECT_EQ(text.body.substr(0, text.body.find('\n')),
            "hardware,workload,tier,output_tput_per_gpu,boundary,frontier_points,frontier_min_interactivity,frontier_max_interactivity,latest_date,oldest_"
            "frontier_date");
  EXPECT_EQ(error_of("tco-feed", {{"model", "dsr1"}, {"alpha", "1"}}), "alpha needs view=scores");
  EXPECT_EQ(error_of("tco-feed", {{"model", "nobody"}}), "Unknown model");
  EXPECT_NE(error_of("tco-feed", {{"model", "dsr1"}, {"tiers", "1,1"}}).find("distinct"), std::string::npos);
}

TEST_F(ApiTest, TheIndexFollowsWritesOneByOne) {
  for (int i = 1; i <= 3; ++i) {
    add({.number = i, .date = "2026-06-0" + std::to_string(i)}, {row(i, 90, 10)});
    EXPECT_EQ(rows(), (Rows{std::to_string(i) + ":" + std::to_string(i)}));
  }
  ASSERT_TRUE(ResultStore(database_).purge(3, std::nullopt, "wrong", ""));
  EXPECT_EQ(rows(), (Rows{"2:2"}));
}

TEST(AnswerDiff, RowsMatchByIdentityAndMembersAreCounted) {
  const Json left = Json::array({{{"hardware", "a"}, {"conc", 1}, {"metrics", {{"x", 1}, {"y", 2}}}}, {{"hardware", "b"}, {"conc", 1}, {"v", 1}}});
  Json right =
      Json::array({{{"hardware", "b"}, {"conc", 1}, {"v", 1.0}, {"new", 1}}, {{"hardware", "a"}, {"conc", 1}, {"metrics", {{"x", 1.5}}}}, {{"hardware", "c"}}});
  const AnswerDiff d = diff_answers(left, right);
  EXPECT_EQ(d.matched, 2);
  EXPECT_EQ(d.only_right_count, 1);
  EXPECT_EQ(d.changed, (std::map<std::string, std::int64_t>{{"metrics.x", 1}}));
  EXPECT_EQ(d.missing, (std::map<std::string, std::int64_t>{{"metrics.y", 1}}));
  EXPECT_EQ(d.added, (std::map<std::string, std::int64_t>{{"new", 1}}));
  EXPECT_GT(d.out_of_order, 0);
  EXPECT_FALSE(d.right_has_all_of_left());
  EXPECT_TRUE(diff_answers(left, left).right_has_all_of_left());
  EXPECT_TRUE(diff_answers(Json{{"runs", left}}, Json{{"runs", left}, {"more", 1}}).right_has_all_of_left());
}

}  // namespace
}  // namespace pawl::results
