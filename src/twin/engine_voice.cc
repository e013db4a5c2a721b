#include "twin/engine_voice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::twin {
namespace {

using codec::Json;

double usage(const EngineCounters& counters) {
  return static_cast<double>(counters.resident_tokens) / static_cast<double>(std::max<std::int64_t>(1, counters.kv_tokens));
}

/// As Python writes the value.
std::string python(const Json& value) {
  if (value.is_string()) return "'" + value.get<std::string>() + "'";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_null() ? "None" : value.dump();
}

std::string listed(const Json& settings, std::string_view pattern) {
  std::string text;
  for (auto it = settings.begin(); it != settings.end(); ++it) {
    text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(pattern), it.key(), python(*it));
  }
  return text;
}

/// 692,224
std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

/// "2026-11-30T16:03:27Z" as year, month, day and time of day.
struct Stamp {
  std::string year, month, day, time;
};
Stamp split(WallTime at) {
  const std::string iso = iso_utc(at);
  return {iso.substr(0, 4), iso.substr(5, 2), iso.substr(8, 2), iso.substr(11, 8)};
}

std::string one_of(const std::string& flag, const std::vector<std::string>& could_match) {
  return fmt::format("error: ambiguous option: {} could match {}", flag, join(could_match, ", "));
}

class SglangVoice final : public EngineVoice {
 public:
  [[nodiscard]] std::string stamped(WallTime at, const std::string& text) const override {
    const Stamp s = split(at);
    return fmt::format("[{}-{}-{} {}] {}", s.year, s.month, s.day, s.time, text);
  }
  [[nodiscard]] LogLines settings(const StartFacts& facts) const override { return {{"server_args=ServerArgs(" + listed(facts.settings, "{}={}") + ")"}}; }
  [[nodiscard]] LogLines deprecated(const std::string& flag, const std::string& instead) const override {
    return {{fmt::format("WARNING: '{}' is deprecated{}. (simulated)", flag, instead.empty() ? "" : fmt::format(", use '{}' instead", instead))}};
  }
  [[nodiscard]] LogLines loading(const StartFacts& /*facts*/) const override { return {{"Load weight begin. (simulated)"}}; }
  [[nodiscard]] LogLines loaded(const StartFacts& facts) const override {
    return {{fmt::format("Load weight end. type={}, elapsed={:.2f} s. (simulated)", facts.model, facts.weights_s)},
            {fmt::format("KV Cache is allocated. #tokens: {} (simulated)", facts.kv_tokens)}};
  }
  [[nodiscard]] LogLines capturing() const override { return {{"Capture cuda graph begin. (simulated)"}}; }
  [[nodiscard]] LogLines captured(const StartFacts& facts) const override {
    return {{fmt::format("Capture cuda graph end. Time elapsed: {:.2f} s. (simulated)", facts.graphs_s)}};
  }
  [[nodiscard]] LogLines ready(const StartFacts& facts) const override {
    return {{fmt::format("max_total_num_tokens={}, chunked_prefill_size={}, max_running_requests={}, context_len={}", facts.kv_tokens, facts.chunk_tokens,
                         facts.max_running, facts.context_length)},
            {fmt::format("INFO:     Uvicorn running on http://{}:{} (Press CTRL+C to quit)", facts.host, facts.port), false},
            {"The server is fired up and ready to roll!"}};
  }
  [[nodiscard]] LogLines out_of_memory(std::string_view stage) const override {
    const std::string at = stage == "graph-capture" ? "Capture cuda graph failed: " : "";
    return {{"Scheduler hit an exception: Traceback (most recent call last): (simulated)"},
            {"  File \"engine.py\", line 1, in load (simulated)", false},
            {at + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB (simulated)", false},
            {"Received sigquit from a child process. It usually means the child failed. (simulated)"}};
  }
  [[nodiscard]] std::string refuses(const std::string& arguments) const override { return "launch_server.py: error: unrecognized arguments: " + arguments; }
  [[nodiscard]] std::string ambiguous(const std::string& flag, const std::vector<std::string>& could_match) const override {
    return "launch_server.py: " + one_of(flag, could_match);
  }
  [[nodiscard]] LogLine access(const std::string& method, const std::string& path, int status, std::string_view reason) const override {
    return {fmt::format("INFO:     127.0.0.1:0 - \"{} {} HTTP/1.1\" {} {}", method, path, status, reason), false};
  }
  [[nodiscard]] LogLines prefill(const engine_law::Iteration& it, const EngineCounters& counters) const override {
    return {{fmt::format("Prefill batch, #new-seq: {}, #new-token: {}, #cached-token: {}, token usage: {:.2f}, #running-req: {}, #queue-req: {},",
                         it.new_sequences, it.prefill_tokens, it.cached_tokens, usage(counters), counters.running, counters.waiting)}};
  }
  [[nodiscard]] LogLines decode(const engine_law::Iteration& it, const EngineCounters& counters) const override {
    return {{fmt::format("Decode batch, #running-req: {}, #token: {}, token usage: {:.2f}, cuda graph: True, gen throughput (token/s): {:.2f}, #queue-req: {},",
                         it.decode_batch, counters.resident_tokens, usage(counters), counters.tokens_per_s, counters.waiting)}};
  }
};

class VllmVoice final : public EngineVoice {
 public:
  [[nodiscard]] std::string stamped(WallTime at, const std::string& text) const override {
    const Stamp s = split(at);
    // Level, source and process come with the text: they differ from line to line.
    const std::size_t mark = text.find('|');
    const std::string level = text.substr(0, mark), rest = text.substr(mark + 1);
    return fmt::format("({} pid=1) {} {}-{} {} {}",
                       rest.starts_with("[core") || rest.starts_with("[kv_") || rest.starts_with("[model_") ? "EngineCore" : "APIServer", level, s.month, s.day,
                       s.time, rest);
  }
  [[nodiscard]] LogLines settings(const StartFacts& facts) const override {
    return {{fmt::format("INFO|[api_utils.py:1] version {} (simulated)", facts.version)},
            {"INFO|[api_utils.py:1] non-default args: {" + listed(facts.settings, "'{}': {}") + "}"},
            {fmt::format("INFO|[scheduler.py:1] Chunked prefill is enabled with max_num_batched_tokens={}.", facts.chunk_tokens)}};
  }
  [[nodiscard]] LogLines deprecated(const std::string& flag, const std::string& instead) const override {
    return {{fmt::format("WARNING|[api_utils.py:1] {} is deprecated and will be removed{}. (simulated)", flag,
                         instead.empty() ? "" : fmt::format("; use {} instead", instead))}};
  }
  [[nodiscard]] LogLines loading(const StartFacts& facts) const override {
    return {{fmt::format("INFO|[core.py:1] Initializing a V1 LLM engine (v{}) with config: model='{}' (simulated)", facts.version, facts.model)},
            {"INFO|[model_runner.py:1] Loading model from scratch... (simulated)"}};
  }
  [[nodiscard]] LogLines loaded(const StartFacts& facts) const override {
    return {{fmt::format("INFO|[model_runner.py:1] Model loading took 0.00 GiB and {:.6f} seconds (simulated)", facts.weights_s)},
            {fmt::format("INFO|[kv_cache_utils.py:1] GPU KV cache size: {} tokens", grouped(facts.kv_tokens))},
            {fmt::format("INFO|[kv_cache_utils.py:2] Maximum concurrency for {} tokens per request: {:.2f}x", grouped(facts.context_length),
                         static_cast<double>(facts.kv_tokens) / static_cast<double>(std::max<std::int64_t>(1, facts.context_length)))}};
  }
  [[nodiscard]] LogLines capturing() const override { return {{"INFO|[model_runner.py:1] Capturing CUDA graphs (simulated)"}}; }
  [[nodiscard]] LogLines captured(const StartFacts& facts) const override {
    return {{fmt::format("INFO|[model_runner.py:1] Graph capturing finished in {:.0f} secs, took 0.00 GiB (simulated)", facts.graphs_s)}};
  }
  [[nodiscard]] LogLines ready(const StartFacts& facts) const override {
    return {{fmt::format("INFO|[api_server.py:1] Starting vLLM server on http://{}:{}", facts.host, facts.port)},
            {"(APIServer pid=1) INFO:     Started server process [1]", false},
            {"(APIServer pid=1) INFO:     Application startup complete.", false}};
  }
  [[nodiscard]] LogLines out_of_memory(std::string_view stage) const override {
    if (stage == "load") {
      return {{"ERROR|[core.py:1] Traceback (most recent call last): (simulated)"},
              {"ERROR|[core.py:1] ValueError: Free memory on device cuda:0 (1.00/139.80 GiB) on startup is less than desired GPU memory utilization (0.9, "
               "125.82 GiB). "
               "CUDA out of memory. (simulated)"},
              {"(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. (simulated)", false}};
    }
    return {{"ERROR|[core.py:1] Traceback (most recent call last): (simulated)"},
            {"ERROR|[core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 139.80 GiB (simulated)"},
            {"(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. (simulated)", false}};
  }
  [[nodiscard]] std::string refuses(const std::string& arguments) const override { return "api_server.py: error: unrecognized arguments: " + arguments; }
  [[nodiscard]] std::string ambiguous(const std::string& flag, const std::vector<std::string>& could_match) const override {
    return "api_server.py: " + one_of(flag, could_match);
  }
  [[nodiscard]] LogLine access(const std::string& method, const std::string& path, int status, std::string_view reason) const override {
    return {fmt::format("(APIServer pid=1) INFO:     127.0.0.1:0 - \"{} {} HTTP/1.1\" {} {}", method, path, status, reason), false};
  }
  [[nodiscard]] LogLines prefill(const engine_law::Iteration& /*it*/, const EngineCounters& /*counters*/) const override { return {}; }
  [[nodiscard]] LogLines decode(const engine_law::Iteration& /*it*/, const EngineCounters& c) const override {
    const std::int64_t seen = c.prompt_tokens + c.cached_tokens;
    return {{fmt::format(
        "INFO|[loggers.py:1] Engine 000: Avg generation throughput: {:.1f} tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {:.1f}%, "
        "Prefix cache hit rate: {:.1f}%",
        c.tokens_per_s, c.running, c.waiting, 100 * usage(c), seen > 0 ? 100 * static_cast<double>(c.cached_tokens) / static_cast<double>(seen) : 0.0)}};
  }
};

class TrtllmVoice final : public EngineVoice {
 public:
  [[nodiscard]] std::string stamped(WallTime at, const std::string& text) const override {
    const Stamp s = split(at);
    const std::size_t mark = text.find('|');
    return fmt::format("[{}/{}/{}-{}] [TRT-LLM] [{}] {}", s.month, s.day, s.year, s.time, text.substr(0, mark), text.substr(mark + 1));
  }
  [[nodiscard]] LogLines settings(const StartFacts& facts) const override {
    return {{fmt::format("I|Starting TensorRT LLM {} (simulated)", facts.version)}, {"I|LLM Args: " + listed(facts.settings, "{}={}") + " (simulated)"}};
  }
  [[nodiscard]] LogLines deprecated(const std::string& flag, const std::string& instead) const override {
    return {{fmt::format("W|{} is deprecated{} (simulated)", flag, instead.empty() ? "" : fmt::format(", use {} instead", instead))}};
  }
  [[nodiscard]] LogLines loading(const StartFacts& facts) const override { return {{fmt::format("I|Loading weights of {} (simulated)", facts.model)}}; }
  [[nodiscard]] LogLines loaded(const StartFacts& facts) const override {
    return {{fmt::format("I|Weights loaded in {:.2f} s (simulated)", facts.weights_s)},
            {fmt::format("I|Max tokens in the KV cache: {} (simulated)", facts.kv_tokens)}};
  }
  [[nodiscard]] LogLines capturing() const override { return {{"I|Creating CUDA graph instances (simulated)"}}; }
  [[nodiscard]] LogLines captured(const StartFacts& facts) const override {
    return {{fmt::format("I|CUDA graphs created in {:.2f} s (simulated)", facts.graphs_s)}};
  }
  [[nodiscard]] LogLines ready(const StartFacts& facts) const override {
    return {{fmt::format("I|max_num_tokens={}, max_batch_size={}, max_seq_len={} (simulated)", facts.chunk_tokens, facts.max_running, facts.context_length)},
            {"INFO:     Application startup complete.", false},
            {fmt::format("INFO:     Uvicorn running on http://{}:{} (Press CTRL+C to quit)", facts.host, facts.port), false}};
  }
  [[nodiscard]] LogLines out_of_memory(std::string_view stage) const override {
    return {{fmt::format("E|Failed to initialize executor{}: CUDA out of memory. Tried to allocate 2.00 GiB (simulated)",
                         stage == "graph-capture" ? " at CUDA graph capture" : "")},
            {"Traceback (most recent call last): (simulated)", false},
            {"torch.OutOfMemoryError: CUDA out of memory. (simulated)", false}};
  }
  [[nodiscard]] std::string refuses(const std::string& arguments) const override { return "Error: No such option: " + arguments; }
  [[nodiscard]] std::string ambiguous(const std::string& flag, const std::vector<std::string>& could_match) const override {
    return fmt::format("Error: No such option: {} (Possible options: {})", flag, join(could_match, ", "));
  }
  [[nodiscard]] LogLine access(const std::string& method, const std::string& path, int status, std::string_view reason) const override {
    return {fmt::format("INFO:     127.0.0.1:0 - \"{} {} HTTP/1.1\" {} {}", method, path, status, reason), false};
  }
  [[nodiscard]] LogLines prefill(const engine_law::Iteration& /*it*/, const EngineCounters& /*counters*/) const override { return {}; }
  [[nodiscard]] LogLines decode(const engine_law::Iteration& it, const EngineCounters& c) const override {
    return {
        {fmt::format("I|num_generation_requests = {}, num_scheduled_requests: {}, kv cache use = {:.2f} (simulated)", it.decode_batch, c.running, usage(c))}};
  }
};

class LlamacppVoice final : public EngineVoice {
 public:
  [[nodiscard]] std::string stamped(WallTime /*at*/, const std::string& text) const override { return text; }
  [[nodiscard]] LogLines settings(const StartFacts& facts) const override {
    return {{fmt::format("build: {} (simulated)", facts.version)}, {"system_info: " + listed(facts.settings, "{} = {}") + " (simulated)"}};
  }
  [[nodiscard]] LogLines deprecated(const std::string& flag, const std::string& instead) const override {
    return {{fmt::format("warn: {} is deprecated{} (simulated)", flag, instead.empty() ? "" : fmt::format(", use {} instead", instead))}};
  }
  [[nodiscard]] LogLines loading(const StartFacts& facts) const override {
    return {{fmt::format("srv    load_model: loading model '{}' (simulated)", facts.model)}};
  }
  [[nodiscard]] LogLines loaded(const StartFacts& facts) const override {
    return {{fmt::format("llama_context: n_ctx = {} (simulated)", facts.kv_tokens)},
            {fmt::format("srv    load_model: initializing slots, n_slots = {}", facts.max_running)}};
  }
  [[nodiscard]] LogLines capturing() const override { return {{"common_init_from_params: warming up the model with an empty run (simulated)"}}; }
  [[nodiscard]] LogLines captured(const StartFacts& /*facts*/) const override { return {}; }
  [[nodiscard]] LogLines ready(const StartFacts& facts) const override {
    return {{"main: model loaded"},
            {fmt::format("main: server is listening on http://{}:{} - starting the main loop", facts.host, facts.port)},
            {"srv  update_slots: all slots are idle"}};
  }
  [[nodiscard]] LogLines out_of_memory(std::string_view /*stage*/) const override {
    return {{"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: CUDA out of memory (simulated)"},
            {"llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache (simulated)"}};
  }
  [[nodiscard]] std::string refuses(const std::string& arguments) const override { return "error: invalid argument: " + arguments; }
  [[nodiscard]] std::string ambiguous(const std::string& flag, const std::vector<std::string>& /*could_match*/) const override { return refuses(flag); }
  [[nodiscard]] LogLine access(const std::string& method, const std::string& path, int status, std::string_view /*reason*/) const override {
    return {fmt::format("srv  log_server_r: request: {} {} 127.0.0.1 {}", method, path, status)};
  }
  [[nodiscard]] LogLines prefill(const engine_law::Iteration& it, const EngineCounters& /*counters*/) const override {
    return {{fmt::format("slot update_slots: prompt processing, n_tokens = {}, n_cached = {} (simulated)", it.prefill_tokens, it.cached_tokens)}};
  }
  [[nodiscard]] LogLines decode(const engine_law::Iteration& /*it*/, const EngineCounters& /*counters*/) const override { return {}; }
};

}  // namespace

std::unique_ptr<EngineVoice> voice_of(std::string_view engine) {
  if (engine == "vllm") return std::make_unique<VllmVoice>();
  if (engine == "trtllm") return std::make_unique<TrtllmVoice>();
  if (engine == "llamacpp") return std::make_unique<LlamacppVoice>();
  return std::make_unique<SglangVoice>();
}

}  // namespace pawl::twin
