#include "backend/backend.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "backend/stream_reader.h"
#include "codec/json.h"

namespace pawl::backend {
namespace {

using codec::Json;

workload::Prompt ids_prompt() {
  workload::Prompt prompt;
  prompt.ids = {11, 12, 13};
  prompt.osl = 64;
  return prompt;
}
workload::Prompt chat_prompt() {
  workload::Prompt prompt;
  prompt.messages = {{"system", "be \"brief\""}, {"user", "hi\n"}};
  prompt.osl = 64;
  return prompt;
}
workload::Prompt text_prompt() {
  workload::Prompt prompt;
  prompt.text = "one two";
  prompt.osl = 64;
  return prompt;
}

Json body_of(const char* name, const workload::Prompt& prompt, BodyOptions options = {}) {
  options.model = "m";
  std::string out;
  find_backend(name)->write_body(prompt, options, out);
  auto json = codec::parse_json(out, name);
  EXPECT_TRUE(json.has_value()) << out;
  return json ? *json : Json();
}

TEST(Bodies, AskForUsageWithOneLengthKey) {
  const Json completions = body_of("openai", ids_prompt(), {.ignore_eos = true});
  EXPECT_EQ(completions,
            Json::parse(R"({"model":"m","prompt":[11,12,13],"max_tokens":64,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}})"));
  const Json chat = body_of("openai-chat", chat_prompt());
  EXPECT_EQ(chat,
            Json::parse(R"({"model":"m","messages":[{"role":"system","content":"be \"brief\""},{"role":"user","content":"hi\n"}],"max_completion_tokens":64,
                                  "stream":true,"stream_options":{"include_usage":true}})"));
  EXPECT_EQ(body_of("vllm", ids_prompt(), {.ignore_eos = true})["min_tokens"], 64);
  EXPECT_FALSE(body_of("openai", ids_prompt()).contains("temperature"));
  EXPECT_EQ(body_of("openai", ids_prompt(), {.ask_usage = false}).contains("stream_options"), false);
}

TEST(Bodies, SpeakEachNativeProtocol) {
  EXPECT_EQ(
      body_of("sglang", ids_prompt(), {.ignore_eos = true}),
      Json::parse(R"({"input_ids":[11,12,13],"sampling_params":{"temperature":0.0,"max_new_tokens":64,"ignore_eos":true},"stream":true,"return_logprob":false,
                            "logprob_start_len":-1,"lora_path":null})"));
  EXPECT_EQ(body_of("trtllm", text_prompt(), {.ignore_eos = true}),
            Json::parse(R"({"text_input":"one two","max_tokens":64,"min_length":64,"end_id":1048576,"stream":true})"));
  EXPECT_EQ(body_of("llamacpp", text_prompt(), {.ignore_eos = true}), Json::parse(R"({"prompt":"one two","n_predict":64,"ignore_eos":true,"stream":true})"));
  BodyOptions options;
  options.model = "ensemble";
  EXPECT_EQ(find_backend("trtllm")->path(options), "/v2/models/ensemble/generate_stream");
}

TEST(Bodies, FollowTheHabitsOfOtherClients) {
  const Json vllm = body_of("openai", ids_prompt(), {.profile = BodyProfile::kVllm});
  EXPECT_EQ(vllm["repetition_penalty"], 1.0);
  EXPECT_TRUE(vllm.contains("logprobs") && vllm["logprobs"].is_null());
  EXPECT_FALSE(vllm.contains("temperature"));
  EXPECT_EQ(body_of("openai-chat", chat_prompt(), {.profile = BodyProfile::kVllm})["messages"][1]["content"],
            Json::parse(R"([{"type":"text","text":"hi\n"}])"));
  const Json sglang = body_of("openai-chat", chat_prompt(), {.profile = BodyProfile::kSglang});
  EXPECT_EQ(sglang["messages"][1]["content"], "hi\n");
  EXPECT_EQ(sglang["temperature"], 0.0);
  const Json inferencex = body_of("openai", ids_prompt(), {.profile = BodyProfile::kInferencex, .ignore_eos = true});
  EXPECT_EQ(inferencex["temperature"], 0.0);
  EXPECT_EQ(inferencex["best_of"], 1);
}

