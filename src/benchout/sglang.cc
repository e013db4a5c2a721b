#include <cmath>

#include "benchout/formats.h"
#include "benchout/tool_json.h"

namespace pawl::benchout {

using codec::Json;

Result<std::string> sglang_line(const model::BenchResult& result, const RunInfo& info, const Records& records) {
  const std::string profile = result.backend == "sglang" ? "sglang-generate" : "sglang";
  PAWL_ASSIGN(const model::BenchCompat* compat, compat_of(result, profile));
  const model::BenchDetails& details = *result.details;
  const double duration = compat->duration_s;
  Json out;
  out["tag"] = info.tag.empty() ? Json(nullptr) : Json(info.tag);
  out["backend"] = result.backend;
  out["dataset_name"] = info.dataset;
  // The original writes the bare word Infinity, which is no JSON.
  out["request_rate"] = info.trace_rate ? Json("trace") : info.request_rate ? Json(*info.request_rate) : Json("inf");
  out["max_concurrency"] = result.max_concurrency > 0 ? Json(result.max_concurrency) : Json(nullptr);
  out["sharegpt_output_len"] = nullptr;
  out["random_input_len"] = result.isl;
  out["random_output_len"] = result.osl;
  out["random_range_ratio"] = result.range_ratio;
  out["server_info"] = nullptr;
  out["duration"] = or_zero(duration);
  out["completed"] = compat->completed;
  out["total_input_tokens"] = compat->total_input_tokens;
  out["total_input_text_tokens"] = compat->total_input_tokens;
  out["total_input_vision_tokens"] = 0;
  out["total_output_tokens"] = compat->total_output_tokens;
  out["total_output_tokens_retokenized"] = nullptr;
  out["request_throughput"] = or_zero(compat->request_throughput);
  out["input_throughput"] = duration > 0 ? Json(static_cast<double>(compat->total_input_tokens) / duration) : Json(0.0);
  out["output_throughput"] = or_zero(compat->output_throughput);
  out["total_throughput"] = or_zero(compat->total_token_throughput);
  const std::vector<double> percentiles{90, 95, 99};
  const auto metric = [&](const char* key) {
    const auto found = compat->metrics.find(key);
    return found == compat->metrics.end() ? model::Distribution{} : found->second;
  };
  put_statistics(out, "e2e_latency_ms", metric("e2el_ms"), percentiles, false);
  put_statistics(out, "ttft_ms", metric("ttft_ms"), percentiles, false);
  put_statistics(out, "tpot_ms", metric("tpot_ms"), percentiles, false);
  put_statistics(out, "itl_ms", metric("itl_ms"), percentiles, false);
  out["max_itl_ms"] = or_zero(metric("itl_ms").max);
  out["concurrency"] = duration > 0 ? or_zero(metric("e2el_ms").sum / 1000 / duration) : Json(0.0);
  out["accept_length"] = nullptr;
  out["max_output_tokens_per_s"] = or_zero(std::isfinite(details.peak_tokens_per_s) ? details.peak_tokens_per_s : details.peak_events_per_s);
  out["max_concurrent_requests"] = details.peak_in_flight;
  if (info.detailed) PAWL_TRY(put_arrays(out, profile, {.detailed = true, .vllm = false}, info.chat, records));
  return codec::write_json(out, codec::JsonForm::kPySpaced) + "\n";
}

}  // namespace pawl::benchout
