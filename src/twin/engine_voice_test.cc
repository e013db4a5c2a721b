#include "twin/engine_voice.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace pawl::twin {
namespace {

constexpr const char* kEngines[] = {"sglang", "vllm", "trtllm", "llamacpp"};

StartFacts facts() {
  return {"demo", "1.2.3", "127.0.0.1", 8000, 692'224, 8192, 256, 32'768, {{"tp_size", 4}, {"dtype", "auto"}, {"radix", true}, {"seed", nullptr}}, 1.5, 0.25};
}

std::string written(const EngineVoice& voice, const LogLines& lines) {
  std::string text;
  for (const LogLine& line : lines) text += (line.stamped ? voice.stamped(WallTime{Seconds{1'796'083'200}}, line.text) : line.text) + "\n";
  return text;
}

TEST(EngineVoice, EachSaysInItsMannerThatItIsReadyAndHowLargeItsCacheIs) {
  const std::pair<const char*, const char*> ready[] = {{"sglang", "[2026-12-01 00:00:00] The server is fired up and ready to roll!\n"},
                                                       {"vllm", "(APIServer pid=1) INFO:     Application startup complete.\n"},
                                                       {"trtllm", "INFO:     Application startup complete.\n"},
                                                       {"llamacpp", "main: server is listening on http://127.0.0.1:8000 - starting the main loop\n"}};
  for (const auto& [engine, words] : ready) {
    const auto voice = voice_of(engine);
    EXPECT_NE(written(*voice, voice->ready(facts())).find(words), std::string::npos) << written(*voice, voice->ready(facts()));
  }
  const std::pair<const char*, const char*> cache[] = {
      {"sglang", "[2026-12-01 00:00:00] KV Cache is allocated. #tokens: 692224"},
      {"vllm", "(EngineCore pid=1) INFO 12-01 00:00:00 [kv_cache_utils.py:1] GPU KV cache size: 692,224 tokens\n"},
      {"trtllm", "[12/01/2026-00:00:00] [TRT-LLM] [I] Max tokens in the KV cache: 692224"},
      {"llamacpp", "llama_context: n_ctx = 692224"}};
  for (const auto& [engine, words] : cache) {
    const auto voice = voice_of(engine);
    EXPECT_NE(written(*voice, voice->loaded(facts())).find(words), std::string::npos) << written(*voice, voice->loaded(facts()));
  }
}

TEST(EngineVoice, SettingsAreWrittenAsPythonWritesThem) {
  EXPECT_EQ(voice_of("sglang")->settings(facts()).back().text, "server_args=ServerArgs(tp_size=4, dtype='auto', radix=True, seed=None)");
  EXPECT_NE(
      written(*voice_of("vllm"), voice_of("vllm")->settings(facts())).find("non-default args: {'tp_size': 4, 'dtype': 'auto', 'radix': True, 'seed': None}\n"),
      std::string::npos);
}

TEST(EngineVoice, FailuresAndNoticesNameWhatTheyAreAbout) {
  for (const char* engine : kEngines) {
    const auto voice = voice_of(engine);
    EXPECT_NE(voice->refuses("--gone 3").find("--gone 3"), std::string::npos) << engine;
    EXPECT_NE(voice->ambiguous("--cuda", {"--cuda-a", "--cuda-b"}).find("--cuda"), std::string::npos) << engine;
    const std::string notice = written(*voice, voice->deprecated("--old", "--new"));
    EXPECT_NE(notice.find("--old"), std::string::npos) << engine;
    EXPECT_NE(notice.find("--new"), std::string::npos) << engine;
    EXPECT_NE(notice.find("deprecated"), std::string::npos) << engine;
    EXPECT_EQ(written(*voice, voice->deprecated("--old", "")).find("instead"), std::string::npos) << engine;
    for (const char* stage : {"load", "graph-capture", ""})
      EXPECT_NE(written(*voice, voice->out_of_memory(stage)).find("CUDA out of memory"), std::string::npos) << engine << stage;
    EXPECT_NE(voice->access("POST", "/v1/completions", 503, "Service Unavailable").text.find("503"), std::string::npos) << engine;
  }
  EXPECT_EQ(voice_of("sglang")->ambiguous("--cuda", {"--cuda-a", "--cuda-b"}),
            "launch_server.py: error: ambiguous option: --cuda could match --cuda-a, --cuda-b");
  EXPECT_EQ(voice_of("vllm")->refuses("--gone"), "api_server.py: error: unrecognized arguments: --gone");
}

TEST(EngineVoice, StatisticsComeFromTheCounters) {
  engine_law::Iteration iteration;
  iteration.decode_batch = 7;
  iteration.prefill_tokens = 100;
  EngineCounters counters;
  counters.running = 7;
  counters.resident_tokens = 250;
  counters.kv_tokens = 1000;
  counters.prompt_tokens = 75;
  counters.cached_tokens = 25;
  counters.tokens_per_s = 81.25;
  EXPECT_EQ(voice_of("sglang")->decode(iteration, counters).front().text,
            "Decode batch, #running-req: 7, #token: 250, token usage: 0.25, cuda graph: True, gen throughput (token/s): 81.25, #queue-req: 0,");
  const std::string vllm = voice_of("vllm")->decode(iteration, counters).front().text;
  EXPECT_NE(vllm.find("81.2 tokens/s, Running: 7 reqs, Waiting: 0 reqs, GPU KV cache usage: 25.0%, Prefix cache hit rate: 25.0%"), std::string::npos) << vllm;
  EXPECT_TRUE(voice_of("vllm")->prefill(iteration, counters).empty());
  EXPECT_NE(voice_of("trtllm")->decode(iteration, counters).front().text.find("num_generation_requests = 7"), std::string::npos);
}

}  // namespace
}  // namespace pawl::twin
