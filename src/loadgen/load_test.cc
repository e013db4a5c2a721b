#include "loadgen/load.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/text.h"
#include "codec/describe.h"
#include "loadgen/clock_map.h"
#include "loadgen/testing/scripted_server.h"

namespace pawl::loadgen {
namespace {

using namespace std::chrono_literals;

using testing::chunk;
using testing::kHead;
using testing::kText;
using testing::Script;
using testing::ScriptedServer;
using testing::stream;
using testing::usage;

LoadRequest load_for(const ScriptedServer& server) { return {.url = server.url(), .model = "m", .isl = 8, .osl = 3, .concurrency = 2, .requests = 8}; }

Result<model::BenchResult> run(const LoadRequest& load) {
  io::NoProgress progress;
  return run_load(load, progress, {});
}

TEST(RunLoad, MeasuresAStreamAndReusesItsConnections) {
  ScriptedServer server([](int, const std::string&) { return stream(3, 5ms); });
  LoadRequest load = load_for(server);
  load.warmups = 2;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->counts.ok, 8);
  EXPECT_EQ(result->counts.planned, 8);
  EXPECT_EQ(server.requests(), 10);
  EXPECT_EQ(server.connections(), 2);
  EXPECT_EQ(result->total_output_tokens, 24);
  EXPECT_EQ(result->total_input_tokens, 64);
  EXPECT_EQ(result->osl_source.at("usage"), 8);
  EXPECT_EQ(result->metrics.at("ttft_ms").n, 8);
  EXPECT_GE(result->metrics.at("ttft_ms").min, 4.9);
  EXPECT_EQ(result->metrics.at("tpot_ms").n, 8);
  EXPECT_EQ(result->metrics.at("gap_ms").n, 16);
  EXPECT_EQ(result->metrics.at("itl_ms").n, 16);
  EXPECT_EQ(result->metrics.at("lag_ms").n, 8);
  EXPECT_GT(result->duration_s, 0.055);
  EXPECT_NEAR(result->ended_unix_s - result->started_unix_s, result->duration_s, 0.01);
  EXPECT_DOUBLE_EQ(result->request_throughput, 8 / result->duration_s);
  EXPECT_EQ(result->endpoint, "/v1/completions");
  const auto again = codec::from_json<model::BenchResult>(codec::to_json(*result), "result");
  EXPECT_TRUE(again.has_value()) << again.error().message;
}

TEST(RunLoad, TakesItsTimesFromTheKernelWhereItGivesThem) {
  ScriptedServer server([](int, const std::string&) { return stream(3); });
  LoadRequest load = load_for(server);
  load.warmups = 4;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->clock == "kernel" || result->clock == "user");
  if (result->clock == "user") GTEST_SKIP() << "this kernel gives no receive stamps on loopback";
  EXPECT_GT(result->flags.at("kernel_stamp_reads"), 0);
  EXPECT_GE(result->metrics.at("rx_delay_ms").min, 0);
}

// The server writes the head of its answer before it has a token, without TCP_NODELAY: it may send the token only when the
// head is acknowledged. Seen with NVIDIA Dynamo 1.6.1: 45 ms instead of 23.
TEST(RunLoad, HoldsNoTokenBackByALateAcknowledgement) {
  ScriptedServer server([](int, const std::string&) {
    Script script;
    script.steps = {{0ms, kHead}, {5ms, chunk(kText)}, {2ms, chunk(kText)}, {2ms, chunk(kText)}, {2ms, chunk(usage(3) + "data: [DONE]\n\n") + "0\r\n\r\n"}};
    return script;
  });
  LoadRequest load = load_for(server);
  load.concurrency = 1;
  load.warmups = 4;
  load.requests = 12;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 12);
  EXPECT_GE(result->metrics.at("ttft_ms").min, 4.9);
  EXPECT_LT(result->metrics.at("ttft_ms").p50, 30);
}

