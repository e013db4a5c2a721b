#include "twin/twin.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "http/client.h"
#include "posix/embedded_assets.h"
#include "posix/real_clock.h"
#include "twin/answers.h"
#include "twin/flags.h"
#include "twin/profile.h"

namespace pawl::twin {
namespace {

using codec::Json;
using namespace std::chrono_literals;

constexpr const char* kProfile = "sglang-v0.5.19-qwen35-fp4-b200";

TEST(Profiles, AllParseAndEveryRuleNamesOne) {
  const posix::EmbeddedAssets assets;
  const auto names = profile_names(assets);
  ASSERT_GE(names.size(), 6u);
  for (const std::string& name : names) {
    const auto profile = load_profile(assets, name);
    EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  }
  const auto is = [&](const char* image, const char* model, const char* runner) { return profile_for(assets, image, model, runner).value_or("none"); };
  EXPECT_EQ(is("lmsysorg/sglang:v0.5.14-cu130", "qwen3.5", "b200-nscale"), "sglang-v0.5.14-qwen35-fp4-b200");
  EXPECT_EQ(is("lmsysorg/sglang:v0.5.19-cu130", "qwen3.5", "h200"), "sglang-v0.5.19-qwen35-fp8-h200");
  EXPECT_EQ(is("lmsysorg/sglang:v0.5.14-cu130", "dsr1", "b200"), "generic-old");
  EXPECT_EQ(is("vllm/vllm-openai:v0.99", "gptoss", "mi355x"), "generic-new");
  const auto missing = load_profile(assets, "nope");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().remedy.find("generic-new"), std::string::npos);
}

TEST(Profiles, ALawIsFoundForEveryNumberOfGpus) {
  const posix::EmbeddedAssets assets;
  const auto profile = load_profile(assets, kProfile);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->law_for(2, 1).kv_tokens, profile->law.at("2").kv_tokens);
  EXPECT_EQ(profile->law_for(8, 1).decode_base_ms, profile->law.at("4").decode_base_ms);
  EXPECT_EQ(profile->law_for(1, 1).decode_base_ms, profile->law.at("2").decode_base_ms);
}

TEST(Flags, UnknownOnesAreListedAsTheLauncherDoes) {
  const posix::EmbeddedAssets assets;
  const auto profile = load_profile(assets, kProfile);
  ASSERT_TRUE(profile);
  const std::vector<std::string> good{"--kv-cache-dtype", "fp8_e4m3", "--disable-radix-cache", "--chunked-prefill-size=-1", "--cuda-graph-bs", "1", "2"};
  const EngineFlags read = read_engine_flags(*profile, good);
  EXPECT_EQ(unrecognized_message(read, *voice_of(profile->engine)), "");
  EXPECT_EQ(read.known.at("--cuda-graph-bs"), "1 2");
  EXPECT_EQ(read.known.at("--chunked-prefill-size"), "-1");
  EXPECT_EQ(unrecognized_message(read_engine_flags(*profile, std::vector<std::string>{"--torchao-config", "int4wo"}), *voice_of("sglang")),
            "launch_server.py: error: unrecognized arguments: --torchao-config int4wo");
  const auto old = load_profile(assets, "sglang-v0.5.14-qwen35-fp4-b200");
  ASSERT_TRUE(old);
  EXPECT_EQ(unrecognized_message(read_engine_flags(*old, std::vector<std::string>{"--torchao-config", "int4wo"}), *voice_of("sglang")), "");
}

TEST(Answers, KnownQuestionsAreAnsweredAndMostlyRight) {
  const posix::EmbeddedAssets assets;
  auto text = assets.read("evals/arith24.yaml");
  ASSERT_TRUE(text);
  const auto task = codec::parse_yaml(*text, "arith24");
  ASSERT_TRUE(task);
  for (const std::string& name : profile_names(assets)) {
    const auto profile = load_profile(assets, name);
    ASSERT_TRUE(profile) << name;
    if (profile->accuracy < 0.9) continue;  // meant to fail a gate
    const auto examiner = Examiner::load(assets, name, profile->accuracy);
    ASSERT_TRUE(examiner);
    int right = 0, all = 0;
    for (const auto& item : task->root.find("questions")->items) {
      const auto pieces = examiner->answer("Solve it.\n\nProblem: " + item.find("question")->text + "\nAnswer:");
      ASSERT_FALSE(pieces.empty());
      ++all;
      if (join(pieces, "").ends_with("#### " + item.find("answer")->text)) ++right;
    }
    EXPECT_GE(right, all - 2) << name << ": the default gate of 0.9 would fail";
  }
  const auto none = Examiner::load(assets, "x", 0);
  ASSERT_TRUE(none);
  const auto& first = task->root.find("questions")->items.front();
  EXPECT_TRUE(join(none->answer(first.find("question")->text), "").ends_with("#### " + std::to_string(*parse_int(first.find("answer")->text) + 1)));
  EXPECT_TRUE(none->answer("What is the weather?").empty());
}

