#include "service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "codec/json.h"
#include "posix/embedded_assets.h"
#include "results/api.h"
#include "results/result_store.h"
#include "results/tokens.h"
#include "service/markdown.h"

namespace pawl::service {
namespace {

using codec::Json;
using testing::HasSubstr;
using testing::Not;

Json row_of(const std::string& point, int conc, const std::string& prefix = "demo") {
  return Json{{"hw", "b200"},
              {"conc", conc},
              {"image", "lmsysorg/sglang:v0.5.9"},
              {"infmax_model_prefix", prefix},
              {"framework", "sglang"},
              {"precision", "fp8"},
              {"spec_decoding", "none"},
              {"recipe_fingerprint", "fafa"},
              {"model", "pawl/Demo-8B"},
              {"disagg", false},
              {"is_multinode", false},
              {"isl", 1024},
              {"osl", 128},
              {"tp", 4},
              {"pp", 1},
              {"dcp_size", 1},
              {"pcp_size", 1},
              {"ep", 2},
              {"dp_attention", "true"},
              {"tput_per_gpu", 180.657},
              {"median_ttft", 0.10738},
              {"median_tpot", 0.010646},
              {"pawl", {{"point_key", point}, {"scale", "1/32"}, {"simulated", true}, {"verdict", "SUSPECT"}, {"measured_at", "2026-11-30T16:03:27Z"}}}};
}

Json eval_of(const std::string& point) {
  Json row = row_of(point, 4);
  for (const char* key : {"tput_per_gpu", "median_ttft", "median_tpot"}) row.erase(key);
  row["task"] = "arith24";
  row["em_strict"] = 0.95;
  row["em_flexible"] = 1.0;
  row["n_eff"] = 24;
  return row;
}

/// Keeps the one answer.
class Caught final : public http::Responder {
 public:
  void send(http::Response response) override { answer = std::move(response); }
  void begin(int, http::Fields) override { FAIL(); }
  void write(std::string) override { FAIL(); }
  void finish() override { FAIL(); }
  [[nodiscard]] bool peer_gone() const override { return false; }
  std::optional<http::Response> answer;
};

std::string field(const http::Response& response, const std::string& name) {
  for (const auto& [key, value] : response.fields) {
    if (key == name) return value;
  }
  return {};
}

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pawl-service-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    database_.emplace(store::Database::open(folder_ / "pawl.db", {results::results_schema()}).value());
    results::Publication p{17,     2,    "demo-fp8-b200-sglang",      "lmsysorg/sglang:v0.5.9",           "sha256:1",     "abc", "2026-11-30",
                           "1/32", true, "https://ci.example/run/17", {row_of("p1", 8), row_of("p2", 4)}, {eval_of("p1")}};
    ASSERT_TRUE(results::ResultStore(*database_).publish(p));
    auto made =
        Service::create({(folder_ / "pawl.db").string(), {results::results_schema()}, results::ModelNames::load(posix::EmbeddedAssets()).value(), "9.9"});
    ASSERT_TRUE(made) << made.error().message;
    service_ = std::move(*made);
  }
  void TearDown() override {
    service_.reset();
    database_.reset();
    std::filesystem::remove_all(folder_);
  }
  http::Response get(const std::string& path, std::vector<std::pair<std::string, std::string>> query = {}, const std::string& method = "GET") {
    const auto caught = std::make_shared<Caught>();
    service_->handler()({method, path, std::move(query), {}, {}}, caught);
    EXPECT_TRUE(caught->answer.has_value());
    return caught->answer.value_or(http::Response());
  }
  static Json json(const http::Response& response) { return codec::parse_json(response.body, "answer").value(); }
  void make_thread(const std::string& body) {
    ASSERT_TRUE(database_->execute(
        "CREATE TABLE forge_change_request (number INTEGER PRIMARY KEY, title TEXT, body TEXT, author TEXT, branch TEXT, base TEXT, head TEXT, state TEXT, "
        "created TEXT, closed_by TEXT)"));
    ASSERT_TRUE(
        database_->execute("CREATE TABLE forge_comment (id INTEGER PRIMARY KEY, number INTEGER, key TEXT, author TEXT, body TEXT, created TEXT, edited TEXT)"));
    ASSERT_TRUE(database_->execute("CREATE TABLE forge_label (number INTEGER, label TEXT)"));
    ASSERT_TRUE(database_->execute(
        "INSERT INTO forge_change_request VALUES (1, 'Move <b>', ?1, 'pawl', 'pawl/x', 'main', 'abcdef', 'closed', '2026-11-30T16:00:00Z', 'person')", {body}));
    ASSERT_TRUE(database_->execute("INSERT INTO forge_comment VALUES (1, 1, 'k', 'pawl', 'Attempt **passed**', '2026-11-30T16:01:00Z', '')"));
    ASSERT_TRUE(database_->execute("INSERT INTO forge_label VALUES (1, 'sweep')"));
  }
  std::filesystem::path folder_;
  std::optional<store::Database> database_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, HealthSaysVersion) {
  const auto response = get("/healthz");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, R"({"status":"ok","version":"9.9"})");
}

