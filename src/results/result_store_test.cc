#include "results/result_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "model/row.h"
#include "posix/embedded_assets.h"
#include "results/deployment.h"
#include "results/result_index.h"
#include "store/testing/postgres_server.h"

namespace pawl::results {
namespace {

using codec::Json;

Json row_of(const std::string& point, int conc, double tput, const std::string& image = "lmsysorg/sglang:v1") {
  return Json{{"hw", "b200"},
              {"conc", conc},
              {"image", image},
              {"infmax_model_prefix", "demo"},
              {"framework", "sglang"},
              {"precision", "fp8"},
              {"spec_decoding", "none"},
              {"recipe_fingerprint", "f"},
              {"model", "pawl/Demo-8B"},
              {"disagg", false},
              {"is_multinode", false},
              {"isl", 1024},
              {"osl", 128},
              {"tp", 2},
              {"pp", 1},
              {"dcp_size", 1},
              {"pcp_size", 1},
              {"ep", 1},
              {"dp_attention", "false"},
              {"tput_per_gpu", tput},
              {"median_ttft", 0.5},
              {"pawl", {{"point_key", point}, {"scale", "1/32"}}}};
}

Json eval_of(const std::string& point, double score) {
  Json row = row_of(point, 4, 0);
  row.erase("tput_per_gpu");
  row.erase("median_ttft");
  row["task"] = "arith24";
  row["em_strict"] = score;
  row["n_eff"] = 24;
  return row;
}

/// The store, on both engines.
class ResultStoreTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pawl-results-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    if (std::string(GetParam()) == "sqlite") {
      place_ = (folder_ / "pawl.db").string();
    } else if (store::testing::PostgresServer::instance().up()) {
      place_ = store::testing::PostgresServer::instance().fresh_database();
    } else {
      GTEST_SKIP() << store::testing::PostgresServer::kMissing;
    }
    auto opened = store::Database::open_place(place_, {results_schema()});
    ASSERT_TRUE(opened) << opened.error().message;
    database_.emplace(std::move(*opened));
    names_ = ModelNames::load(posix::EmbeddedAssets()).value();
  }
  void TearDown() override {
    database_.reset();
    std::filesystem::remove_all(folder_);
  }
  ResultStore store() { return ResultStore(*database_); }
  Publication publication(std::int64_t run, const std::string& date, std::vector<Json> rows, std::vector<Json> evals = {}) {
    return {run,
            1,
            "demo-fp8-b200-sglang",
            "lmsysorg/sglang:v1",
            "sha256:1",
            "abc",
            date,
            "1/32",
            true,
            "pawl:run/" + std::to_string(run),
            std::move(rows),
            std::move(evals)};
  }
  std::filesystem::path folder_;
  std::string place_;
  std::optional<store::Database> database_;
  ModelNames names_;
};

INSTANTIATE_TEST_SUITE_P(Engines, ResultStoreTest, testing::Values("sqlite", "postgresql"), [](const auto& engine) { return std::string(engine.param); });

TEST_P(ResultStoreTest, RowsComeBackAsTheyWerePublished) {
  const Json row = row_of("p1", 4, 100.25);
  ASSERT_TRUE(store().publish(publication(1, "2026-11-30", {row}, {eval_of("p1", 0.95)})));
  const auto rows = store().rows_of(1, 1).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(codec::write_json(rows[0].row, codec::JsonForm::kCompactUtf8), codec::write_json(row, codec::JsonForm::kCompactUtf8));
  EXPECT_EQ(rows[0].run.html_url, "pawl:run/1");
  EXPECT_EQ(store().evals_of(1, 1).value().size(), 1U);
  EXPECT_EQ(store().runs().value().size(), 1U);
}

TEST_P(ResultStoreTest, PublishingAgainKeepsIdsAndDropsWhatIsGone) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-30", {row_of("p1", 4, 1), row_of("p2", 8, 2)}, {eval_of("p1", 0.9)})));
  const auto before = store().rows_of(1, 1).value();
  ASSERT_TRUE(store().publish(publication(1, "2026-11-30", {row_of("p1", 4, 3)}, {eval_of("p1", 1.0)})));
  const auto after = store().rows_of(1, 1).value();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].id, before[0].id);
  EXPECT_EQ(after[0].row["tput_per_gpu"], 3);
  EXPECT_EQ(store().evals_of(1, 1).value().at(0).row["em_strict"], 1.0);
}

TEST_P(ResultStoreTest, APublicationWithABadRowLeavesNothing) {
  for (auto rows : {std::vector{row_of("p1", 4, 1), row_of("", 8, 1)}, std::vector{row_of("p1", 4, 1), row_of("p1", 4, 1)}}) {
    EXPECT_FALSE(store().publish(publication(1, "2026-11-30", rows)));
    EXPECT_TRUE(store().runs().value().empty());
  }
  EXPECT_FALSE(store().publish(publication(1, "2026-02-30", {row_of("p1", 4, 1)})));
}