TEST(Answers, AStopStringCutsAlsoAcrossPieces) {
  Reply reply = Reply::fixed({" a", " b", " c", " d"}, 10);
  reply.cut_at({"b c"});
  EXPECT_EQ(reply.whole(), " a ");
  EXPECT_EQ(reply.length(), 3);
  EXPECT_STREQ(reply.finish_reason(), "stop");
  EXPECT_EQ(count_tokens("one two three"), 4);
  EXPECT_EQ(count_tokens(""), 1);
}

/// A running twin and what it logged.
class TwinTest : public testing::Test {
 protected:
  void start(const std::string& profile = kProfile) {
    TwinOptions options;
    options.profile = profile;
    options.tp = 4;
    options.served_model_name = "demo";
    options.engine_flags = {"--kv-cache-dtype", "fp8_e4m3"};
    auto started = Twin::start(options, assets_, clock_, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      log_.push_back(line);
    });
    ASSERT_TRUE(started) << started.error().message;
    twin_ = std::move(*started);
  }
  void wait_ready() {
    for (int i = 0; i < 500 && call("/health")->status != 200; ++i) std::this_thread::sleep_for(10ms);
    ASSERT_EQ(call("/health")->status, 200);
  }
  Result<http::Response> call(const std::string& path, const std::string& body = {}) {
    http::ClientRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.url = "http://127.0.0.1:" + std::to_string(twin_->port()) + path;
    request.body = body;
    auto r = http::fetch(request, {});
    EXPECT_TRUE(r) << (r ? "" : r.error().message);
    if (!r) return http::Response{};
    EXPECT_EQ(http::find_field(r->fields, "x-pawl-simulated"), "twin") << path;
    return r;
  }
  static std::vector<Json> events(const std::string& body) {
    std::vector<Json> out;
    std::istringstream lines(body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("data: {")) out.push_back(*codec::parse_json(line.substr(6), "event"));
    }
    return out;
  }
  [[nodiscard]] std::string log() {
    const std::lock_guard lock(mutex_);
    return join(log_, "\n");
  }

  posix::EmbeddedAssets assets_;
  posix::RealClock clock_;
  std::mutex mutex_;
  std::vector<std::string> log_;
  std::unique_ptr<Twin> twin_;
};

TEST_F(TwinTest, ItLoadsThenServesAndSaysThatItIsASimulation) {
  start();
  EXPECT_EQ(call("/health")->status, 503);
  EXPECT_EQ(call("/v1/completions", R"({"prompt":"a"})")->status, 503);
  wait_ready();
  EXPECT_TRUE(log().starts_with("SIMULATION: pawl twin"));
  EXPECT_NE(log().find("kv_cache_dtype='fp8_e4m3'"), std::string::npos) << log();
  EXPECT_NE(log().find("The server is fired up and ready to roll!"), std::string::npos);
  EXPECT_NE(call("/v1/models")->body.find("\"id\":\"demo\""), std::string::npos);
  EXPECT_NE(call("/version")->body.find("\"version\":\"0.5.19\""), std::string::npos);
  const auto info = codec::parse_json(call("/get_server_info")->body, "info");
  ASSERT_TRUE(info);
  EXPECT_EQ((*info)["tp_size"], 4);
  EXPECT_EQ((*info)["kv_cache_dtype"], "fp8_e4m3");
  EXPECT_EQ((*info)["simulated"], "twin");
}

