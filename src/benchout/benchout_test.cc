#include <gtest/gtest.h>

#include <cmath>

#include "benchout/formats.h"
#include "benchout/html.h"
#include "benchout/plot.h"
#include "codec/json.h"
#include "measure/summary.h"

namespace pawl::benchout {
namespace {

using codec::Json;
using measure::RequestRecord;
using measure::StreamEvent;

MonoTime at_ms(double ms) { return {Nanos(5'000'000'000 + static_cast<std::int64_t>(std::llround(ms * 1e6)))}; }

/// `n` requests, every tenth failed; role at 40 ms, tokens at 50, 60 … 140.
std::vector<RequestRecord> requests(int n, bool bursts = false) {
  std::vector<RequestRecord> out;
  for (int i = 0; i < n; ++i) {
    RequestRecord record;
    record.index = record.session = i;
    record.asked_input = 100;
    record.asked_output = 10;
    const double start = 20.0 * i;
    record.ready = at_ms(start);
    record.send = at_ms(start);
    record.head = record.first_event = at_ms(start + 40);
    const auto put = [&](double ms, unsigned marks, std::int64_t tokens) {
      StreamEvent event{.at = at_ms(start + ms)};
      event.marks = marks & 0x3FFu;
      event.set_tokens(tokens);
      record.events.push_back(event);
    };
    put(40, measure::kChoice, -1);
    constexpr unsigned kToken = measure::kChoice | measure::kText | measure::kAnswer | measure::kToken;
    for (int k = 0; k < (bursts ? 1 : 10); ++k) put(50 + 10 * k, kToken, bursts ? 10 : 1);
    record.first_token = record.first_answer = at_ms(start + 50);
    record.last_token = record.last_choice = record.events.back().at;
    record.end = at_ms(start + 150);
    record.status = 200;
    record.usage_input = 100;
    record.usage_output = record.usage_output_apart = 10;
    record.usage_final = true;
    record.outcome = measure::Outcome::kOk;
    if (i % 10 == 9) {
      record.outcome = measure::Outcome::kFailed;
      record.failure = "inband_error";
      record.detail = "<b>engine</b> stopped";
    }
    out.push_back(std::move(record));
  }
  return out;
}

struct Finished {
  model::BenchResult result;
  RunInfo info;
  std::vector<RequestRecord> kept;
  Records records;
};

Finished run_of(std::vector<RequestRecord> kept) {
  Finished run;
  run.kept = std::move(kept);
  measure::SummaryOptions options;
  options.profiles.assign(measure::all_profiles().begin(), measure::all_profiles().end());
  measure::Summary summary(options, at_ms(0));
  for (const RequestRecord& record : run.kept) summary.add(record);
  summary.fill(run.result);
  run.result.url = "http://127.0.0.1:1";
  run.result.backend = "openai";
  run.result.model_id = "org/model<1>";
  run.result.endpoint = "/v1/completions";
  run.result.max_concurrency = 8;
  run.result.isl = 100;
  run.result.osl = 10;
  run.result.started_unix_s = 1796000000.5;
  run.result.ended_unix_s = 1796000002.5;
  run.result.verdict = "SUSPECT";
  run.result.reasons = {{"failure-share", "a & b"}};
  run.info.date = WallTime{Seconds(1796000000)};
  return run;
}

Records records_of(const Finished& run) {
  return [&run](const std::function<void(const RequestRecord&)>& each) -> Status {
    for (const RequestRecord& record : run.kept) each(record);
    return {};
  };
}

TEST(VllmJson, HasItsNamesAndNumbers) {
  Finished run = run_of(requests(20));
  run.info.metrics = {"ttft", "tpot", "itl", "e2el"};
  run.info.percentiles = {50, 99, 99.9};
  run.info.metadata = {{"gpu", "none"}};
  run.info.detailed = true;
  const auto text = vllm_json(run.result, run.info, records_of(run));
  ASSERT_TRUE(text) << text.error().message;
  const Json json = *codec::parse_json(*text, "vllm");
  EXPECT_EQ(json["request_rate"], "inf");
  EXPECT_EQ(json["completed"], 18);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["num_prompts"], 20);
  EXPECT_EQ(json["total_output_tokens"], 180);
  EXPECT_EQ(json["gpu"], "none");
  EXPECT_NEAR(json["mean_ttft_ms"].get<double>(), 40, 1e-9);
  EXPECT_NEAR(json["p99_itl_ms"].get<double>(), 10, 1e-9);
  EXPECT_NEAR(json["mean_tpot_ms"].get<double>(), 100.0 / 9, 1e-9);
  EXPECT_TRUE(json.contains("p99.9_e2el_ms"));
  for (const char* key : {"input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors", "latencies", "queue_times"}) {
    ASSERT_EQ(json[key].size(), 20u) << key;
  }
  EXPECT_EQ(json["ttfts"][9], 0.0);
  EXPECT_EQ(json["output_lens"][9], 0);
  EXPECT_NEAR(json["itls"][0][1].get<double>(), 0.010, 1e-12);
}

TEST(SglangLine, IsOneLineWithItsNames) {
  Finished run = run_of(requests(20));
  const auto text = sglang_line(run.result, run.info, {});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'), 1);
  const Json json = *codec::parse_json(*text, "sglang");
  EXPECT_TRUE(json.contains("total_throughput"));
  EXPECT_FALSE(json.contains("total_token_throughput"));
  EXPECT_NEAR(json["mean_e2e_latency_ms"].get<double>(), 140, 1e-9);
  EXPECT_EQ(json["request_rate"], "inf");
  EXPECT_NEAR(json["concurrency"].get<double>(), 18 * 0.140 / run.result.duration_s, 1e-9);
}

/// What InferenceX's processing does to every key.
void expect_digestible(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (!key.ends_with("ms") && key.find("tpot") == std::string::npos) continue;
    ASSERT_TRUE(value.is_number()) << key;
    ASSERT_GT(value.get<double>(), 0) << key;
  }
}

TEST(InferencexJson, HoldsNothingThatItsArithmeticCannotTake) {
  for (const bool bursts : {false, true}) {
    Finished run = run_of(requests(10, bursts));
    run.info.metadata = {{"params", "text"}, {"items", "x"}, {"note", "y"}};
    const auto text = inferencex_json(run.result, run.info, records_of(run));
    ASSERT_TRUE(text) << text.error().message;
    const Json json = *codec::parse_json(*text, "inferencex");
    expect_digestible(json);
    EXPECT_EQ(json["max_concurrency"], 8);
    EXPECT_EQ(json["note"], "y");
    EXPECT_TRUE(json.contains("request_goodput:"));
    EXPECT_EQ(json["output_lens"].size(), 10u);
    EXPECT_NEAR(json["benchmark_end_time_unix"].get<double>() - json["benchmark_start_time_unix"].get<double>(), json["duration"].get<double>(), 1e-6);
    EXPECT_EQ(json.contains("std_tpot_ms"), false);  // all alike: 0 would be divided by
  }
}

TEST(AiperfFiles, PlaceTimesOnTheCalendar) {
  const Finished run = run_of(requests(10));
  const Anchor anchor{at_ms(0), WallTime{Seconds(1796000000)}};
  const Json line = *codec::parse_json(aiperf_line(run.kept[1], anchor, false), "line");
  EXPECT_EQ(line["metadata"]["request_start_ns"], 1796000000'020000000);
  EXPECT_EQ(line["metadata"]["request_end_ns"], 1796000000'170000000);
  EXPECT_EQ(line["metadata"]["benchmark_phase"], "profiling");
  EXPECT_NEAR(line["metrics"]["time_to_first_token"]["value"].get<double>(), 50, 1e-9);
  EXPECT_EQ(line["metrics"]["inter_chunk_latency"]["value"].size(), 9u);
  EXPECT_TRUE(line["error"].is_null());
  const Json failed = *codec::parse_json(aiperf_line(run.kept[9], anchor, false), "line");
  EXPECT_EQ(failed["error"]["type"], "inband_error");
  const Json summary = *codec::parse_json(aiperf_summary(run.result, run.info), "summary");
  EXPECT_EQ(summary["request_count"]["avg"], 9.0);
  EXPECT_EQ(summary["error_request_count"]["avg"], 1.0);
  EXPECT_EQ(summary["time_to_first_token"]["count"], 9);
}

TEST(Csv, HasARowForEachMetric) {
  const Finished run = run_of(requests(10));
  const std::string text = csv(run.result);
  EXPECT_NE(text.find("\nttft,ms,9,50.0,"), std::string::npos) << text;
  EXPECT_NE(text.find("\noutput_tokens,tokens,,90,"), std::string::npos) << text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_EQ(std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), ','), 11);
    at = end + 1;
  }
}

TEST(HtmlReport, NeedsNothingOutsideAndEscapesWhatOthersWrote) {
  const Finished run = run_of(requests(200));
  const std::string page = html_report(run.result, run.info);
  EXPECT_NE(page.find("org/model&lt;1&gt;"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;engine&lt;/b&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
  EXPECT_EQ(page.find("@import"), std::string::npos);
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_FALSE(html_report(model::BenchResult{}, {}).empty());
}

TEST(Outputs, AreReadFromTheCommandLine) {
  EXPECT_EQ(parse_output("vllm:out.json")->format, Format::kVllm);
  EXPECT_EQ(parse_output("out.json")->format, Format::kJson);
  EXPECT_EQ(parse_output("csv:/tmp/a:b")->path, "/tmp/a:b");
  EXPECT_FALSE(parse_output("vllm:"));
  EXPECT_FALSE(parse_output("nope:x"));
  EXPECT_FALSE(parse_output(""));
}

TEST(Numbers, AreShownWithThreeDigits) {
  EXPECT_EQ(shown(0), "0");
  EXPECT_EQ(shown(1.23456), "1.23");
  EXPECT_EQ(shown(12.345), "12.3");
  EXPECT_EQ(shown(1234567), "1\u2009234\u2009567");
  EXPECT_EQ(shown(std::nan("")), "–");
}

}  // namespace
}  // namespace pawl::benchout