TEST_F(ServiceTest, ABenchmarkRowHasTheContractsMembersInItsOrder) {
  const auto response = get("/api/v1/benchmarks", {{"model", "Demo-8B"}});
  ASSERT_EQ(response.status, 200);
  const Json rows = json(response);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["conc"], 4);
  EXPECT_EQ(
      codec::write_json(rows[0], codec::JsonForm::kCompactUtf8),
      R"({"id":"2","hardware":"b200","framework":"sglang","model":"demo","precision":"fp8","spec_method":"none",)"
      R"("disagg":false,"is_multinode":false,"prefill_tp":4,"prefill_ep":2,"prefill_dp_attention":true,"prefill_num_workers":0,)"
      R"("decode_tp":4,"decode_ep":2,"decode_dp_attention":true,"decode_num_workers":0,"num_prefill_gpu":4,"num_decode_gpu":4,)"
      R"("benchmark_type":"single_turn","offload_mode":"off","isl":1024,"osl":128,"conc":4,"image":"lmsysorg/sglang:v0.5.9","recipe_fingerprint":"fafa",)"
      R"("metrics":{"pp":1,"dcp_size":1,"pcp_size":1,"tput_per_gpu":180.657,"median_ttft":0.10738,"median_tpot":0.010646},)"
      R"("workers":null,"power_invalid_reasons":null,"power_audit":null,"date":"2026-11-30","run_url":"https://ci.example/run/17/attempts/2",)"
      R"("curve_date":"2026-11-30","curve_workflow_run_id":"17",)"
      R"("pawl":{"point_key":"p2","scale":"1/32","simulated":true,"verdict":"SUSPECT","measured_at":"2026-11-30T16:03:27Z","recipe":"demo-fp8-b200-sglang"}})");
  EXPECT_EQ(field(response, "Cache-Control"), "public, max-age=0, s-maxage=86400");
  EXPECT_EQ(field(response, "X-Content-Type-Options"), "nosniff");
  EXPECT_THAT(field(response, "Content-Security-Policy"), HasSubstr("default-src 'none'; style-src 'unsafe-inline'"));
}