TEST(RunLoad, NeverExceedsTheCap) {
  ScriptedServer server([](int n, const std::string&) { return stream(1 + n % 3, Millis(n % 4)); });
  LoadRequest load = load_for(server);
  load.concurrency = 5;
  load.requests = 60;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 60);
  EXPECT_LE(server.peak(), 5);
  EXPECT_EQ(result->flags.at("peak_in_flight"), 5);
}

TEST(RunLoad, SendsFewerThanTheCapWhenFewerAreAskedFor) {
  ScriptedServer server([](int, const std::string&) { return stream(3); });
  LoadRequest load = load_for(server);
  load.concurrency = 4;
  load.requests = 1;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(server.requests(), 1);
}

TEST(RunLoad, CountsFailuresByClass) {
  ScriptedServer server([](int n, const std::string&) -> Script {
    const std::string body = R"({"message":"overloaded","code":529})";
    switch (n % 5) {
      case 0:
        return {{{0ms, fmt::format("HTTP/1.1 529 \r\nconnection: close\r\ncontent-length: {}\r\n\r\n{}", body.size(), body)}}, true};
      case 1:
        return {{{0ms, "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"}}};
      case 2:
        return {{{0ms, kHead + chunk(kText)}, {2ms, "1f\r\ndata"}}, true};
      case 3:
        return {{{0ms, kHead + chunk(kText) + chunk("data: {\"error\":{\"message\":\"engine stopped\"}}\n\ndata: [DONE]\n\n") + "0\r\n\r\n"}}};
      default:
        return stream(3);
    }
  });
  LoadRequest load = load_for(server);
  load.requests = 10;
  load.concurrency = 1;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 2);
  EXPECT_EQ(result->counts.failed, 8);
  EXPECT_EQ(result->failures, (std::map<std::string, std::int64_t>{{"early_eof", 2}, {"http_status", 4}, {"inband_error", 2}}));
  EXPECT_EQ(result->total_output_tokens, 6);
  EXPECT_EQ(result->verdict, "INVALID");
  EXPECT_EQ(result->reasons.at(0).code, "failure-share");
  EXPECT_EQ(result->reasons.at(0).text,
            R"(80.0 % of the requests failed, more than 5.0 %, mostly http_status (4): HTTP 529: {"message":"overloaded","code":529})");
  EXPECT_EQ(server.connections(), 5);  // one more after each of the four that the server closed
}

TEST(RunLoad, ReopensAConnectionThatTheServerClosesAfterEachAnswer) {
  ScriptedServer server([](int, const std::string&) {
    Script script = stream(2);
    script.close = true;
    return script;
  });
  LoadRequest load = load_for(server);
  load.osl = 2;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  // A close that crosses the next request is that request's early end; none is sent again in silence.
  const auto stale = result->flags.find("stale_conn");
  EXPECT_EQ(result->counts.ok + (stale == result->flags.end() ? 0 : stale->second), 8);
  EXPECT_GE(server.connections(), result->counts.ok);
}

TEST(RunLoad, ReadsTheNextAnswerAfterTrailers) {
  ScriptedServer server([](int, const std::string&) { return Script{{{1ms, kHead + chunk(kText + usage(1)) + "0\r\nx-checksum: 1\r\n\r\n"}}}; });
  LoadRequest load = load_for(server);
  load.osl = 1;
  load.concurrency = 1;
  load.requests = 2;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 2);
  EXPECT_EQ(result->flags.at("no_done"), 2);
  EXPECT_EQ(server.connections(), 1);
}

TEST(RunLoad, TimesOutARequestThatNeverEnds) {
  ScriptedServer server([](int n, const std::string&) {
    Script script = stream(3);
    if (n == 1) script.steps.pop_back();
    return script;
  });
  LoadRequest load = load_for(server);
  load.concurrency = 1;
  load.requests = 4;
  load.request_timeout_s = 0.2;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 3);
  EXPECT_EQ(result->counts.timeout, 1);
  EXPECT_EQ(result->failures.at("timeout_total"), 1);
  EXPECT_EQ(result->flags.at("partial_tokens"), 3);
}

