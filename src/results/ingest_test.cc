#include "results/ingest.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "codec/describe.h"
#include "posix/embedded_assets.h"
#include "results/vocabulary.h"

namespace pawl::results {
namespace {

using codec::Json;

const Vocabulary& vocabulary() {
  static const Vocabulary v = Vocabulary::load(posix::EmbeddedAssets()).value();
  return v;
}

/// A row with an identity, to which a test adds what it is about.
Json row(std::initializer_list<std::pair<const char*, Json>> more = {}) {
  Json r{{"hw", "cluster:b200-nv"},
         {"framework", "sglang"},
         {"model", "x"},
         {"infmax_model_prefix", "dsr1"},
         {"precision", "fp4"},
         {"spec_decoding", ""},
         {"image", "lmsysorg#sglang:v0.5.9"},
         {"tp", 4},
         {"ep", 1},
         {"dp_attention", "false"},
         {"conc", 8},
         {"isl", 1024},
         {"osl", 1024},
         {"tput_per_gpu", 100.5}};
  for (const auto& [key, value] : more) r[key] = value;
  return r;
}

std::optional<BenchmarkRecord> mapped(const Json& r, IngestCounts& counts, const std::string& artifact = "bmk_x") {
  return RowMapper(vocabulary()).benchmark(r, artifact, counts);
}

std::string zip_of(const std::map<std::string, std::string>& members) {
  std::string out(8u << 20, '\0');
  std::size_t used = 0;
  archive* a = archive_write_new();
  archive_write_set_format_zip(a);
  archive_write_open_memory(a, out.data(), out.size(), &used);
  for (const auto& [name, bytes] : members) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, name.c_str());
    archive_entry_set_size(e, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_write_header(a, e);
    archive_write_data(a, bytes.data(), bytes.size());
    archive_entry_free(e);
  }
  archive_write_close(a);
  archive_write_free(a);
  out.resize(used);
  return out;
}

Result<RunBatch> ingested(const std::map<std::string, std::string>& files, IngestCounts& counts, RunHints hints = {}) {
  ArtifactSet set;
  set.files = files;
  if (hints.run == 0 && !files.contains("run.json") && !files.contains("manifest.json")) hints.run = 7;
  if (hints.date.empty()) hints.date = "2026-11-30";
  return batch_of_artifacts(set, hints, RowMapper(vocabulary()), counts);
}

TEST(RowMapper, NamesAreThoseOfTheTables) {
  struct Case {
    const char *key, *raw, *member, *wanted;
  };
  const Case cases[] = {{"hw", "cluster:b300-nv", "hardware", "b300"},
                        {"hw", "H200_3", "hardware", "h200"},
                        {"framework", "trtllm", "framework", "trt"},
                        {"framework", "dynamo-trtllm", "framework", "dynamo-trt"},
                        {"framework", "sglang-disagg", "framework", "mori-sglang"},
                        {"framework", "atom-disagg", "framework", "mooncake-atom"},
                        {"framework", "Unheard", "framework", "unheard"},
                        {"precision", "nvfp4", "precision", "fp4"},
                        {"precision", "MXFP4", "precision", "fp4"},
                        {"spec_decoding", "", "spec_method", "none"},
                        {"spec_decoding", "MTP", "spec_method", "mtp"},
                        {"infmax_model_prefix", "dsv4pro", "model", "dsv4"},
                        {"infmax_model_prefix", "gptoss", "model", "gptoss120b"},
                        {"infmax_model_prefix", "qwen3.5-nvfp4", "model", "qwen3.5"}};
  for (const Case& c : cases) {
    IngestCounts counts;
    const auto record = mapped(row({{c.key, c.raw}}), counts);
    ASSERT_TRUE(record) << c.key << " " << c.raw;
    EXPECT_EQ(codec::to_json(record->deployment)[c.member], c.wanted) << c.raw;
  }
  IngestCounts counts;
  EXPECT_TRUE(mapped(row({{"framework", "sglang-disagg"}}), counts)->deployment.disagg);
  EXPECT_TRUE(mapped(row({{"framework", "dynamo-vllm"}}), counts)->deployment.disagg);
  EXPECT_FALSE(mapped(row({{"framework", "dynamo-vllm"}, {"disagg", "False"}}), counts)->deployment.disagg);
  EXPECT_FALSE(mapped(row({{"hw", "abacus"}}), counts));
  EXPECT_FALSE(mapped(row({{"infmax_model_prefix", "unheard"}}), counts));
  EXPECT_EQ(counts.skipped["unknownHardware"], 1);
  EXPECT_EQ(counts.skipped["unknownModel"], 1);
  EXPECT_EQ(counts.unmapped["model unheard"], 1);
  EXPECT_EQ(mapped(row(), counts)->image, "lmsysorg/sglang:v0.5.9");
}

TEST(RowMapper, TopologiesOfEverySchema) {
  IngestCounts counts;
  const auto flat = mapped(row({{"tp", 8}, {"ep", 2}}), counts)->deployment;
  EXPECT_EQ(flat.prefill_tp, 8);
  EXPECT_EQ(flat.num_decode_gpu, 16);  // rows without pp and pcp count tp·ep
  EXPECT_EQ(mapped(row({{"tp", 8}, {"ep", 8}, {"pp", 1}, {"pcp_size", 1}}), counts)->deployment.num_decode_gpu, 8);
  Json v2 = row({{"disagg", true},
                 {"is_multinode", true},
                 {"prefill_tp", 4},
                 {"prefill_ep", 4},
                 {"prefill_num_workers", 2},
                 {"num_prefill_gpu", 8},
                 {"decode_tp", 8},
                 {"decode_ep", 8},
                 {"decode_num_workers", 1},
                 {"num_decode_gpu", 8}});
  for (const char* key : {"tp", "ep"}) v2.erase(key);
  const auto two = mapped(v2, counts)->deployment;
  EXPECT_TRUE(two.disagg);
  EXPECT_EQ(gpus_of(two), 16);
  v2["disagg"] = false, v2["decode_tp"] = 0, v2["decode_num_workers"] = 0, v2["num_decode_gpu"] = 0;
  const auto one = mapped(v2, counts)->deployment;
  EXPECT_EQ(one.decode_tp, 4);
  EXPECT_EQ(gpus_of(one), 8);
  const auto mirrored = mapped(row({{"prefill_tp", 4}, {"decode_tp", 4}, {"prefill_num_workers", 1}, {"decode_num_workers", 1}}), counts)->deployment;
  EXPECT_FALSE(mirrored.disagg);
  EXPECT_EQ(mirrored.decode_num_workers, 0);
}

TEST(RowMapper, NestedAgenticRowsAreFlattenedAndTheSlowTailIsOne) {
  Json r{{"hw", "b200"},
         {"framework", "vllm"},
         {"infmax_model_prefix", "dsv4"},
         {"precision", "fp4"},
         {"tp", 8},
         {"scenario_type", "agentic-coding"},
         {"users", 32},
         {"result_schema_version", 3},
         {"kv_offloading", "lmcache"},
         {"request_metrics",
          {{"latency", {{"ttft", {{"p50", 0.5}, {"p90", 1.5}}}, {"itl", {{"p90", 0.02}}}}},
           {"throughput", {{"output", {{"tokens_per_second", 900}}}}},
           {"per_gpu", {{"tput_per_gpu", 123.0}}},
           {"duration_seconds", 60}}},
         {"server_metrics", {{"cache_hit_rate", {{"gpu", 0.7}}}, {"requests_completed", 100}}}};
  IngestCounts counts;
  const auto record = mapped(r, counts);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->benchmark_type, "agentic_traces");
  EXPECT_EQ(record->conc, 32);
  EXPECT_EQ(record->offload_mode, "on");
  EXPECT_FALSE(record->isl.has_value());
  EXPECT_EQ(record->metrics["median_ttft"], 0.5);
  EXPECT_EQ(record->metrics["p90_intvty"], 50.0);
  EXPECT_EQ(record->metrics["output_tput_tps"], 900);
  EXPECT_EQ(record->metrics["tput_per_gpu"], 123.0);
  EXPECT_EQ(record->metrics["server_gpu_cache_hit_rate"], 0.7);
  r["server_metrics"]["requests_completed"] = 0;
  EXPECT_FALSE(mapped(r, counts));
  EXPECT_EQ(counts.skipped["failedRun"], 1);
}

