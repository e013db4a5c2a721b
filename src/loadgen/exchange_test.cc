#include "loadgen/exchange.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codec/json.h"
#include "loadgen/prompts.h"
#include "loadgen/target.h"
#include "loadgen/verdict.h"
#include "measure/request_metrics.h"
#include "measure/summary.h"

namespace pawl::loadgen {
namespace {

using measure::input_tokens;
using measure::metrics_of;
using measure::output_tokens;
using measure::RequestMetrics;

const backend::Backend& kCompletions = *backend::find_backend("openai");
const backend::Backend& kChat = *backend::find_backend("openai-chat");

MonoTime at_ms(double ms) { return {Nanos(1'000'000'000 + static_cast<std::int64_t>(ms * 1e6))}; }

struct Step {
  double ms;
  std::string bytes;
};

RequestRecord asked(std::int64_t output = 3) {
  RequestRecord record;
  record.asked_output = output;
  record.ready = at_ms(0);
  record.send = at_ms(0);
  return record;
}

std::string chunk(const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

/// The steps as an event stream in chunks, one a step.
std::vector<Step> chunked(std::vector<Step> steps) {
  for (Step& step : steps) step.bytes = chunk(step.bytes);
  steps.front().bytes = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + steps.front().bytes;
  steps.back().bytes += "0\r\n\r\n";
  return steps;
}

RequestRecord play(const backend::Backend& protocol, const std::vector<Step>& steps, std::int64_t output = 3, bool closes = false) {
  backend::EventFacts scratch;
  Exchange exchange(scratch);
  exchange.begin(protocol, {}, asked(output));
  for (const Step& step : steps) {
    if (!exchange.over()) exchange.on_bytes(step.bytes, at_ms(step.ms));
  }
  if (closes) exchange.on_close(at_ms(steps.back().ms + 1));
  EXPECT_TRUE(exchange.over());
  return exchange.record();
}

std::vector<double> gaps_of(const RequestMetrics& m) {
  std::vector<double> out;
  for (const measure::Sample& gap : m.gap) out.push_back(gap.ms);
  return out;
}

/// What of a record does not depend on times.
std::string timeless(const RequestRecord& record) {
  std::string flags;
  for (const auto& [name, n] : record.flags) flags += fmt::format("{}={} ", name, n);
  std::string counts;
  for (const StreamEvent& event : record.events) {
    if (event.is(measure::kToken)) counts += event.tokens() ? fmt::format("{} ", *event.tokens()) : "? ";
  }
  return fmt::format("{} {} status={} tokens=[{}] usage={}/{} {}", static_cast<int>(record.outcome), record.failure, record.status, counts,
                     record.usage_input.value_or(-1), record.usage_output.value_or(-1), flags);
}

/// Plays the script, then again cut at every byte, and expects the same but for times.
RequestRecord play_at_every_split(const backend::Backend& protocol, const std::vector<Step>& steps, std::int64_t output = 3, bool closes = false) {
  const RequestRecord whole = play(protocol, steps, output, closes);
  std::string all;
  for (const Step& step : steps) all += step.bytes;
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(timeless(play(protocol, {{1, all.substr(0, i)}, {2, all.substr(i)}}, output, closes)), timeless(whole)) << "cut at " << i;
  }
  return whole;
}

std::string delta(const std::string& inner, const std::string& more = "") {
  return R"(data: {"choices":[{"index":0,"delta":{)" + inner + "}" + more + "}]}\n\n";
}
std::string content(const std::string& text) { return delta(R"("content":")" + text + '"'); }
std::string usage(int input, int output) {
  return fmt::format(R"(data: {{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})"
                     "\n\n",
                     input, output);
}
std::string text(const std::string& word, const std::string& more = "") {
  return R"(data: {"choices":[{"index":0,"text":")" + word + R"("}])" + more + "}\n\n";
}
const std::string kDone = "data: [DONE]\n\n";

TEST(Exchange, TakesTheRoleEventForNoToken) {
  const auto record = play_at_every_split(kChat, chunked({{40, delta(R"("role":"assistant","content":"")")},
                                                          {50, content("a")},
                                                          {60, content("b")},
                                                          {71, delta("", R"(,"finish_reason":"length")")},
                                                          {72, usage(9, 2) + kDone}}));
  EXPECT_EQ(record.outcome, Outcome::kOk);
  const RequestMetrics m = metrics_of(record);
  EXPECT_EQ(m.ttfe_ms, 40);
  EXPECT_EQ(m.ttft_ms, 50);
  EXPECT_EQ(m.e2el_ms, 60);
  EXPECT_EQ(m.tpot_ms, 10);
  ASSERT_EQ(m.itl.size(), 1u);
  EXPECT_EQ(m.itl[0].ms, 10);
}

TEST(Exchange, ReadsUsageFromTheLastChoiceEvent) {
  const auto record = play_at_every_split(
      kCompletions, chunked({{10, text("a")},
                             {20, text("b")},
                             {31, R"(data: {"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":2}})"
                                  "\n\n" +
                                      kDone}}));
  EXPECT_EQ(record.outcome, Outcome::kOk);
  EXPECT_EQ(record.token_events(), 2);
  EXPECT_EQ(output_tokens(record).source, "usage");
  EXPECT_EQ(output_tokens(record).count, 2);
  EXPECT_EQ(input_tokens(record)->count, 7);
}

TEST(Exchange, CountsEventsWhenTheServerReportsNoUsageButDerivesNoRate) {
  const auto record = play(kCompletions, chunked({{10, text("a")}, {20, text("b")}, {21, kDone}}), 512);
  EXPECT_EQ(record.outcome, Outcome::kOk);
  EXPECT_EQ(output_tokens(record).source, "events");
  EXPECT_EQ(output_tokens(record).count, 2);
  EXPECT_EQ(metrics_of(record).tpot_ms, std::nullopt);
  EXPECT_TRUE(metrics_of(record).itl.empty());
  EXPECT_EQ(gaps_of(metrics_of(record)), std::vector<double>{10});
}

TEST(Exchange, GivesGapsButNoTokenLatencyWhenEventsCarryMoreThanOneToken) {
  const auto record = play(kCompletions, chunked({{10, text("abc")}, {30, text("def")}, {31, usage(5, 6) + kDone}}), 6);
  const RequestMetrics m = metrics_of(record);
  EXPECT_EQ(m.tpot_ms, 4);
  EXPECT_EQ(gaps_of(m), std::vector<double>{20});
  EXPECT_TRUE(m.itl.empty());
}

TEST(Exchange, SpreadsGapsOverTokensByTheRunningUsage) {
  const auto running = [](int n) { return fmt::format(R"(,"usage":{{"completion_tokens":{}}})", n); };
  const auto record = play_at_every_split(
      kCompletions,
      chunked({{10, text("a", running(1))}, {30, text("b", running(3))}, {40, text("c", running(3))}, {60, text("", running(5))}, {61, usage(4, 5) + kDone}}),
      5);
  const RequestMetrics m = metrics_of(record);
  ASSERT_EQ(m.itl.size(), 2u);
  EXPECT_EQ(m.itl[0].ms, 10);
  EXPECT_EQ(m.itl[0].weight, 2);
  EXPECT_EQ(m.itl[1].ms, 15);  // the gap of the event without a token of its own is passed on
  EXPECT_EQ(record.flags.at("textless"), 1);
  EXPECT_EQ(output_tokens(record).source, "usage");
}

TEST(Exchange, FailsOnAnErrorInsideAGoodStatus) {
  const auto record = play_at_every_split(kChat, chunked({{10, content("a")},
                                                          {20, R"(data: {"error":{"message":"engine stopped","code":500}})"
                                                               "\n\n" +
                                                                   kDone}}));
  EXPECT_EQ(record.outcome, Outcome::kFailed);
  EXPECT_EQ(record.failure, "inband_error");
  EXPECT_EQ(record.token_events(), 1);
  EXPECT_EQ(play(kChat, chunked({{10, content("a")}, {20, "event: error\ndata:\n\n"}})).failure, "inband_error");
}

TEST(Exchange, GivesNoRateForASingleBurst) {
  const auto one_read = play(kCompletions, chunked({{10, text("a") + text("b") + text("c") + usage(5, 3) + kDone}}));
  const RequestMetrics m = metrics_of(one_read);
  EXPECT_EQ(one_read.outcome, Outcome::kOk);
  EXPECT_TRUE(m.single_burst);
  EXPECT_EQ(m.ttft_ms, m.e2el_ms);
  EXPECT_EQ(m.tpot_ms, std::nullopt);
  EXPECT_TRUE(m.gap.empty());
  EXPECT_EQ(m.coalesced_events, 2);
  const auto one_event = play(kCompletions, chunked({{10, text("abc")}, {20, usage(5, 3) + kDone}}));
  EXPECT_TRUE(metrics_of(one_event).single_burst);
  EXPECT_EQ(metrics_of(one_event).tpot_ms, std::nullopt);
}

TEST(Exchange, KeepsTheRateOfAPartlyCoalescedStream) {
  const RequestMetrics m = metrics_of(play(kCompletions, chunked({{10, text("a") + text("b")}, {30, text("c")}, {31, usage(5, 3) + kDone}})));
  EXPECT_FALSE(m.single_burst);
  EXPECT_EQ(m.tpot_ms, 10);
  EXPECT_EQ(gaps_of(m), (std::vector<double>{0, 20}));
  EXPECT_EQ(m.coalesced_events, 1);
}

TEST(Exchange, HasNoRateForOneToken) {
  const auto record = play(kCompletions, chunked({{10, text("a")}, {11, usage(5, 1) + kDone}}), 1);
  EXPECT_EQ(metrics_of(record).tpot_ms, std::nullopt);
  EXPECT_FALSE(metrics_of(record).single_burst);
}

TEST(Exchange, FailsWhenTheConnectionIsCut) {
  const auto record = play_at_every_split(kChat, {{10, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(content("a"))}}, 3, true);
  EXPECT_EQ(record.failure, "early_eof");
  EXPECT_EQ(record.token_events(), 1);
  EXPECT_EQ(play(kChat, chunked({{10, content("a") + "data: {\"choices\":[{"}})).failure, "early_eof");
}

TEST(Exchange, NamesWhatWasWrongWithTheAnswer) {
  const auto raw = [](const std::string& bytes) { return play_at_every_split(kChat, {{5, bytes}}); };
  const auto busy = raw("HTTP/1.1 529 \r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"code\":529}");
  EXPECT_EQ(busy.failure, "http_status");
  EXPECT_EQ(busy.status, 529);
  EXPECT_NE(busy.detail.find("{\"code\":529}"), std::string::npos);
  EXPECT_EQ(raw("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>").failure, "content_type");
  EXPECT_EQ(raw("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx").failure, "content_type");
  EXPECT_EQ(raw("nonsense\r\n\r\n").failure, "frame");
  EXPECT_EQ(play(kChat, chunked({{5, "data: {]\n\n"}})).failure, "json");
  EXPECT_EQ(play(kChat, chunked({{5, "data: \xFF\n\n"}})).failure, "json");
  EXPECT_EQ(play(kChat, chunked({{5, delta("", R"(,"finish_reason":"stop")") + usage(3, 0) + kDone}})).failure, "empty_output");
  EXPECT_EQ(play(kChat, chunked({{5, content("a") + delta("", R"(,"finish_reason":"abort")") + kDone}})).failure, "bad_finish");
}

TEST(Exchange, AcceptsAnAnswerThatIsNoStreamWithoutTokenTimes) {
  const auto record = play_at_every_split(kChat, {{5,
                                                   "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 84\r\n\r\n"
                                                   R"({"choices":[{"message":{"content":"a"}}],"usage":{"completion_tokens":3,"x":"pad"}} )"}});
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.failure << record.detail;
  EXPECT_EQ(record.flags.at("not_streamed"), 1);
  EXPECT_EQ(metrics_of(record).ttft_ms, std::nullopt);
  EXPECT_EQ(metrics_of(record).e2el_ms, 5);
}

TEST(Exchange, CountsReasoningAndToolCallsAsTokens) {
  const auto record = play(kChat, chunked({{10, delta(R"("reasoning":"a","reasoning_content":"a")")},
                                           {20, delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{"}}])")},
                                           {21, usage(4, 2) + kDone}}));
  EXPECT_EQ(record.token_events(), 2);
}

TEST(Exchange, ReproducesTheHandComputedScript) {
  std::vector<Step> steps{{40, delta(R"("role":"assistant","content":"")")}, {50, content("abc")}};
  for (int i = 0; i < 97; ++i) steps.push_back({60.0 + 10 * i, content("x")});
  steps.push_back({1025, usage(20, 100) + kDone});
  const RequestMetrics m = metrics_of(play(kChat, chunked(steps), 100));
  EXPECT_EQ(m.ttft_ms, 50);
  EXPECT_EQ(m.e2el_ms, 1020);
  EXPECT_NEAR(*m.tpot_ms, 9.798, 0.0005);
  EXPECT_EQ(gaps_of(m), std::vector<double>(97, 10));
}

TEST(Prompts, AreTheSameForTheSameSeedAndDifferForEveryIndexAndPhase) {
  LoadRequest load{.url = "http://h:1", .model = "m\"1", .isl = 50, .osl = 20, .range_ratio = 0.5, .seed = 7};
  const RequestBuilder a(load), b(load);
  EXPECT_EQ(a.build(Phase::kMeasured, 3).bytes, b.build(Phase::kMeasured, 3).bytes);
  EXPECT_NE(a.build(Phase::kMeasured, 3).bytes, a.build(Phase::kMeasured, 4).bytes);
  EXPECT_NE(a.build(Phase::kMeasured, 3).bytes, a.build(Phase::kWarmup, 3).bytes);
  std::int64_t least = 1000, most = 0;
  for (int i = 0; i < 500; ++i) {
    const PlannedRequest planned = a.build(Phase::kMeasured, i);
    const auto body = codec::parse_json(planned.bytes.substr(planned.bytes.find("\r\n\r\n") + 4), "body");
    ASSERT_TRUE(body.has_value());
    EXPECT_EQ((*body)["model"], "m\"1");
    EXPECT_EQ((*body)["prompt"].size(), static_cast<std::size_t>(planned.record.asked_input));
    EXPECT_EQ((*body)["max_tokens"], planned.record.asked_output);
    EXPECT_TRUE((*body)["stream_options"]["include_usage"].get<bool>());
    least = std::min(least, planned.record.asked_input);
    most = std::max(most, planned.record.asked_input);
  }
  EXPECT_EQ(least, 25);
  EXPECT_EQ(most, 50);
}

TEST(Prompts, AreTextForChat) {
  LoadRequest load{.url = "http://h:1/x", .backend = "openai-chat", .model = "m", .isl = 5, .osl = 2, .headers = {{"X-Routing", "7"}}, .bearer = "key"};
  const Target target = *parse_target(load.url);
  const RequestBuilder builder(load);
  const PlannedRequest planned = builder.build(Phase::kMeasured, 0);
  const std::string head = builder.head(target);
  EXPECT_TRUE(head.starts_with("POST /x/v1/chat/completions HTTP/1.1\r\nHost: h:1\r\n"));
  EXPECT_NE(head.find("Authorization: Bearer key\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("X-Routing: 7\r\n"));
  const auto body = codec::parse_json(planned.bytes.substr(planned.bytes.find("\r\n\r\n") + 4), "body");
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ((*body)["max_completion_tokens"], 2);
  const auto words = (*body)["messages"][0]["content"].get<std::string>();
  EXPECT_EQ(std::ranges::count(words, ' '), 4);
}

TEST(Target, IsReadFromAnAddress) {
  EXPECT_EQ(parse_target("http://10.0.0.1:8000/")->port, "8000");
  EXPECT_EQ(parse_target("http://engine")->port, "80");
  EXPECT_EQ(parse_target("http://[::1]:30000/pool/v1")->host, "::1");
  EXPECT_EQ(parse_target("http://[::1]:30000/pool/v1")->prefix, "/pool");
  EXPECT_EQ(parse_target("https://api.example/v1")->port, "443");
  EXPECT_TRUE(parse_target("https://api.example:8443")->tls);
  EXPECT_EQ(parse_target("https://api.example:8443/v1")->url, "https://api.example:8443");
  EXPECT_EQ(parse_target("unix:/run/engine.sock")->path, "/run/engine.sock");
  EXPECT_EQ(parse_target("unix:///run/engine.sock")->path, "/run/engine.sock");
  for (const char* bad : {"ftp://a", "unix:", "a:1", "http://", "http://a:0", "http://a:b", "http://u:p@a", "http://a/?x"})
    EXPECT_FALSE(parse_target(bad).has_value()) << bad;
}

TEST(Verdict, SaysWhyAndNeverChangesANumber) {
  measure::Summary summary({}, at_ms(-100));
  for (int i = 0; i < 100; ++i) {
    RequestRecord record = play(kCompletions, chunked({{10, text("a")}, {20, text("b")}, {21, usage(5, 2) + kDone}}));
    record.ready = at_ms(i < 3 ? -2 : 0);
    record.ignores_eos = true;
    if (i < 6) {
      record.outcome = Outcome::kFailed;
      record.failure = "http_status";
    }
    summary.add(record);
  }
  model::BenchResult result;
  summary.fill(result);
  judge({}, result);
  EXPECT_EQ(result.verdict, "INVALID");
  ASSERT_EQ(result.reasons.size(), 3u);
  EXPECT_EQ(result.reasons[0].code, "failure-share");
  EXPECT_EQ(result.reasons[1].code, "lag");
  EXPECT_EQ(result.reasons[2].code, "osl-mismatch");
  EXPECT_EQ(result.counts.ok, 94);
  EXPECT_EQ(result.total_output_tokens, 188);
  EXPECT_EQ(result.metrics.at("itl_ms").n, 94);
  EXPECT_DOUBLE_EQ(result.duration_s, 0.021);
}

TEST(Verdict, SuspectsPromptsThatTheServerKnewBefore) {
  const auto verdict_of = [](std::int64_t input, std::int64_t cached) {
    measure::Summary summary({}, at_ms(-100));
    RequestRecord record = play(kChat, chunked({{10, content("a")}, {20, content("b")}, {21, usage(5, 2) + kDone}}), 2);
    record.asked_input = 256;
    record.usage_input = input;
    record.usage_cached = cached;
    summary.add(record);
    model::BenchResult result;
    summary.fill(result);
    judge({}, result);
    return result.verdict + (result.reasons.empty() ? "" : " " + result.reasons[0].code);
  };
  EXPECT_EQ(verdict_of(264, 240), "SUSPECT cached-prompts");  // seen: the same seed twice against NVIDIA Dynamo
  EXPECT_EQ(verdict_of(256, 256), "SUSPECT cached-prompts");
  EXPECT_EQ(verdict_of(264, 0), "VALID");
  EXPECT_EQ(verdict_of(330, 64), "VALID");  // a long chat template, the same in every request
  EXPECT_EQ(verdict_of(256, 2), "VALID");   // equal first tokens by chance
}

TEST(Verdict, ShowsWhatAFailureSaidOnOneHarmlessLine) {
  measure::Summary summary({}, at_ms(-100));
  RequestRecord record = asked();
  record.fail("http_status", "HTTP 404: {\n\t\"message\":\x1b[31m\"Model not found\"}\n");
  summary.add(record);
  model::BenchResult result;
  summary.fill(result);
  EXPECT_EQ(summary.failure_example(), R"(HTTP 404: { "message": [31m"Model not found"})");
  measure::Summary other({}, at_ms(-100));
  record.detail = std::string(5000, 'x');
  other.add(record);
  EXPECT_EQ(other.failure_example(), std::string(240, 'x') + "…");
}

/// Bytes of a case step: text or hexadecimal digits.
std::string step_bytes(const codec::Json& step) {
  if (step.contains("write")) return step["write"].get<std::string>();
  const auto hex = step["hex"].get<std::string>();
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

TEST(StreamCases, FromPublicReportsComeOutAsExpected) {
  const std::filesystem::path path = std::filesystem::path(PAWL_SOURCE_DIR) / "../shared/cases/stream.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the shared cases are not beside this checkout";
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  const auto document = codec::parse_json(file.str(), "stream.json");
  ASSERT_TRUE(document.has_value());
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "none"; };
  const auto wanted_number = [](const codec::Json& value) { return value.is_null() ? "none" : fmt::format("{:.3f}", value.get<double>()); };
  int checked = 0;
  for (const codec::Json& item : (*document)["cases"]) {
    const codec::Json& expected = item["expected"];
    if (!expected.contains("outcome")) continue;  // two requests on one connection: the driver's test
    SCOPED_TRACE(item["id"].get<std::string>() + " " + item["title"].get<std::string>());
    const backend::Backend& protocol = item["protocol"] == "openai-chat" ? kChat : kCompletions;
    std::vector<Step> steps;
    for (const codec::Json& step : item["steps"]) steps.push_back({step["t_ms"].get<double>(), step_bytes(step)});
    if (item["framing"] == "chunked") steps = chunked(steps);
    const RequestRecord record = play_at_every_split(protocol, steps, item["request"]["max_tokens"].get<std::int64_t>());
    const RequestMetrics m = metrics_of(record);
    ++checked;
    EXPECT_EQ(record.outcome == Outcome::kOk ? "ok" : "failed", expected["outcome"]);
    if (expected.contains("class")) {
      EXPECT_EQ(record.failure, expected["class"]);
    }
    if (expected.contains("status")) {
      EXPECT_EQ(record.status, expected["status"]);
    }
    if (expected.contains("osl")) {
      EXPECT_EQ(output_tokens(record).count, expected["osl"]);
    }
    if (expected.contains("osl_src")) {
      EXPECT_EQ(output_tokens(record).source, expected["osl_src"]);
    }
    if (expected.contains("isl")) {
      EXPECT_EQ(input_tokens(record)->count, expected["isl"].get<std::int64_t>());
    }
    if (expected.contains("token_events")) {
      EXPECT_EQ(record.token_events(), expected["token_events"].get<std::int64_t>());
    }
    if (expected.contains("ttfe_ms")) {
      EXPECT_EQ(number(m.ttfe_ms), wanted_number(expected["ttfe_ms"]));
    }
    if (expected.contains("ttft_ms")) {
      EXPECT_EQ(number(m.ttft_ms), wanted_number(expected["ttft_ms"]));
    }
    if (expected.contains("partial_ttft_ms")) {
      EXPECT_EQ(number(m.ttft_ms), wanted_number(expected["partial_ttft_ms"]));
    }
    if (expected.contains("e2e_ms")) {
      EXPECT_EQ(number(m.e2el_ms), wanted_number(expected["e2e_ms"]));
    }
    if (expected.contains("tpot_ms")) {
      EXPECT_EQ(number(m.tpot_ms), wanted_number(expected["tpot_ms"]));
    }
    if (expected.contains("itl_ms") && expected["itl_ms"].is_null()) {
      EXPECT_TRUE(m.itl.empty());
    }
    if (expected.contains("gaps_ms")) {
      EXPECT_EQ(gaps_of(m), expected["gaps_ms"].get<std::vector<double>>());
    }
    if (expected.contains("coalesced_token_events")) {
      EXPECT_EQ(m.coalesced_events, expected["coalesced_token_events"]);
    }
    if (expected.contains("flags")) {
      for (const codec::Json& flag : expected["flags"]) {
        EXPECT_TRUE(record.flags.contains(flag.get<std::string>()) || (flag == "approximate" && output_tokens(record).approximate())) << flag;
      }
    }
  }
  EXPECT_GE(checked, 12);
}

}  // namespace
}  // namespace pawl::loadgen
