#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "benchout/formats.h"
#include "benchout/tool_json.h"
#include "measure/request_metrics.h"

namespace pawl::benchout {
namespace {

using codec::Json;

Json valued(Json value, const char* unit) { return Json{{"value", std::move(value)}, {"unit", unit}}; }

Json statistics(const model::Distribution& d, const char* unit) {
  Json out = Json::object();
  out["unit"] = unit;
  const auto put = [&](const char* key, double value) {
    if (std::isfinite(value)) out[key] = value;
  };
  put("avg", d.mean);
  put("min", d.min);
  put("max", d.max);
  put("p1", d.p1);
  put("p5", d.p5);
  put("p10", d.p10);
  put("p25", d.p25);
  put("p50", d.p50);
  put("p75", d.p75);
  put("p90", d.p90);
  put("p95", d.p95);
  put("p99", d.p99);
  put("std", d.std);
  out["count"] = d.n;
  put("sum", d.sum);
  return out;
}

Json scalar(double value, const char* unit) {
  Json out = Json::object();
  out["unit"] = unit;
  if (std::isfinite(value)) out["avg"] = value;
  return out;
}

}  // namespace

std::string aiperf_line(const measure::RequestRecord& record, const Anchor& anchor, bool chat) {
  const auto wall = [&](const std::optional<MonoTime>& at) { return at ? Json((anchor.wall + (*at - anchor.origin)).since_epoch.count()) : Json(nullptr); };
  const bool cancelled = record.outcome == measure::Outcome::kCancelled || record.outcome == measure::Outcome::kCensored;
  Json metadata;
  metadata["session_num"] = record.session;
  metadata["x_request_id"] = record.id.empty() ? fmt::format("pawl-{}", record.index) : record.id;
  metadata["x_correlation_id"] = fmt::format("pawl-session-{}", record.session);
  metadata["conversation_id"] = fmt::format("session_{:06}", record.session);
  metadata["turn_index"] = record.turn;
  metadata["request_start_ns"] = wall(record.send ? record.send : std::optional(record.ready));
  metadata["request_ack_ns"] = wall(record.head);
  metadata["request_end_ns"] = wall(record.end);
  metadata["worker_id"] = fmt::format("worker_{}", record.worker);
  metadata["record_processor_id"] = "pawl";
  metadata["benchmark_phase"] = record.phase == measure::Phase::kMeasured ? "profiling" : "warmup";
  metadata["was_cancelled"] = cancelled;
  metadata["cancellation_time_ns"] = cancelled ? wall(record.end) : Json(nullptr);

  Json metrics = Json::object();
  const bool ok = record.outcome == measure::Outcome::kOk;
  if (ok) {
    measure::ProfileMetrics m;
    measure::compute_profile(measure::Profile::kAiperf, record, chat, m);
    if (m.ttft_ms) metrics["time_to_first_token"] = valued(*m.ttft_ms, "ms");
    if (m.e2el_ms) metrics["request_latency"] = valued(*m.e2el_ms, "ms");
    if (m.tpot_ms) metrics["inter_token_latency"] = valued(*m.tpot_ms, "ms");
    // The same, up to the end of the body.
    if (m.ttft_ms && record.end && m.output_tokens > 1) {
      const double all = millis_of(*record.end + Nanos(record.end_late_ns) - *record.send);
      metrics["full_response_inter_token_latency"] = valued((all - *m.ttft_ms) / static_cast<double>(m.output_tokens - 1), "ms");
    }
    if (!m.itl.empty()) {
      Json gaps = Json::array();
      for (const measure::Sample& gap : m.itl) gaps.push_back(gap.ms);
      metrics["inter_chunk_latency"] = valued(std::move(gaps), "ms");
    }
    if (const auto input = measure::input_tokens(record)) metrics["input_sequence_length"] = valued(input->count, "tokens");
    metrics["output_sequence_length"] = valued(m.output_tokens, "tokens");
    const auto reasoning = record.usage_reasoning ? record.usage_reasoning : record.retok_reasoning;
    metrics["output_token_count"] = valued(std::max<std::int64_t>(0, m.output_tokens - reasoning.value_or(0)), "tokens");
    if (reasoning) metrics["reasoning_token_count"] = valued(*reasoning, "tokens");
  }
  Json error = nullptr;
  if (!ok) {
    error = Json{{"code", record.status > 0 ? Json(record.status) : Json(nullptr)},
                 {"type", record.failure.empty() ? "cancelled" : record.failure},
                 {"message", record.detail.substr(0, 4096)}};
  }
  const Json line{{"metadata", std::move(metadata)}, {"metrics", std::move(metrics)}, {"error", std::move(error)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string aiperf_summary(const model::BenchResult& result, const RunInfo& info) {
  Json out = Json::object();
  out["schema_version"] = "1.0";
  if (const auto aiperf = compat_of(result, "aiperf")) {
    const model::BenchCompat& block = **aiperf;
    const auto put = [&](const char* key, const char* metric) {
      if (const auto found = block.metrics.find(metric); found != block.metrics.end() && found->second.n > 0) out[key] = statistics(found->second, "ms");
    };
    put("time_to_first_token", "ttft_ms");
    put("request_latency", "e2el_ms");
    put("inter_token_latency", "tpot_ms");
    put("inter_chunk_latency", "itl_ms");
    out["output_token_throughput"] = scalar(block.output_throughput, "tokens/sec");
    out["request_throughput"] = scalar(block.request_throughput, "requests/sec");
    out["benchmark_duration"] = scalar(block.duration_s, "sec");
    out["total_output_tokens"] = scalar(static_cast<double>(block.total_output_tokens), "tokens");
    out["total_input_tokens"] = scalar(static_cast<double>(block.total_input_tokens), "tokens");
  }
  const std::int64_t errors = result.counts.planned - result.counts.ok - result.counts.skipped;
  out["request_count"] = scalar(static_cast<double>(result.counts.ok), "requests");
  out["error_request_count"] = scalar(static_cast<double>(errors), "requests");
  out["completed_request_count"] = scalar(static_cast<double>(result.counts.ok + errors), "requests");
  if (info.predicted_hit_ratio) out["theoretical_prefix_cache_hit"] = Json{{"unit", "ratio"}, {"avg", *info.predicted_hit_ratio}};
  out["metadata"] = Json{{"dataset", info.dataset}, {"model", result.model_id}, {"endpoint", result.endpoint}, {"tool", "pawl"}};
  out["start_time_unix"] = std::isfinite(result.started_unix_s) ? Json(result.started_unix_s) : Json(nullptr);
  out["end_time_unix"] = std::isfinite(result.ended_unix_s) ? Json(result.ended_unix_s) : Json(nullptr);
  return codec::write_json_pretty(out);
}

}  // namespace pawl::benchout