TEST(RowMapper, InvalidPowerTakesItsNumbersAway) {
  IngestCounts counts;
  const auto bad = mapped(row({{"power_valid", 0},
                               {"avg_power_w", 700},
                               {"joules_per_output_token", 2.5},
                               {"workers", Json::array({1})},
                               {"power_invalid_reasons", {"gap_too_long", "No!"}}}),
                          counts);
  EXPECT_FALSE(bad->metrics.contains("avg_power_w"));
  EXPECT_FALSE(bad->metrics.contains("joules_per_output_token"));
  EXPECT_TRUE(bad->workers.is_null());
  EXPECT_EQ(bad->power_invalid_reasons, Json::array({"gap_too_long"}));
  EXPECT_EQ(mapped(row({{"power_valid", "1"}, {"avg_power_w", 700}}), counts)->metrics["avg_power_w"], 700);
}

TEST(RowMapper, LengthsOfOldRowsStandInTheName) {
  Json r = row();
  r.erase("isl"), r.erase("osl");
  IngestCounts counts;
  const auto record = mapped(r, counts, "bmk_dsr1_1k8k_fp4_b200");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->isl, 1024);
  EXPECT_EQ(record->osl, 8192);
  EXPECT_FALSE(mapped(r, counts, "bmk_dsr1"));
  EXPECT_EQ(counts.skipped["noIslOsl"], 1);
}

