#include "twin/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace pawl::twin {

std::string metrics_text(const std::string& engine, const std::string& model, const EngineCounters& c) {
  std::string text = "# SIMULATION: pawl twin, no model is loaded\n";
  const auto add = [&](const char* name, const char* type, const auto& value) {
    text += fmt::format("# TYPE {0} {1}\n{0}{{model_name=\"{2}\"}} {3}\n", name, type, model, value);
  };
  const double usage = static_cast<double>(c.resident_tokens) / static_cast<double>(std::max<std::int64_t>(1, c.kv_tokens));
  const std::string share = fmt::format("{:.6f}", usage), rate = fmt::format("{:.3f}", c.tokens_per_s);
  if (engine == "vllm") {
    add("vllm:num_requests_running", "gauge", c.running);
    add("vllm:num_requests_waiting", "gauge", c.waiting);
    add("vllm:kv_cache_usage_perc", "gauge", share);
    add("vllm:num_preemptions_total", "counter", c.preemptions);
    add("vllm:prompt_tokens_total", "counter", c.prompt_tokens + c.cached_tokens);
    add("vllm:generation_tokens_total", "counter", c.output_tokens);
    add("vllm:prefix_cache_queries_total", "counter", c.prompt_tokens + c.cached_tokens);
    add("vllm:prefix_cache_hits_total", "counter", c.cached_tokens);
    add("vllm:request_success_total", "counter", c.requests);
  } else if (engine == "llamacpp") {
    add("llamacpp:prompt_tokens_total", "counter", c.prompt_tokens);
    add("llamacpp:tokens_predicted_total", "counter", c.output_tokens);
    add("llamacpp:predicted_tokens_seconds", "gauge", rate);
    add("llamacpp:requests_processing", "gauge", c.running);
    add("llamacpp:requests_deferred", "gauge", c.waiting);
  } else if (engine == "trtllm") {
    add("trtllm_num_requests_running", "gauge", c.running);
    add("trtllm_num_requests_waiting", "gauge", c.waiting);
    add("trtllm_kv_cache_utilization", "gauge", share);
    add("trtllm_request_success_total", "counter", c.requests);
  } else {
    add("sglang:num_running_reqs", "gauge", c.running);
    add("sglang:num_queue_reqs", "gauge", c.waiting);
    add("sglang:num_used_tokens", "gauge", c.resident_tokens);
    add("sglang:max_total_num_tokens", "gauge", c.kv_tokens);
    add("sglang:token_usage", "gauge", share);
    add("sglang:gen_throughput", "gauge", rate);
    add("sglang:cache_hit_rate", "gauge",
        fmt::format("{:.6f}", static_cast<double>(c.cached_tokens) / static_cast<double>(std::max<std::int64_t>(1, c.cached_tokens + c.prompt_tokens))));
    add("sglang:prompt_tokens_total", "counter", c.prompt_tokens + c.cached_tokens);
    add("sglang:cached_tokens_total", "counter", c.cached_tokens);
    add("sglang:generation_tokens_total", "counter", c.output_tokens);
    add("sglang:num_requests_total", "counter", c.requests);
    add("sglang:num_retracted_reqs", "gauge", c.preemptions);
  }
  return text;
}

}  // namespace pawl::twin
