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

namespace pawl::loadgen {
namespace {

using namespace std::chrono_literals;

struct Step {
  Millis wait{0};  ///< before it is written
  std::string bytes;
};
struct Script {
  std::vector<Step> steps;
  bool close = false;
};

/// A server that answers by script, one thread a connection.
class ScriptedServer {
 public:
  using Answer = std::function<Script(int request_number, const std::string& request)>;

  explicit ScriptedServer(Answer answer) : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 128);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~ScriptedServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  [[nodiscard]] int connections() const { return connections_; }
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int peak() const { return peak_; }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    std::string input;
    while (!stopping_) {
      const auto head_end = input.find("\r\n\r\n");
      const auto length_at = input.find("Content-Length: ");
      const std::size_t total = head_end == std::string::npos || length_at == std::string::npos
                                    ? std::string::npos
                                    : head_end + 4 + static_cast<std::size_t>(std::stoul(input.substr(length_at + 16)));
      if (input.size() < total) {
        char buffer[65536];
        const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
        if (n <= 0) break;
        input.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      const int now = ++in_flight_;
      for (int seen = peak_; now > seen && !peak_.compare_exchange_weak(seen, now);) {
      }
      const Script script = answer_(requests_++, input.substr(0, total));
      input.erase(0, total);
      bool alive = true;
      for (std::size_t i = 0; i < script.steps.size() && alive; ++i) {
        std::this_thread::sleep_for(script.steps[i].wait);
        // Before the last bytes go out: the client may send its next request as soon as it has them.
        if (i + 1 == script.steps.size()) --in_flight_;
        alive = ::send(fd, script.steps[i].bytes.data(), script.steps[i].bytes.size(), MSG_NOSIGNAL) >= 0;
      }
      if (script.close || !alive) break;
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  Answer answer_;
  int listener_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0, requests_ = 0, in_flight_ = 0, peak_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

const std::string kHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
std::string chunk(const std::string& bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }
const std::string kText = R"(data: {"choices":[{"index":0,"text":"x"}]})"
                          "\n\n";
std::string usage(int output) {
  return fmt::format(R"(data: {{"choices":[],"usage":{{"prompt_tokens":8,"completion_tokens":{}}}}})"
                     "\n\n",
                     output);
}

/// `tokens` events, one each `gap`, usage in an event of its own.
Script stream(int tokens, Millis gap = 1ms) {
  Script script;
  for (int i = 0; i < tokens; ++i) script.steps.push_back({gap, (i == 0 ? kHead : "") + chunk(kText)});
  script.steps.push_back({0ms, chunk(usage(tokens)) + chunk("data: [DONE]\n\n") + "0\r\n\r\n"});
  return script;
}

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

TEST(RunLoad, RefusesWhatItCannotDo) {
  EXPECT_EQ(run({.url = "https://a", .model = "m"}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .backend = "tgi", .model = "m"}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .model = "m", .concurrency = 0}).error().exit, ExitStatus::kBadInput);
  EXPECT_EQ(run({.url = "http://127.0.0.1:9", .model = "m", .concurrency = 900'000'000}).error().exit, ExitStatus::kBadInput);
}

}  // namespace
}  // namespace pawl::loadgen