// api.json I-01
TEST(ApiCases, BareInfinityOfASettingIsReadAndNeverWritten) {
  const auto line = parse_artifact_json(R"({"backend": "sglang", "request_rate": Infinity, "completed": 2, "duration": 4.0, "mean_ttft_ms": 51.5})", "line");
  ASSERT_TRUE(line);
  Json r = row();
  for (const auto& [key, value] : line->items()) r[key] = value;
  IngestCounts counts;
  const auto record = mapped(r, counts);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->metrics["request_rate"], "inf");
  const std::string text = codec::write_json(record->metrics, codec::JsonForm::kCompactUtf8);
  for (const char* word : {"Infinity", "NaN", "nan", "inf,"}) EXPECT_EQ(text.find(word), std::string::npos) << text;
}

// api.json I-02
TEST(ApiCases, ValuesThatAreNoNumbersAreCountedAndLeftOut) {
  const auto body = [](const char* ttft, const char* tput) {
    return std::string(
               R"([{"hw":"b200","framework":"sglang","infmax_model_prefix":"dsr1","precision":"fp4","tp":4,"conc":8,"isl":1024,"osl":1024,"median_ttft":)") +
           ttft + R"(,"tput_per_gpu":)" + tput + "}]";
  };
  const auto counted = [&](const std::string& text, std::size_t rows) {
    IngestCounts counts;
    const auto batch = ingested({{"bmk_a/r.json", text}}, counts);
    EXPECT_TRUE(batch) << batch.error().message;
    EXPECT_EQ(batch->rows.size(), rows) << text;
    if (rows == 1) {
      EXPECT_FALSE(batch->rows[0].metrics.contains("median_ttft"));
    }
    return counts;
  };
  EXPECT_EQ(counted(body("NaN", "10.0"), 1).non_finite_metric["median_ttft"], 1);
  EXPECT_EQ(counted(body("-Infinity", "10.0"), 1).non_finite_metric["median_ttft"], 1);
  EXPECT_EQ(counted(body("1e400", "10.0"), 1).non_finite_metric["median_ttft"], 1);
  EXPECT_EQ(counted(body("\"NaN\"", "10.0"), 1).non_finite_metric["median_ttft"], 1);
  for (const char* word : {"-nan", "nan", "inf", "+Infinity"}) EXPECT_EQ(counted(body(word, "10.0"), 0).skipped["badZip"], 1) << word;
  EXPECT_EQ(counted(body("0.5", "NaN"), 0).skipped["nonFiniteThroughput"], 1);
  EXPECT_EQ(counted(body("0.5", "1e400"), 0).skipped["nonFiniteThroughput"], 1);
  IngestCounts counts;
  EXPECT_FALSE(mapped(row({{"conc", "NaN"}}), counts));
  EXPECT_EQ(counts.skipped["noIslOsl"], 1);
}

