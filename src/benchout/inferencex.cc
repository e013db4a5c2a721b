#include <cmath>

#include "benchout/formats.h"
#include "benchout/tool_json.h"

namespace pawl::benchout {

using codec::Json;

Result<std::string> inferencex_json(const model::BenchResult& result, const RunInfo& info, const Records& records) {
  PAWL_ASSIGN(const model::BenchCompat* compat, compat_of(result, "inferencex"));
  const model::BenchDetails& details = *result.details;
  Json out;
  out["date"] = compact_date(info.date);
  out["backend"] = result.backend;
  out["model_id"] = result.model_id;
  out["tokenizer_id"] = info.tokenizer_id.empty() ? result.model_id : info.tokenizer_id;
  out["best_of"] = 1;
  out["num_prompts"] = result.counts.planned;
  for (const auto& [key, value] : info.metadata) {
    // Its processing does arithmetic on every key of these shapes.
    if (!key.ends_with("ms") && key.find("tpot") == std::string::npos) out[key] = value;
  }
  out["request_rate"] = info.request_rate ? Json(*info.request_rate) : Json("inf");
  out["burstiness"] = info.burstiness;
  out["max_concurrency"] = result.max_concurrency;
  out["duration"] = or_zero(compat->duration_s);
  out["benchmark_start_time_unix"] = result.started_unix_s;
  // The window and the duration must agree, and the duration is on the monotonic clock: a calendar that is being corrected
  // must not pull them apart.
  out["benchmark_end_time_unix"] = std::isfinite(compat->duration_s) ? result.started_unix_s + compat->duration_s : result.ended_unix_s;
  out["completed"] = compat->completed;
  out["total_input_tokens"] = compat->total_input_tokens;
  out["total_output_tokens"] = compat->total_output_tokens;
  out["request_throughput"] = or_zero(compat->request_throughput);
  out["request_goodput:"] = details.goodput ? Json(details.goodput->good_per_s) : Json(nullptr);  // the colon is theirs
  out["output_throughput"] = or_zero(compat->output_throughput);
  out["total_token_throughput"] = or_zero(compat->total_token_throughput);
  PAWL_TRY(put_arrays(out, "inferencex", {.detailed = info.detailed, .vllm = false}, info.chat, records));
  for (const char* metric : {"ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"}) {
    const auto found = compat->metrics.find(metric);
    if (found != compat->metrics.end()) put_statistics(out, metric, found->second, {90, 99, 99.9}, true);
  }
  return codec::write_json(out, codec::JsonForm::kPySpaced) + "\n";
}

}  // namespace pawl::benchout