TEST_F(TwinTest, ACompletionStreamHasOneEventATokenThenFinishThenUsage) {
  start();
  wait_ready();
  const auto r =
      call("/v1/completions", R"({"model":"demo","prompt":[5,6,7],"max_tokens":6,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}})");
  EXPECT_TRUE(r->body.ends_with("data: [DONE]\n\n"));
  const auto all = events(r->body);
  ASSERT_EQ(all.size(), 8u) << r->body;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(all[i]["object"], "text_completion");
    EXPECT_FALSE(all[i]["choices"][0]["text"].get<std::string>().empty());
    EXPECT_TRUE(all[i]["choices"][0]["finish_reason"].is_null());
  }
  EXPECT_EQ(all[6]["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(all[7]["choices"].is_array() && all[7]["choices"].empty());
  EXPECT_EQ(all[7]["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(all[7]["usage"]["completion_tokens"], 6);
  EXPECT_EQ(all[7]["usage"]["total_tokens"], 9);
  EXPECT_EQ(all[7]["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_NE(call("/metrics")->body.find("sglang:generation_tokens_total{model_name=\"demo\"} 6\n"), std::string::npos);
}

TEST_F(TwinTest, AChatStreamBeginsWithTheRole) {
  start();
  wait_ready();
  const auto r =
      call("/v1/chat/completions", R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"max_completion_tokens":2,"stream":true})");
  const auto all = events(r->body);
  ASSERT_EQ(all.size(), 4u) << r->body;
  EXPECT_EQ(all[0]["choices"][0]["delta"], (Json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_FALSE(all[1]["choices"][0]["delta"]["content"].get<std::string>().empty());
  EXPECT_EQ(all[3]["choices"][0]["finish_reason"], "length");
}

TEST_F(TwinTest, AnEvalQuestionGetsItsAnswerWhole) {
  start("generic-new");
  wait_ready();
  auto examiner = Examiner::load(assets_, "generic-new", load_profile(assets_, "generic-new")->accuracy);
  ASSERT_TRUE(examiner);
  const std::string question = "A tray holds 13 buns. A baker fills 8 trays and sells 27 buns. How many buns are left?";
  const auto r =
      call("/v1/completions", Json{{"prompt", "Problem: " + question + "\nAnswer:"}, {"max_tokens", 48}, {"ignore_eos", true}, {"stop", {"</s>"}}}.dump());
  const auto json = codec::parse_json(r->body, "answer");
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["choices"][0]["text"], join(examiner->answer(question), ""));
  EXPECT_EQ((*json)["choices"][0]["finish_reason"], "stop");
}

TEST_F(TwinTest, WrongRequestsAreRefusedInTheOpenAiShape) {
  start();
  wait_ready();
  const auto refused = [&](const std::string& body, int status) {
    const auto r = call("/v1/completions", body);
    EXPECT_EQ(r->status, status) << body << r->body;
    const auto json = codec::parse_json(r->body, "error");
    ASSERT_TRUE(json) << r->body;
    EXPECT_TRUE((*json)["error"]["message"].is_string());
    EXPECT_EQ((*json)["error"]["code"], status);
  };
  refused("{", 400);
  refused("[]", 400);
  refused(R"({"max_tokens":4})", 400);
  refused(R"({"prompt":[]})", 400);
  refused(R"({"prompt":["a","b"]})", 400);
  refused(R"({"prompt":"a","max_tokens":0})", 400);
  refused(R"({"prompt":"a","max_tokens":99999999999})", 400);
  refused(R"({"prompt":"a","n":2})", 400);
  refused(R"({"prompt":"a","model":"other"})", 404);
  EXPECT_EQ(call("/nowhere")->status, 404);
  EXPECT_EQ(call("/v1/completions")->status, 405);
}

TEST_F(TwinTest, ManyRequestsAtOnceAllEndAndTheBatchIsShared) {
  start();
  wait_ready();
  std::vector<std::jthread> clients;
  std::atomic<int> good = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      const auto r = call("/v1/completions", R"({"prompt":[1,2,3,4],"max_tokens":20,"stream":true})");
      if (events(r->body).size() == 21) ++good;
    });
  }
  clients.clear();
  EXPECT_EQ(good, 16);
  // One after the other they would take 16 times 20 steps of about 4 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
}

TEST(TwinStart, RefusesAnUnknownFlagWithTheLaunchersMessage) {
  const posix::EmbeddedAssets assets;
  const posix::RealClock clock;
  TwinOptions options;
  options.profile = "generic-new";
  options.engine_flags = {"--nope"};
  const auto twin = Twin::start(options, assets, clock, [](const std::string&) {});
  ASSERT_FALSE(twin);
  EXPECT_EQ(twin.error().exit, ExitStatus::kUsage);
  EXPECT_EQ(twin.error().message, "launch_server.py: error: unrecognized arguments: --nope");
}

}  // namespace
}  // namespace pawl::twin