// api.json I-06
TEST(ApiCases, MillisecondsInASecondsFieldAreHeld) {
  const Json metrics{{"median_ttft", 512.0}, {"median_e2el", 10240.0}, {"median_tpot", 19.1}, {"tput_per_gpu", 950.0}};
  const UnitCheck check = check_units(metrics, 0, 16, 1024, 512);
  EXPECT_EQ(check.verdict, "unitSlip");
  EXPECT_NEAR(*check.k, 395.83, 0.01);
  EXPECT_NEAR(*check.m, 0.9969, 1e-4);
  EXPECT_NE(check.text.find("milliseconds"), std::string::npos);
  const Json seconds{{"median_ttft", 0.512}, {"median_e2el", 10.24}, {"median_tpot", 0.0191}, {"tput_per_gpu", 950.0}};
  EXPECT_EQ(check_units(seconds, 0, 16, 1024, 512).verdict, "");
  const Json mixed{{"median_ttft", 0.5}, {"median_e2el", 10.0}, {"median_tpot", 19.1}, {"tput_per_gpu", 950.0}};
  EXPECT_EQ(check_units(mixed, 0, 16, 1024, 512).verdict, "unitMixed");
}

TEST(RowMapper, TheUnitRuleIsNotForRowsOfScaledRuns) {
  Json r = row({{"tput_per_gpu", 1000.0}, {"median_e2el", 0.0001}});
  IngestCounts counts;
  EXPECT_FALSE(mapped(r, counts)->held.empty());
  EXPECT_EQ(counts.unit_rule_not_applied, 0);
  r["pawl"] = Json{{"scale", "1/32"}, {"point_key", "p"}};
  EXPECT_TRUE(mapped(r, counts)->held.empty());
  EXPECT_EQ(counts.unit_rule_not_applied, 1);
  r["pawl"]["scale"] = "1/1";
  EXPECT_FALSE(mapped(r, counts)->held.empty());
}

