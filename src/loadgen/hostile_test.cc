// Servers that mean no good, and servers behind TLS or a Unix socket: each failure has its class, and the requests beside it
// are not harmed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "loadgen/load.h"
#include "loadgen/testing/scripted_server.h"

namespace pawl::loadgen {
namespace {

using testing::chunk;
using testing::kHead;
using testing::kText;
using testing::Script;
using testing::ScriptedServer;
using testing::stream;
using testing::TestCertificate;
using namespace std::chrono_literals;

Result<model::BenchResult> run(const LoadRequest& load) {
  io::NoProgress progress;
  return run_load(load, progress, {});
}

LoadRequest load_for(const std::string& url) {
  return {.url = url, .model = "m", .isl = 8, .osl = 3, .concurrency = 2, .requests = 8, .request_timeout_s = 20, .failure_share_max = 1};
}

/// Every second request gets `bad`. Gives the class of failure of all of those.
std::string class_of(const Script& bad, LoadRequest load = load_for({})) {
  ScriptedServer server([&](int n, const std::string&) { return n % 2 == 0 ? bad : stream(3); });
  load.url = server.url();
  const auto result = run(load);
  if (!result) return result.error().message;
  EXPECT_EQ(result->counts.ok, 4) << "the others are harmed";
  EXPECT_EQ(result->counts.failed + result->counts.timeout, 4);
  EXPECT_EQ(result->failures.size(), 1u);
  return result->failures.empty() ? "" : result->failures.begin()->first;
}

TEST(HostileServer, SendsAHeaderWithoutEnd) {
  EXPECT_EQ(class_of({{{0ms, "HTTP/1.1 200 OK\r\n"}, {0ms, "x-filler: " + std::string(1000, 'y') + "\r\n", 10'000}}, true}), "frame");
  EXPECT_EQ(class_of({{{0ms, "HTTP/1.1 200 OK\r\nx: "}, {0ms, std::string(10'000, 'y'), 1000}}, true}), "frame");
}

TEST(HostileServer, SendsAnEventOverTheLimit) {
  LoadRequest load = load_for({});
  load.max_event_bytes = 1 << 20;
  EXPECT_EQ(class_of({{{0ms, kHead + chunk(kText) + chunk("data: ")}, {0ms, chunk(std::string(60'000, 'x')), 40}}, true}, load), "sse");
}

TEST(HostileServer, DripsForEver) {
  LoadRequest load = load_for({});
  load.request_timeout_s = 0.3;
  EXPECT_EQ(class_of({{{0ms, kHead}, {10ms, chunk(": keep-alive\n\n"), 1000}}, true}, load), "timeout_total");
  load.request_timeout_s = 20;
  load.first_token_timeout_s = 0.3;
  EXPECT_EQ(class_of({{{0ms, kHead}, {10ms, chunk(": keep-alive\n\n"), 1000}}, true}, load), "timeout_first_token");
}

TEST(HostileServer, FallsSilent) {
  LoadRequest load = load_for({});
  load.idle_timeout_s = 0.2;
  EXPECT_EQ(class_of({{{0ms, kHead + chunk(kText)}, {3000ms, ""}}, true}, load), "timeout_idle");
}

TEST(HostileServer, SendsACompressedBomb) {
  EXPECT_EQ(
      class_of({{{0ms, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\n"}, {0ms, std::string(10'000, '\0'), 100}}, true}),
      "content_type");
}

TEST(HostileServer, RedirectsInCircles) {
  EXPECT_EQ(class_of({{{0ms, "HTTP/1.1 302 Found\r\nlocation: /v1/completions\r\ncontent-length: 0\r\n\r\n"}}}), "http_status");
}

TEST(HostileServer, ExplainsAnErrorWithoutEnd) {
  EXPECT_EQ(class_of({{{0ms, "HTTP/1.1 500 No\r\n\r\n"}, {0ms, std::string(10'000, 'e'), 1000}}, true}), "http_status");
}

TEST(HostileServer, ClosesTooEarly) {
  EXPECT_EQ(class_of({{{0ms, kHead + chunk(kText) + "1f\r\ndata: {"}}, true}), "early_eof");
  EXPECT_EQ(class_of({{}, true}), "early_eof");
}

TEST(HostileServer, SendsAChunkSizeThatOverflows) { EXPECT_EQ(class_of({{{0ms, kHead + "ffffffffffffffff\r\ndata: x\n\n"}}, true}), "frame"); }

TEST(HostileServer, AnswersBeforeItWasAskedAndGoesOn) {
  // Two answers to one request: the second belongs to nobody and costs the connection, not the next request.
  ScriptedServer server([](int, const std::string&) {
    Script script = stream(3);
    script.steps.back().bytes += "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    return script;
  });
  const auto result = run(load_for(server.url()));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 8);
  EXPECT_EQ(server.connections(), 8);
}

TEST(Tls, IsMeasuredWithTheKernelsStamps) {
  const TestCertificate certificate;
  ScriptedServer server([](int, const std::string&) { return stream(3, 5ms); }, &certificate);
  const std::string ca = ::testing::TempDir() + fmt::format("/pawl-ca-{}.pem", ::getpid());
  std::ofstream(ca) << certificate.pem();
  LoadRequest load = load_for(server.url());
  load.tls.ca_file = ca;
  load.warmups = 2;
  const auto result = run(load);
  std::filesystem::remove(ca);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->counts.ok, 8) << (result->reasons.empty() ? "" : result->reasons[0].text);
  EXPECT_EQ(result->total_output_tokens, 24);
  EXPECT_EQ(result->metrics.at("gap_ms").n, 16);
  EXPECT_GE(result->metrics.at("ttft_ms").min, 4.9);
  EXPECT_EQ(server.connections(), 2);
  if (result->flags.contains("kernel_stamp_reads")) {
    EXPECT_GE(result->metrics.at("rx_delay_ms").min, 0);
  }
}

TEST(Tls, TrustsNobodyUnlessToldTo) {
  const TestCertificate certificate;
  ScriptedServer server([](int, const std::string&) { return stream(3); }, &certificate);
  LoadRequest load = load_for(server.url());
  const auto refused = run(load);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->failures, (std::map<std::string, std::int64_t>{{"tls", 8}}));
  EXPECT_NE(refused->reasons.at(0).text.find("self-signed"), std::string::npos) << refused->reasons.at(0).text;
  load.tls.insecure = true;
  EXPECT_EQ(run(load)->counts.ok, 8);
  load.tls = {.ca_file = "/nonexistent/ca.pem"};
  EXPECT_EQ(run(load).error().exit, ExitStatus::kBadInput);
}

TEST(Tls, ChecksTheName) {
  const TestCertificate certificate;
  ScriptedServer server([](int, const std::string&) { return stream(3); }, &certificate);
  const std::string ca = ::testing::TempDir() + fmt::format("/pawl-ca2-{}.pem", ::getpid());
  std::ofstream(ca) << certificate.pem();
  LoadRequest load = load_for(server.url());
  load.tls = {.ca_file = ca, .server_name = "engine.example"};
  EXPECT_EQ(run(load)->failures, (std::map<std::string, std::int64_t>{{"tls", 8}}));
  load.tls.server_name = "localhost";
  EXPECT_EQ(run(load)->counts.ok, 8);
  std::filesystem::remove(ca);
}

TEST(Tls, FailsAsSuchAgainstAServerWithoutIt) {
  ScriptedServer server([](int, const std::string&) { return stream(3); });
  LoadRequest load = load_for(fmt::format("https://127.0.0.1:{}", server.port()));
  load.connect_timeout_s = 0.3;  // the server waits for more of what it takes for a request
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 0);
  EXPECT_TRUE(result->failures.contains("timeout_connect") || result->failures.contains("tls"));
}

TEST(UnixSocket, IsMeasuredWithOurOwnStamps) {
  const std::string path = ::testing::TempDir() + fmt::format("/pawl-{}.sock", ::getpid());
  ScriptedServer server([](int, const std::string&) { return stream(3, 2ms); }, nullptr, path);
  const auto result = run(load_for(server.url()));
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->counts.ok, 8);
  EXPECT_EQ(result->clock, "user");
}

TEST(SeveralServers, AreUsedInTurn) {
  ScriptedServer a([](int, const std::string&) { return stream(3); }), b([](int, const std::string&) { return stream(3); });
  LoadRequest load = load_for(a.url());
  load.more_urls = {b.url()};
  load.requests = 40;
  const auto result = run(load);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->counts.ok, 40);
  EXPECT_GT(a.requests(), 5);
  EXPECT_GT(b.requests(), 5);
  EXPECT_EQ(a.requests() + b.requests(), 40);
}

}  // namespace
}  // namespace pawl::loadgen