TEST(Bodies, LetTheUsersKeysWinAndKeepOneLength) {
  const Json extra = Json::parse(R"({"temperature":0.7,"max_tokens":5,"stream_options":{"include_usage":false,"x":1},"top_k":3})");
  const Json body = body_of("openai-chat", chat_prompt(), {.temperature = 0.0, .extra = extra});
  EXPECT_EQ(body["temperature"], 0.7);
  EXPECT_EQ(body["max_tokens"], 5);
  EXPECT_FALSE(body.contains("max_completion_tokens"));
  EXPECT_EQ(body["stream_options"], Json::parse(R"({"include_usage":false,"x":1})"));
  EXPECT_EQ((--body.end()).key(), "top_k");
  const Json nested = body_of("sglang", ids_prompt(), {.extra = Json::parse(R"({"sampling_params":{"max_new_tokens":9,"top_p":0.5}})")});
  EXPECT_EQ(nested["sampling_params"], Json::parse(R"({"temperature":0.0,"ignore_eos":false,"max_new_tokens":9,"top_p":0.5})"));
}

TEST(Bodies, RefuseWhatDoesNotFit) {
  BodyOptions options;
  options.model = "m";
  EXPECT_TRUE(check_options(*find_backend("openai"), options));
  options.extra = Json::array();
  EXPECT_FALSE(check_options(*find_backend("openai"), options));
  options.extra = nullptr;
  options.tools = Json::array();
  EXPECT_TRUE(check_options(*find_backend("openai-chat"), options));
  EXPECT_FALSE(check_options(*find_backend("sglang"), options));
  EXPECT_EQ(find_backend("nope"), nullptr);
}

measure::RequestRecord read(const char* backend, const std::vector<std::string>& events, ReadOptions options = {}) {
  measure::RequestRecord record;
  record.send = MonoTime{Nanos(1000)};
  StreamReader reader(*find_backend(backend), options);
  EventFacts scratch;
  std::int64_t at = 2000;
  for (const std::string& data : events) reader.take({}, data, data == "[DONE]", true, MonoTime{Nanos(at += 1000)}, Nanos(7), record, scratch);
  reader.finish(true, record);
  return record;
}

TEST(StreamReader, KeepsTheTextOfTheFirstChoice) {
  const auto record = read("openai-chat",
                           {R"({"choices":[{"index":0,"delta":{"reasoning":"h\u00e9"}}]})",
                            R"({"choices":[{"index":0,"delta":{"content":"\ud83d\ude00a"}},{"index":1,"delta":{"content":"no"}}]})"},
                           {.keep_text = true});
  EXPECT_EQ(record.text, "😀a");
  EXPECT_EQ(record.reasoning_text, "hé");
  EXPECT_EQ(record.events[0].late_ns, 7u);
}

TEST(StreamReader, LeavesAnEchoOfThePromptOut) {
  const auto record = read(
      "openai", {R"({"choices":[{"index":0,"text":"one "}]})", R"({"choices":[{"index":0,"text":"two"}]})", R"({"choices":[{"index":0,"text":" three"}]})"},
      {.echo_bytes = 7});
  EXPECT_EQ(record.token_events(), 1);
  EXPECT_EQ(record.first_token, MonoTime{Nanos(5000)});
}

TEST(StreamReader, SuspectsAnEchoThatNobodyAskedFor) {
  const std::vector<std::string> events{R"({"choices":[{"index":0,"text":"Tell me a story"}]})", R"({"choices":[{"index":0,"text":" now"}]})"};
  EXPECT_TRUE(read("openai", events, {.prompt_start = "Tell me a story about a cat"}).flags.contains("echo_suspected"));
  EXPECT_FALSE(read("openai", events, {.prompt_start = "Tell me a stork and a cat"}).flags.contains("echo_suspected"));
}

TEST(StreamReader, TakesTokenIdsAsACount) {
  const auto record = read("vllm", {R"({"choices":[{"index":0,"text":"a","token_ids":[1,2]}]})", R"({"choices":[{"index":0,"text":"","token_ids":[3]}]})"});
  EXPECT_EQ(record.ids_output, 3);
  EXPECT_EQ(record.events[0].tokens(), 2);
  EXPECT_EQ(record.flags.at("textless"), 1);
}

TEST(StreamReader, LeavesACountOpenThatCoversSeveralEvents) {
  const auto record = read("openai", {R"({"choices":[{"index":0,"text":"a"}]})", R"({"choices":[{"index":0,"text":"b"}],"usage":{"completion_tokens":3}})",
                                      R"({"choices":[{"index":0,"text":"c"}],"usage":{"completion_tokens":4}})"});
  EXPECT_EQ(record.events[1].tokens(), std::nullopt);
  EXPECT_EQ(record.events[2].tokens(), 1);
}