TEST(Ingest, AWholeRunOfArtifacts) {
  IngestCounts counts;
  const auto batch = ingested(
      {{"run.json",
        R"({"id":27485974465,"run_attempt":2,"name":"Run Sweep","display_title":"Sweep of x","status":"completed","conclusion":"success","head_sha":"abc","head_branch":"main",
         "html_url":"https://github.com/o/r/actions/runs/27485974465","created_at":"2026-06-14T04:08:16Z","run_started_at":"2026-06-14T04:09:00Z"})"},
       {"bmk_x_h200-nb_0/r.json", codec::write_json(row({{"conc", 4}}), codec::JsonForm::kCompactUtf8)},
       {"bmk_x_h200-nb_1/r.json", R"({"hw":"b200","failed":true})"},
       {"bmk_y_h200-nb_1/r.json", codec::write_json(row({{"conc", 16}}), codec::JsonForm::kCompactUtf8)},
       {"server_logs_y_h200-nb_1/logs/server.log", std::string("ready\xff\0go", 9)},
       {"run-stats/run_stats.json", R"({"h200":{"n_success":3,"total":4},"x":{"n_success":5,"total":4}})"},
       {"changelog-metadata/changelog_metadata.json",
        R"({"base_ref":"a","head_ref":"b","entries":[{"config-keys":["k1","k2"],"description":["one","two PR: https://x/1"],"append-only":true}]})"},
       {"eval_results_all/agg_eval_all.json",
        R"([{"hw":"b200","framework":"sglang","infmax_model_prefix":"dsr1","precision":"fp4","tp":4,"ep":1,"conc":64,"task":"GSM8K","em_strict":0.95,"n_eff":1319,"score":NaN,
            "source":"eval_results/eval_dsr1_1k8k_x/results.json","timestamp":"2026-06-14T05:00:00Z"}])"}},
      counts);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->run.run, 27485974465);
  EXPECT_EQ(batch->run.attempt, 2);
  EXPECT_EQ(batch->run.name, "Sweep of x");
  EXPECT_EQ(batch->run.date, "2026-11-30");  // a person's word wins
  EXPECT_TRUE(batch->run.append_only);
  ASSERT_EQ(batch->rows.size(), 2U);
  EXPECT_EQ(counts.skipped["olderUpload"], 1);
  ASSERT_EQ(batch->logs.size(), 1U);
  EXPECT_EQ(batch->logs[0].text, "ready\xEF\xBF\xBD\xEF\xBF\xBDgo");
  EXPECT_EQ(batch->rows[1].log, batch->logs[0].name);
  ASSERT_EQ(batch->stats.size(), 1U);
  EXPECT_EQ(counts.skipped["badRunStat"], 1);
  ASSERT_EQ(batch->changelog.size(), 1U);
  EXPECT_EQ(batch->changelog[0].pr_link, "https://x/1");
  ASSERT_EQ(batch->evals.size(), 1U);
  EXPECT_EQ(batch->evals[0].task, "gsm8k");
  EXPECT_EQ(batch->evals[0].osl, 8192);
  EXPECT_EQ(counts.non_finite_metric["score"], 1);
}

TEST(Ingest, EvalFoldersBringTheirSamples) {
  IngestCounts counts;
  const auto batch = ingested(
      {{"eval_x/meta_env.json",
        R"({"hw":"b200","framework":"sglang","infmax_model_prefix":"dsr1","precision":"fp4","tp":4,"ep":1,"conc":4,"isl":"1024","osl":"1024"})"},
       {"eval_x/results_2026-01-01.json",
        R"({"lm_eval_version":"0.4","results":{"gsm8k":{"exact_match,strict-match":0.5,"exact_match_stderr,strict-match":0.1}},"n-samples":{"gsm8k":{"effective":2}}})"},
       {"eval_x/samples_gsm8k_2026-01-01.jsonl",
        R"({"doc_id":0,"arguments":[["What is 1+1?",{}]],"target":"2","resps":[["it is 2"]],"filtered_resps":["2"],"exact_match":1.0})"
        "\n"
        R"({"doc_id":1,"doc":{"question":"And 2?"},"target":3,"resps":[["four"]],"exact_match":0.0})"
        "\nbroken\n"}},
      counts);
  ASSERT_TRUE(batch) << batch.error().message;
  ASSERT_EQ(batch->evals.size(), 1U);
  EXPECT_EQ(batch->evals[0].metrics["em_strict"], 0.5);
  EXPECT_EQ(batch->evals[0].metrics["n_eff"], 2);
  ASSERT_EQ(batch->evals[0].samples.size(), 2U);
  EXPECT_EQ(batch->evals[0].samples[0].prompt, "What is 1+1?");
  EXPECT_TRUE(batch->evals[0].samples[0].passed);
  EXPECT_EQ(batch->evals[0].samples[1].prompt, "And 2?");
  EXPECT_FALSE(batch->evals[0].samples[1].passed);
  EXPECT_EQ(counts.skipped["badSample"], 1);
}