TEST_P(ResultStoreTest, TheNewestRunThatCoversEveryPointIsTheBaseline) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1), row_of("p2", 8, 2)}, {eval_of("p1", 0.9)})));
  ASSERT_TRUE(store().publish(publication(2, "2026-11-02", {row_of("p1", 4, 10), row_of("p2", 8, 20), row_of("p3", 16, 30)})));
  ASSERT_TRUE(store().publish(publication(3, "2026-11-03", {row_of("p1", 4, 100)})));
  StoreResults source(*database_, names_);
  const auto found = source.newest("demo-fp8-b200-sglang", "lmsysorg/sglang:v1", {"p2", "p1"}).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->run, 2);
  EXPECT_EQ(found->scale, "1/32");
  EXPECT_EQ(found->head, "abc");
  ASSERT_EQ(found->rows.size(), 2U);
  EXPECT_EQ(found->rows[0]["tput_per_gpu"], 20);
  EXPECT_EQ(found->sources, (std::vector<std::string>{"/api/v1/benchmarks?model=Demo-8B&date=2026-11-02&exact=true",
                                                      "/api/v1/evaluations?model=Demo-8B&date=2026-11-02&exact=true"}));
  EXPECT_FALSE(source.newest("demo-fp8-b200-sglang", "lmsysorg/sglang:v1", {"p1", "p9"}).value().has_value());
  EXPECT_FALSE(source.newest("demo-fp8-b200-sglang", "lmsysorg/sglang:v2", {"p1"}).value().has_value());
  EXPECT_FALSE(source.newest("other", "lmsysorg/sglang:v1", {"p1"}).value().has_value());
}

TEST_P(ResultStoreTest, ALaterAttemptHidesTheEarlierOne) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1), row_of("p2", 8, 2)})));
  auto again = publication(1, "2026-11-02", {row_of("p1", 4, 7)});
  again.attempt = 2;
  ASSERT_TRUE(store().publish(again));
  ResultIndex index(names_);
  ASSERT_TRUE(index.refresh(*database_));
  const auto rows = index.benchmarks({.display = "Demo-8B"});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].producer->record.attempt, 2);
  StoreResults source(*database_, names_);
  EXPECT_FALSE(source.newest("demo-fp8-b200-sglang", "lmsysorg/sglang:v1", {"p1", "p2"}).value().has_value());
}

TEST(ModelNames, NamesResolveByPrefixAliasPrecisionAndPath) {
  const ModelNames names = ModelNames::load(posix::EmbeddedAssets()).value();
  EXPECT_EQ(names.resolve("qwen3.5", ""), "qwen3.5");
  EXPECT_EQ(names.display("qwen3.5"), "Qwen-3.5-397B-A17B");
  EXPECT_EQ(names.resolve("GPTOSS", ""), "gptoss120b");
  EXPECT_EQ(names.resolve("dsv4pro-nvfp4-x", ""), "dsv4");
  EXPECT_EQ(names.resolve("", "deepseek-ai/DeepSeek-R1"), "dsr1");
  EXPECT_EQ(names.resolve("unheard", "of"), std::nullopt);
  EXPECT_TRUE(names.knows_display("GLM-5.2"));
  EXPECT_FALSE(names.knows_display("glm-5.2"));
}

TEST_P(ResultStoreTest, WhatVersionOneWroteIsPublishedAgainUnderItsIds) {
  const std::string place = std::string(GetParam()) == "sqlite" ? (folder_ / "old.db").string() : store::testing::PostgresServer::instance().fresh_database();
  const Json row = row_of("p1", 4, 100.25), eval = eval_of("p1", 0.95);
  {
    store::Schema old = results_schema();
    old.steps.resize(1, "");
    auto db = store::Database::open_place(place, {old});
    ASSERT_TRUE(db) << db.error().message;
    ASSERT_TRUE(db->execute(
        "INSERT INTO results_run VALUES (7, 2, 'demo-fp8-b200-sglang', 'lmsysorg/sglang:v1', 'sha256:1', 'abc', '2026-11-30', '1/32', 1, 'pawl:run/7')"));
    ASSERT_TRUE(db->execute("INSERT INTO results_config VALUES (5, 'x')"));
    const std::string text = codec::write_json(row, codec::JsonForm::kCompactUtf8);
    ASSERT_TRUE(db->execute(
        "INSERT INTO results_benchmark VALUES (41, 7, 2, 'p1', 5, 'b200', 'sglang', 'm', 'demo', 'fp8', 'none', 0, 1024, 128, 4, 'i', '2026-11-30', ?1)",
        {text}));
    ASSERT_TRUE(db->execute(
        "INSERT INTO results_eval VALUES (42, 7, 2, 'p1', 'arith24', 5, 'b200', 'sglang', 'm', 'demo', 'fp8', 'none', 0, 1024, 128, 4, 'i', '2026-11-30', ?1)",
        {codec::write_json(eval, codec::JsonForm::kCompactUtf8)}));
  }
  auto db = store::Database::open_place(place, {results_schema()});
  ASSERT_TRUE(db) << db.error().message;
  ResultStore moved(*db);
  const auto rows = moved.rows_of(7, 2).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].id, 41);
  EXPECT_EQ(rows[0].row, row);
  EXPECT_EQ(rows[0].run.recipe, "demo-fp8-b200-sglang");
  ASSERT_EQ(moved.evals_of(7, 2).value().size(), 1U);
  EXPECT_EQ(moved.evals_of(7, 2).value()[0].id, 42);
  EXPECT_TRUE(moved.verify().value().empty());
}

