#include <cmath>

#include "benchout/formats.h"
#include "benchout/tool_json.h"

namespace pawl::benchout {

using codec::Json;

Result<std::string> vllm_json(const model::BenchResult& result, const RunInfo& info, const Records& records) {
  PAWL_ASSIGN(const model::BenchCompat* compat, compat_of(result, "vllm"));
  const model::BenchDetails& details = *result.details;
  Json out;
  out["date"] = compact_date(info.date);
  out["endpoint_type"] = info.chat ? "openai-chat" : "openai";
  out["backend"] = result.backend;
  out["label"] = info.label.empty() ? Json(nullptr) : Json(info.label);
  out["model_id"] = result.model_id;
  out["tokenizer_id"] = info.tokenizer_id.empty() ? result.model_id : info.tokenizer_id;
  out["num_prompts"] = result.counts.planned;
  for (const auto& [key, value] : info.metadata) out[key] = value;
  out["request_rate"] = info.request_rate ? Json(*info.request_rate) : Json("inf");
  out["burstiness"] = info.burstiness;
  out["max_concurrency"] = result.max_concurrency > 0 ? Json(result.max_concurrency) : Json(nullptr);
  out["duration"] = or_zero(compat->duration_s);
  out["completed"] = compat->completed;
  out["failed"] = compat->failed;
  out["total_input_tokens"] = compat->total_input_tokens;
  out["total_output_tokens"] = compat->total_output_tokens;
  out["request_throughput"] = or_zero(compat->request_throughput);
  out["request_goodput"] = details.goodput ? Json(details.goodput->good_per_s) : Json(nullptr);
  out["output_throughput"] = or_zero(compat->output_throughput);
  out["total_token_throughput"] = or_zero(compat->total_token_throughput);
  out["max_output_tokens_per_s"] = or_zero(std::isfinite(details.peak_tokens_per_s) ? details.peak_tokens_per_s : details.peak_events_per_s);
  out["max_concurrent_requests"] = details.peak_in_flight;
  out["rtfx"] = 0.0;  // of speech models only
  if (info.detailed) PAWL_TRY(put_arrays(out, "vllm", {.detailed = true, .vllm = true}, info.chat, records));
  for (const std::string& metric : info.metrics) {
    const auto found = compat->metrics.find(metric + "_ms");
    if (found == compat->metrics.end()) return bad_input("no metric \"" + metric + "\" in the format of vLLM", "ttft, tpot, itl, e2el");
    put_statistics(out, metric + "_ms", found->second, info.percentiles, false);
  }
  return codec::write_json(out, codec::JsonForm::kPySpaced) + "\n";
}

}  // namespace pawl::benchout