TEST(Ingest, ARunThatNobodyNamesIsRefused) {
  IngestCounts counts;
  ArtifactSet set;
  set.files["bmk_a/r.json"] = "[]";
  EXPECT_FALSE(batch_of_artifacts(set, {}, RowMapper(vocabulary()), counts));
  RunHints hints;
  hints.run = 5;
  const auto no_day = batch_of_artifacts(set, hints, RowMapper(vocabulary()), counts);
  ASSERT_FALSE(no_day);
  EXPECT_NE(no_day.error().remedy.find("--date"), std::string::npos);
}

TEST(Ingest, AReusedSweepBelongsToItsSourceRun) {
  IngestCounts counts;
  const auto batch = ingested({{"run.json", R"({"id":200,"run_attempt":1,"created_at":"2026-08-25T00:00:00Z","conclusion":"success"})"},
                               {"reused-ingest-metadata/reuse_source_run.json",
                                R"({"source_run_id":100,"source_run_attempt":3,"source_run_url":"https://ci/runs/100","ingest_run_id":200})"},
                               {"reused-ingest-artifacts/bmk_a/r.json", codec::write_json(row(), codec::JsonForm::kCompactUtf8)}},
                              counts, {.date = "2026-08-25"});
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->run.run, 100);
  EXPECT_EQ(batch->run.attempt, 3);
  EXPECT_EQ(batch->run.date, "2026-08-25");
  EXPECT_EQ(batch->rows.size(), 1U);
}

TEST(ArtifactSet, ArchivesAreReadWithinLimits) {
  const std::string good =
      zip_of({{"bmk_a/r.json", "[1]"}, {"bmk_b.zip", zip_of({{"r.json", "[2]"}})}, {"bmk_c.zip", "no archive"}, {"../../evil.json", "{}"}, {"a/b.exe", "x"}});
  const auto set = read_artifact_archive(good, "run.zip");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->files, (std::map<std::string, std::string>{{"bmk_a/r.json", "[1]"}, {"bmk_b/r.json", "[2]"}}));
  EXPECT_EQ(set->broken.size(), 1U);
  EXPECT_FALSE(set->notes.empty());
  EXPECT_FALSE(read_artifact_archive("no archive at all", "x"));

  // 4 MiB of zeros pack into a few KiB; in two levels they pack again.
  const std::string bomb = zip_of({{"bmk_a/r.json", std::string(4u << 20, '0')}});
  ASSERT_LT(bomb.size(), 64u << 10);
  EXPECT_FALSE(read_artifact_archive(bomb, "bomb", {.entries = 100, .one = 8u << 20, .total = 1u << 20}));
  const auto left_out = read_artifact_archive(bomb, "bomb", {.entries = 100, .one = 1u << 20, .total = 8u << 20});
  ASSERT_TRUE(left_out);
  EXPECT_TRUE(left_out->files.empty());
  std::map<std::string, std::string> many;
  for (int i = 0; i < 20; ++i) many["b" + std::to_string(i) + ".zip"] = bomb;
  EXPECT_FALSE(read_artifact_archive(zip_of(many), "bombs", {.entries = 100, .one = 8u << 20, .total = 16u << 20}));
  EXPECT_FALSE(read_artifact_archive(zip_of(many), "entries", {.entries = 10, .one = 8u << 20, .total = 1u << 30}));
}

TEST(ArtifactSet, LogicalNames) {
  EXPECT_EQ(logical_name("bmk_dsr1_1k1k_h200-nb_0"), "bmk_dsr1_1k1k");
  EXPECT_EQ(logical_name("bmk_dsr1_1k1k"), "bmk_dsr1_1k1k");
  EXPECT_EQ(logical_name("bmk_a_9_0"), "bmk_a_9_0");
  EXPECT_EQ(logical_name("x_0"), "x_0");
}

}  // namespace
}  // namespace pawl::results