TEST(RunLoad, SaysThatNothingListens) {
  std::string url;
  {
    ScriptedServer server([](int, const std::string&) { return Script{}; });
    url = server.url();
  }
  const auto result = run({.url = url, .model = "m", .concurrency = 3, .requests = 3});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().cls, ErrorClass::kTransient);
  EXPECT_EQ(result.error().exit, ExitStatus::kPeer);
  EXPECT_EQ(result.error().message, "cannot reach " + url + ": connection refused");
}

TEST(RunLoad, StopsWithinFiftyMilliseconds) {
  ScriptedServer server([](int, const std::string&) { return stream(3, 10ms); });
  LoadRequest load = load_for(server);
  load.requests = 100'000;
  std::stop_source source;
  MonoTime asked;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    asked = mono_now();
    source.request_stop();
  });
  io::NoProgress progress;
  const auto result = run_load(load, progress, source.get_token());
  const MonoTime ended = mono_now();
  stopper.join();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().cls, ErrorClass::kCancelled);
  EXPECT_LT(millis_of(ended - asked), 50);
}

TEST(RunLoad, SendsAtTheTimesOfAnOpenLoop) {
  ScriptedServer server([](int, const std::string&) { return stream(3, 20ms); });
  LoadRequest load = load_for(server);
  load.arrivals = workload::constant_rate_plan(workload::ArrivalProcess::kConstant, 200, 1, 0);
  load.requests = 40;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->counts.ok, 40);
  EXPECT_EQ(server.requests(), 40);
  EXPECT_GE(result->duration_s, 39.0 / 200) << "no arrival comes before its time";
  EXPECT_GT(server.peak(), 4) << "arrivals wait for no answer";
}

TEST(RunLoad, HoldsArrivalsBackAtTheLimitAndLosesNone) {
  ScriptedServer server([](int, const std::string&) { return stream(2, 5ms); });
  LoadRequest load = load_for(server);
  load.arrivals = workload::constant_rate_plan(workload::ArrivalProcess::kAtOnce, 1, 1, 0);
  load.open_limit = 3;
  load.requests = 30;
  load.threads = 3;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->counts.ok, 30);
  EXPECT_LE(server.peak(), 3);
  EXPECT_EQ(result->flags.at("peak_in_flight"), 3);
}

TEST(RunLoad, KeepsTheCapAcrossThreads) {
  ScriptedServer server([](int n, const std::string&) { return stream(1 + n % 3, Millis(n % 4)); });
  LoadRequest load = load_for(server);
  load.concurrency = 7;
  load.requests = 100;
  load.threads = 3;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 100);
  EXPECT_EQ(server.requests(), 100);
  EXPECT_LE(server.peak(), 7);
  EXPECT_EQ(server.connections(), 7);
}

TEST(RunLoad, EndsByTimeAndCensorsWhatStillRuns) {
  ScriptedServer server([](int n, const std::string&) { return n % 4 == 3 ? Script{{{0ms, kHead + chunk(kText)}, {5000ms, ""}}} : stream(2, 2ms); });
  LoadRequest load = load_for(server);
  load.concurrency = 4;
  load.duration_s = 0.3;
  load.drain_s = 0.1;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.censored, 4);
  EXPECT_EQ(result->counts.failed, 0);
  EXPECT_GT(result->counts.ok, 0);
  EXPECT_EQ(result->counts.planned, result->counts.ok + result->counts.censored);
}

TEST(RunLoad, LeavesTheRampOutOfTheMeasurement) {
  ScriptedServer server([](int, const std::string&) { return stream(2, 5ms); });
  LoadRequest load = load_for(server);
  load.concurrency = 4;
  load.duration_s = 0.4;
  load.ramp_s = 0.2;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->counts.ok, 0);
  EXPECT_LT(result->counts.ok, server.requests());
  EXPECT_LE(result->duration_s, 0.35);
}