TEST_F(ServiceTest, AnEvaluationRowHasTheContractsMembersInItsOrder) {
  const Json rows = json(get("/api/v1/evaluations"));
  ASSERT_EQ(rows.size(), 1U);
  Json row = rows[0];
  row.erase("pawl");
  EXPECT_EQ(codec::write_json(row, codec::JsonForm::kCompactUtf8),
            R"({"id":"1","config_id":1,"hardware":"b200","framework":"sglang","model":"demo","precision":"fp8","spec_method":"none",)"
            R"("disagg":false,"is_multinode":false,"prefill_tp":4,"prefill_ep":2,"prefill_dp_attention":true,"prefill_num_workers":0,)"
            R"("decode_tp":4,"decode_ep":2,"decode_dp_attention":true,"decode_num_workers":0,"num_prefill_gpu":4,"num_decode_gpu":4,)"
            R"("task":"arith24","date":"2026-11-30","conc":4,"metrics":{"n_eff":24,"em_strict":0.95,"em_flexible":1.0},)"
            R"("timestamp":"2026-11-30T16:03:27Z","run_url":"https://ci.example/run/17"})");
  EXPECT_EQ(json(get("/api/v1/evaluations", {{"model", "GLM-5"}})).size(), 0U);
  EXPECT_EQ(json(get("/api/v1/evaluations", {{"model", "Demo-8B"}, {"date", "2026-11-30"}, {"exact", "true"}})).size(), 1U);
}

TEST_F(ServiceTest, BadParametersGetTheContractsTexts) {
  const auto refused = [&](const std::string& path, std::vector<std::pair<std::string, std::string>> query) {
    const auto response = get(path, std::move(query));
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(field(response, "Cache-Control"), "no-store");
    return response.body;
  };
  EXPECT_EQ(refused("/api/v1/benchmarks", {}), R"({"error":"Unknown model"})");
  EXPECT_EQ(refused("/api/v1/benchmarks", {{"model", "demo-8b"}}), R"({"error":"Unknown model"})");
  EXPECT_EQ(refused("/api/v1/evaluations", {{"model", "x"}}), R"({"error":"Unknown model"})");
  EXPECT_EQ(refused("/api/v1/benchmarks", {{"model", "Demo-8B"}, {"date", "2026-02-30"}}), R"~({"error":"Invalid date format (YYYY-MM-DD required)"})~");
  EXPECT_EQ(refused("/api/v1/benchmarks", {{"model", "Demo-8B"}, {"powerValid", ""}}), R"({"error":"Unknown powerValid filter"})");
}

TEST_F(ServiceTest, DatesRunsAndPowerSelectRows) {
  const auto count = [&](std::vector<std::pair<std::string, std::string>> more) {
    more.insert(more.begin(), {"model", "Demo-8B"});
    return json(get("/api/v1/benchmarks", std::move(more))).size();
  };
  EXPECT_EQ(count({{"date", "2026-11-29"}}), 0U);
  EXPECT_EQ(count({{"date", "2026-12-01"}}), 2U);
  EXPECT_EQ(count({{"date", "2026-12-01"}, {"exact", "true"}}), 0U);
  EXPECT_EQ(count({{"runId", "18"}, {"exactRun", "true"}}), 0U);
  EXPECT_EQ(count({{"runId", "x"}, {"exactRun", "true"}}), 2U);
  EXPECT_EQ(count({{"powerValid", "strictV2"}}), 0U);
}

TEST_F(ServiceTest, AnswersAreTaggedCompressedAndSpared) {
  const auto ask = [&](const std::string& path, http::Fields fields, std::vector<std::pair<std::string, std::string>> query = {{"model", "Demo-8B"}}) {
    return service_->answer({"GET", path, std::move(query), std::move(fields), {}});
  };
  const auto plain = ask("/api/v1/benchmarks", {});
  const std::string tag = field(plain, "ETag");
  EXPECT_TRUE(tag.starts_with("\"") && tag.ends_with("\""));
  EXPECT_EQ(field(plain, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(field(plain, "Vary"), "Accept, Accept-Encoding");
  const auto gzip = ask("/api/v1/benchmarks", {{"Accept-Encoding", "br, gzip"}});
  EXPECT_EQ(field(gzip, "Content-Encoding"), "gzip");
  EXPECT_EQ(gzip.body.substr(0, 2), "\x1f\x8b");
  EXPECT_LT(gzip.body.size(), plain.body.size());
  const auto zstd = ask("/api/v1/benchmarks", {{"Accept-Encoding", "gzip, zstd"}});
  EXPECT_EQ(field(zstd, "Content-Encoding"), "zstd");
  EXPECT_EQ(zstd.body.substr(0, 4), "\x28\xb5\x2f\xfd");
  EXPECT_EQ(field(ask("/api/v1/benchmarks", {{"Accept-Encoding", "zstd;q=0, gzip;q=0"}}), "Content-Encoding"), "");
  EXPECT_NE(field(gzip, "ETag"), tag);
  const auto again = ask("/api/v1/benchmarks", {{"If-None-Match", "W/\"x\", " + tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  EXPECT_EQ(ask("/api/v1/benchmarks", {{"If-None-Match", "\"x\""}}).status, 200);
  const auto columns = ask("/api/v1/benchmarks", {{"Accept", "application/vnd.pawl.columns+json"}});
  EXPECT_EQ(field(columns, "Content-Type"), "application/vnd.pawl.columns+json");
  EXPECT_EQ(json(columns)["rows"], 2);
  const auto page = ask("/api/v1/benchmarks", {}, {{"model", "Demo-8B"}, {"limit", "1"}});
  EXPECT_EQ(field(page, "X-Total-Count"), "2");
  EXPECT_EQ(field(page, "Link"), "</api/v1/benchmarks?model=Demo-8B&limit=1&offset=1>; rel=\"next\"");
  EXPECT_EQ(field(service_->answer({"OPTIONS", "/api/v1/benchmarks", {}, {}, {}}), "Access-Control-Allow-Methods"), "GET, HEAD, OPTIONS");
}

TEST_F(ServiceTest, AnAnswerIsMadeAgainWhenTheStoreWasWritten) {
  const std::string before = field(get("/api/v1/benchmarks", {{"model", "Demo-8B"}}), "ETag");
  EXPECT_EQ(field(get("/api/v1/benchmarks", {{"model", "Demo-8B"}}), "ETag"), before);
  ASSERT_TRUE(results::ResultStore(*database_).purge(17, std::nullopt, "wrong", "2026-12-01T00:00:00Z"));
  EXPECT_EQ(get("/api/v1/benchmarks", {{"model", "Demo-8B"}}).body, "[]");
}

TEST_F(ServiceTest, TheDocumentHasEveryRouteAndNoOther) {
  const Json document = json(get("/api/openapi.json"));
  for (const results::ApiRoute& route : results::ResultsApi::routes()) {
    ASSERT_TRUE(document["paths"].contains(route.path)) << route.path;
    EXPECT_EQ(document["paths"][route.path]["get"]["parameters"].size(), route.parameters.size());
    EXPECT_NE(get(route.path).body, R"({"error":"Not found"})") << route.path;
  }
  EXPECT_EQ(document["paths"].size(), results::ResultsApi::routes().size() + 4);  // events, ingest, invalidate, unofficial-run
  EXPECT_THAT(document["components"]["schemas"]["ModelName"]["enum"].dump(), HasSubstr("Demo-8B"));
}

TEST_F(ServiceTest, WritingNeedsATokenWithTheScope) {
  results::Tokens tokens(*database_);
  const std::string random(64, 'a'), other(64, 'b');
  const std::string ingest = tokens.create("ci", "ingest", random, "2026-12-01T00:00:00Z").value(), admin = tokens.create("boss", "admin", other, "").value();
  const auto post = [&](const std::string& path, const std::string& bearer, std::vector<std::pair<std::string, std::string>> query = {}) {
    return service_->answer({"POST", path, std::move(query), {{"Authorization", bearer}}, {}}).status;
  };
  EXPECT_EQ(post("/api/v1/invalidate", "Bearer " + admin), 200);
  EXPECT_EQ(post("/api/v1/invalidate", "Bearer " + admin, {{"scope", "operatorx"}}), 400);
  for (const std::string& wrong : {std::string(), "Bearer " + ingest, "Bearer " + admin + "x", "Basic " + admin, std::string("Bearer \xc3\xa9")}) {
    EXPECT_EQ(post("/api/v1/invalidate", wrong), 401) << wrong;
  }
  EXPECT_EQ(post("/api/v1/ingest", "Bearer " + admin), 401);
  ASSERT_TRUE(tokens.revoke(2, "2026-12-02T00:00:00Z"));
  EXPECT_EQ(post("/api/v1/invalidate", "Bearer " + admin), 401);
  std::string kept;
  ASSERT_TRUE(database_->query("SELECT hash FROM results_token", {}, [&](const store::Row& row) {
    kept += row.text(0);
    return Status();
  }));
  EXPECT_THAT(kept, Not(HasSubstr(ingest.substr(5))));
}

TEST_F(ServiceTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
  EXPECT_EQ(get("/api/v1/nothing").body, R"({"error":"Not found"})");
  EXPECT_EQ(get("/cr/1").status, 404);
  EXPECT_EQ(get("/cr/<x>").status, 404);
  EXPECT_THAT(get("/cr/<x>").body, Not(HasSubstr("<x>")));
  EXPECT_EQ(get("/", {}, "POST").status, 405);
}

TEST_F(ServiceTest, TheStartPageShowsRunsAndRequests) {
  auto response = get("/");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("demo-fp8-b200-sglang"));
  EXPECT_THAT(response.body, HasSubstr("TP4/EP2/DPA conc 4"));
  EXPECT_THAT(response.body, HasSubstr("107.38"));
  EXPECT_THAT(response.body, HasSubstr("simulated"));
  EXPECT_THAT(response.body, HasSubstr("SUSPECT"));
  EXPECT_THAT(response.body, Not(HasSubstr("<script")));
  make_thread("Goal");
  response = get("/");
  EXPECT_THAT(response.body, HasSubstr("<a href=\"/cr/1\">Move &lt;b&gt;</a>"));
  EXPECT_THAT(response.body, HasSubstr("closed by person"));
}

TEST_F(ServiceTest, AThreadIsRenderedAndNothingInItRuns) {
  make_thread("| a | b |\n|---|---|\n| 1 | 2 |\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) [y](https://example.org/)\n");
  const auto response = get("/cr/1");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("<td>2</td>"));
  EXPECT_THAT(response.body, HasSubstr("Attempt <strong>passed</strong>"));
  EXPECT_THAT(response.body, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(response.body, Not(HasSubstr("<script")));
  EXPECT_THAT(response.body, Not(HasSubstr("javascript:")));
  EXPECT_THAT(response.body, HasSubstr("<a href=\"https://example.org/\">y</a>"));
  EXPECT_THAT(response.body, HasSubstr("sweep"));
}

TEST(Markdown, FoldsSectionsAndHidesMarkers) {
  EXPECT_EQ(html_of_markdown("<!-- pawl:key -->\n<details>\n<summary>中文 <b></summary>\n\n**x**\n\n</details>\n"),
            "<details>\n<summary>中文 &lt;b&gt;</summary>\n<p><strong>x</strong></p>\n</details>\n");
  EXPECT_EQ(html_of_markdown("<!-- a\nb -->\ny"), "<p>y</p>\n");
  EXPECT_EQ(html_of_markdown("<details>\nx"), "<details>\n<p>x</p>\n</details>\n");
  EXPECT_EQ(html_of_markdown("</details>"), "<p>&lt;/details&gt;</p>\n");
  EXPECT_EQ(html_of_markdown("```\n<details>\n```"), "<pre><code>&lt;details&gt;\n</code></pre>\n");
  EXPECT_EQ(html_of_markdown("<img src=x onerror=1>"), "<p>&lt;img src=x onerror=1&gt;</p>\n");
}

}  // namespace
}  // namespace pawl::service