TEST(StreamReader, ReadsIncrementalTextOfSglangWhenTold) {
  const std::vector<std::string> events{R"({"text":"ab","meta_info":{"completion_tokens":1}})", R"({"text":"a","meta_info":{"completion_tokens":2}})"};
  EXPECT_TRUE(read("sglang", events).flags.contains("rewrote"));
  EXPECT_FALSE(read("sglang", events, {.text_mode = TextMode::kIncremental}).flags.contains("rewrote"));
}

/// All that an event says, as text.
std::string said(const EventFacts& facts) {
  std::string out = facts.malformed ? "malformed" : "";
  out += facts.usage ? " usage" : "";
  for (const ChoiceFacts& choice : facts.choices) {
    out += " [" + std::to_string(choice.index) + '|' + std::string(choice.text) + '|' + std::string(choice.reasoning) + '|' + std::string(choice.other) + '|' +
           std::string(choice.finish) + '|' + std::to_string(choice.ids.value_or(-1)) + ']';
  }
  return out + (facts.usage_output ? std::to_string(*facts.usage_output) : "") + std::string(facts.error);
}

TEST(EventShape, WhatWasReadBeforeChangesNothing) {
  // Every event after every other: those that fit the shape of the one before, and those that nearly do.
  const std::vector<std::string> events{
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":null})",
      R"({"id":"b-22","created":1800,"choices":[{"index":0,"text":"a longer one","finish_reason":null}],"usage":null})",
      R"({"id":"","created":0,"choices":[{"index":0,"text":"x","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":007,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"li\nne","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"bad \x","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"grün","finish_reason":null}],"usage":null})",
      "{\"id\":\"a-1\",\"created\":17,\"choices\":[{\"index\":0,\"text\":\"\xFFxxxxxxxxx\",\"finish_reason\":null}],\"usage\":null}",
      "{\"id\":\"a-1\",\"created\":17,\"choices\":[{\"index\":0,\"text\":\"control \x01 xxxxx\",\"finish_reason\":null}],\"usage\":null}",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","finish_reason":"stop"}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":null}x)",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":null)",
      R"({"id":"a-1","created":17,"choices":[{"index":1,"text":"one","finish_reason":null}],"usage":null})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","finish_reason":null}],"usage":{"completion_tokens":3}})",
      R"({"id":"a-1","created":17,"choices":[{"index":0,"text":"one","token_ids":[1]}],"usage":null})",
      R"({"id":"a-1","choices":[{"index":0,"delta":{"content":"one"}}]})",
      R"({"id":"a-2","choices":[{"index":0,"delta":{"content":"two"}}]})",
      R"({"id":"a-2","choices":[{"index":0,"delta":{"reasoning":"two"}}]})",
      R"({"id":"a-2","choices":[{"index":0,"delta":{"reasoning":"three"}}]})",
      R"({"id":"a-2","choices":[{"index":0,"delta":{"reasoning":"two","reasoning_content":"two"}}]})",
      R"({"id":"a-2","id":"a-3","created":"yesterday","choices":[{"text":"one","text":"two"}]})",
      R"({"id":"q","id":"a","created":"never","choices":[{"text":"one","text":"four"}]})",
      R"({"id":5.5,"created":-1,"choices":[{"text":"one"}]})",
      R"({"id":6,"created":-1,"choices":[{"text":"one"}]})",
      R"({"error":"no","choices":[{"text":"one"}]})",
      "",
  };
  for (const char* name : {"openai", "openai-chat", "dynamo", "vllm-chat"}) {
    const Backend& backend = *find_backend(name);
    for (const std::string& before : events) {
      EventFacts used;
      backend.read(before, used);
      for (const std::string& event : events) {
        backend.read(before, used);
        backend.read(event, used);
        EventFacts fresh;
        backend.read(event, fresh);
        EXPECT_EQ(said(used), said(fresh)) << before << "\n" << event;
      }
    }
  }
}

TEST(EventShape, TakesTheNextTokenOfAnyRequest) {
  EventShape shape;
  std::string_view text;
  const std::string one = R"({"id":"a","created":17,"choices":[{"text":"x"}]})";
  EXPECT_FALSE(shape.fits(one, text));
  const std::string_view all(one);
  const std::array<std::string_view, 2> own{all.substr(7, 1), all.substr(20, 2)};
  shape.learn(all, all.substr(all.rfind('x'), 1), own.data(), own.size());
  EXPECT_TRUE(shape.fits(R"({"id":"another one, much longer","created":1,"choices":[{"text":"and its text"}]})", text));
  EXPECT_EQ(text, "and its text");
  EXPECT_FALSE(shape.fits(R"({"id":"a","created":17,"choices":[{"text":"x"}], "usage":1})", text));
  shape.forget();
  EXPECT_FALSE(shape.known());
}

}  // namespace
}  // namespace pawl::backend