TEST(RunLoad, GivesWhatItHasWhenItIsStopped) {
  ScriptedServer server([](int n, const std::string&) { return n < 6 ? stream(3) : stream(3, 1000ms); });
  LoadRequest load = load_for(server);
  load.requests = 100'000;
  load.partial_on_stop = true;
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(200ms);
    source.request_stop();
  });
  io::NoProgress progress;
  const auto result = run_load(load, progress, source.get_token());
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 6);
  EXPECT_EQ(result->counts.cancelled, 2);
  EXPECT_TRUE(result->client.stopped);
  EXPECT_EQ(result->verdict, "SUSPECT");
  EXPECT_EQ(result->reasons.at(0).code, "stopped");
}

/// Two sessions of three turns each; a turn goes on from the live reply.
class Conversations final : public workload::Workload {
 public:
  [[nodiscard]] workload::Prompt prompt(std::int64_t index) const override {
    workload::Prompt out;
    out.messages = {{"user", "turn" + std::to_string(index)}};
    out.isl = 1;
    out.osl = 2;
    out.session = index / 3;
    out.turn = index % 3;
    if (out.turn > 0) {
      out.parents = {index - 1};
      out.think_time = Millis(5);
      out.continues = true;
    }
    return out;
  }
  [[nodiscard]] workload::Prompt warmup(std::int64_t) const override { return prompt(0); }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return 6; }
  [[nodiscard]] std::optional<std::int64_t> sessions() const override { return 2; }
  [[nodiscard]] workload::SessionSpan session(std::int64_t number) const override { return {3 * number, 3}; }
  [[nodiscard]] workload::Description describe() const override { return {}; }
};

Script chat_reply(const std::string& text) {
  return {{{1ms, kHead + chunk(R"(data: {"choices":[{"index":0,"delta":{"content":")" + text + R"("}}]})" + "\n\n")},
           {1ms, chunk(usage(1)) + chunk("data: [DONE]\n\n") + "0\r\n\r\n"}}};
}

TEST(RunLoad, CarriesLiveRepliesThroughASession) {
  std::mutex mutex;
  std::vector<std::string> seen;
  ScriptedServer server([&](int n, const std::string& request) {
    const std::lock_guard lock(mutex);
    seen.push_back(request.substr(request.find("\r\n\r\n") + 4));
    return chat_reply("reply" + std::to_string(n));
  });
  LoadRequest load = load_for(server);
  load.backend = "openai-chat";
  load.workload = std::make_shared<Conversations>();
  load.concurrency = 1;
  load.requests = 6;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 6);
  ASSERT_EQ(seen.size(), 6u);
  EXPECT_NE(seen[2].find(R"([{"role":"user","content":"turn0"},{"role":"assistant","content":"reply0"},{"role":"user","content":"turn1"},)"
                         R"({"role":"assistant","content":"reply1"},{"role":"user","content":"turn2"}])"),
            std::string::npos)
      << seen[2];
  EXPECT_EQ(seen[3].find("reply"), std::string::npos) << "the next session begins afresh";
}

TEST(RunLoad, SkipsTheTurnsOfASessionThatFailed) {
  ScriptedServer server([&](int n, const std::string&) { return n == 1 ? Script{{{0ms, "HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"}}} : chat_reply("r"); });
  LoadRequest load = load_for(server);
  load.backend = "openai-chat";
  load.workload = std::make_shared<Conversations>();
  load.concurrency = 1;
  load.requests = 6;
  load.failure_share_max = 1;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 4);
  EXPECT_EQ(result->counts.failed, 1);
  EXPECT_EQ(result->counts.skipped, 1);
  EXPECT_EQ(server.requests(), 5);
}

TEST(RunLoad, RefusesWhatItCannotDo) {
  EXPECT_EQ(run({.url = "ftp://a", .model = "m"}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .backend = "tgi", .model = "m"}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .model = "m", .concurrency = 0}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .model = "m", .concurrency = 900'000'000}).error().exit, ExitStatus::kBadInput);
}

}  // namespace
}  // namespace pawl::loadgen