TEST_P(ResultStoreTest, AReaderSeesTheOldOrTheNewStore) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1), row_of("p2", 8, 2)})));
  auto other = store::Database::open_place(place_, {results_schema()});
  ASSERT_TRUE(other);
  ResultIndex index(names_);
  ASSERT_TRUE(other->snapshot([&]() -> Status {
    PAWL_TRY(ResultStore(*other).generation());
    EXPECT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 10), row_of("p2", 8, 20), row_of("p3", 16, 30)})));
    return index.refresh(*other);
  }));
  EXPECT_EQ(index.row_count(), 2U);
  ASSERT_TRUE(other->snapshot([&] { return index.refresh(*other); }));
  EXPECT_EQ(index.row_count(), 3U);
}

TEST_P(ResultStoreTest, TwoPointsThatNoColumnTellsApartAreTwoRows) {
  Json wide = row_of("p2", 4, 2);
  wide["dcp_size"] = 2;
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1), wide})));
  EXPECT_EQ(store().rows_of(1, 1).value().size(), 2U);
}

TEST_P(ResultStoreTest, APurgedRunIsGoneUntilThePurgeIsTakenBack) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1)})));
  const auto visible = [&] {
    ResultIndex index(names_);
    EXPECT_TRUE(index.refresh(*database_));
    return index.benchmarks({.display = "Demo-8B"}).size();
  };
  ASSERT_TRUE(store().purge(1, std::nullopt, "wrong recipe", "2026-11-02T00:00:00Z"));
  EXPECT_EQ(visible(), 0U);
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1)})));
  EXPECT_EQ(visible(), 0U);
  ASSERT_TRUE(store().purge(1, std::nullopt, "", "2026-11-03T00:00:00Z"));
  EXPECT_EQ(visible(), 1U);
  EXPECT_EQ(store().purge(9, std::nullopt, "x", "").error().cls, ErrorClass::kNotFound);
}

TEST_P(ResultStoreTest, PruningRemovesOnlyWhatNobodySees) {
  ASSERT_TRUE(store().publish(publication(1, "2026-11-01", {row_of("p1", 4, 1)})));
  auto again = publication(1, "2026-11-01", {row_of("p1", 4, 7)});
  again.attempt = 2;
  ASSERT_TRUE(store().publish(again));
  EXPECT_EQ(store().prune("2026-11-01", "").value(), 0);
  EXPECT_EQ(store().prune("2026-11-02", "").value(), 1);
  EXPECT_TRUE(store().rows_of(1, 1).value().empty());
  EXPECT_EQ(store().rows_of(1, 2).value().size(), 1U);
  EXPECT_TRUE(store().verify().value().empty());
}

TEST(Deployment, ReadsDisaggregatedAndAggregatedRows) {
  Json row{{"hw", "cluster:gb200-nv_3"},
           {"framework", "Dynamo-SGLang"},
           {"precision", "nvfp4"},
           {"disagg", true},
           {"is_multinode", true},
           {"prefill_tp", 4},
           {"prefill_ep", 4},
           {"prefill_num_workers", 2},
           {"prefill_dp_attention", "true"},
           {"num_prefill_gpu", 8},
           {"decode_tp", 8},
           {"decode_ep", 8},
           {"decode_num_workers", 1},
           {"decode_dp_attention", "false"},
           {"num_decode_gpu", 8},
           {"tput_per_gpu", 2.5}};
  const Deployment two = deployment_of_row(row);
  EXPECT_EQ(two.hardware, "gb200");
  EXPECT_EQ(two.framework, "dynamo-sglang");
  EXPECT_EQ(two.precision, "fp4");
  EXPECT_EQ(two.spec_method, "none");
  EXPECT_TRUE(two.prefill_dp_attention && !two.decode_dp_attention);
  EXPECT_EQ(two.num_prefill_gpu, 8);
  EXPECT_EQ(metrics_of_row(row), (Json{{"tput_per_gpu", 2.5}}));
  row["disagg"] = false;
  row["decode_tp"] = 0;
  row["decode_num_workers"] = 0;
  row["num_decode_gpu"] = 0;
  EXPECT_EQ(deployment_of_row(row).decode_tp, 4);
  EXPECT_EQ(deployment_of_row(row).num_decode_gpu, 8);
}

}  // namespace
}  // namespace pawl::results
