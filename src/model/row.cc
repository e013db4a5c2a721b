#include "model/row.h"

#include <fmt/format.h>

#include <cmath>

#include "codec/describe.h"
#include "model/image.h"
#include "model/point.h"

namespace pawl::model {
namespace {

using codec::Json;

/// What really ran, else what the recipe pins; empty when neither says.
std::string digest_of(const JobSpec& spec, const JobResult& result) {
  if (result.image_digest) return *result.image_digest;
  const auto image = parse_image(spec.row.value("image", std::string()));
  return image ? image->digest : std::string();
}

RowOrigin origin_of(const JobSpec& spec, const JobResult& result) {
  RowOrigin origin;
  origin.run = result.run;
  origin.attempt = result.attempt;
  origin.job = result.job;
  origin.node = result.node;
  origin.digest = digest_of(spec, result);
  origin.fingerprint = spec.fingerprint;
  if (!result.engine_version.empty()) origin.engine_version = result.engine_version;
  origin.engine_args = result.engine_args;
  origin.engine_config = result.engine_config;
  origin.scale = spec.scale.text();
  origin.simulated = spec.engine.kind == "twin";
  origin.point_key = point_key(spec.row);
  origin.measured_at = result.ended;
  return origin;
}

/// Identity keys shared by result rows and eval rows, in the contract's order.
Json identity(const JobSpec& spec, const Point& p) {
  Json row;
  row["hw"] = p.runner;
  row["conc"] = p.conc;
  row["image"] = p.image;
  row["infmax_model_prefix"] = p.model_prefix;
  row["framework"] = p.framework;
  row["precision"] = p.precision;
  row["spec_decoding"] = p.spec_decoding;
  row["recipe_fingerprint"] = recipe_fingerprint(spec.row);
  row["model"] = p.model;
  row["disagg"] = p.disagg;
  row["is_multinode"] = p.prefill.has_value();
  if (p.isl) row["isl"] = *p.isl;
  if (p.osl) row["osl"] = *p.osl;
  for (const char* key : {"router", "kv-p2p-transfer"}) {
    if (!spec.row.contains(key)) continue;
    std::string name = key;
    for (char& c : name) c = c == '-' ? '_' : c;
    row[name] = spec.row[key];
  }
  if (!p.prefill) {
    row["tp"] = p.tp;
    row["pp"] = p.pp;
    row["dcp_size"] = p.dcp_size;
    row["pcp_size"] = p.pcp_size;
    row["ep"] = p.ep;
    row["dp_attention"] = p.dp_attn ? "true" : "false";
    return row;
  }
  const auto role = [&](const std::string& name, const Worker& w) {
    row[name + "_tp"] = w.tp;
    row[name + "_pp"] = w.pp;
    row[name + "_dcp_size"] = w.dcp_size;
    row[name + "_pcp_size"] = w.pcp_size;
    row[name + "_ep"] = w.ep;
    row[name + "_num_workers"] = w.num_worker;
    row[name + "_dp_attention"] = w.dp_attn ? "true" : "false";
    row["num_" + name + "_gpu"] = w.num_worker * w.tp * w.pp * w.pcp_size;
    if (!w.hardware.empty()) row[name + "_hw"] = w.hardware;
  };
  role("prefill", *p.prefill);
  if (p.decode) role("decode", *p.decode);
  return row;
}

void put(Json& row, const std::string& key, double value) {
  if (std::isfinite(value)) row[key] = value;
}

}  // namespace

Result<Json> result_row(const JobSpec& spec, const JobResult& result) {
  if (!result.bench) return internal_error(fmt::format("job {} has no benchmark result to make a row of", result.job));
  PAWL_ASSIGN(const Point p, point_of_row(spec.row));
  const BenchResult& bench = *result.bench;
  Json row = identity(spec, p);

  const double total = bench.total_token_throughput, output = bench.output_throughput;
  const auto gpus = static_cast<double>(p.gpus());
  double output_gpus = gpus, input_gpus = gpus;
  if (p.prefill && p.decode && p.decode->num_worker > 0) {
    output_gpus = static_cast<double>(p.decode->num_worker * p.decode->tp * p.decode->pp * p.decode->pcp_size);
    input_gpus = gpus - output_gpus;
  }
  if (gpus > 0) {
    put(row, "tput_per_gpu", total / gpus);
    put(row, "output_tput_per_gpu", output / output_gpus);
    put(row, "input_tput_per_gpu", (total - output) / input_gpus);
  }
  for (const char* family : {"ttft", "tpot", "itl", "e2el"}) {
    const auto found = bench.metrics.find(std::string(family) + "_ms");
    if (found == bench.metrics.end()) continue;
    const Distribution& d = found->second;
    const std::pair<const char*, double> statistics[] = {{"mean", d.mean}, {"median", d.p50}, {"std", d.std},
                                                         {"p90", d.p90},   {"p99", d.p99},    {"p99.9", d.p99_9}};
    for (const auto& [name, value] : statistics) put(row, fmt::format("{}_{}", name, family), value / 1000);
    if (std::string_view(family) == "tpot") {
      // A reciprocal of 0 or of an unknown is no interactivity; the key stays away then.
      for (const auto& [name, value] : statistics) put(row, fmt::format("{}_intvty", name), value > 0 ? 1000 / value : kUnknown);
    }
  }
  if (bench.power) {
    // Names and decimals of sweep-run-results 6.4; why power does not count never stands in a row.
    const BenchPower& power = *bench.power;
    row["power_metric_schema_version"] = 2;
    row["power_valid"] = power.valid ? 1 : 0;
    const auto rounded = [](double value, double scale) { return std::round(value * scale) / scale; };
    if (power.valid) {
      put(row, "total_gpu_energy_j", rounded(power.total_gpu_energy_j, 1e3));
      put(row, "avg_total_gpu_power_w", rounded(power.avg_total_gpu_power_w, 1e3));
      put(row, "avg_power_w", rounded(power.avg_power_w, 1e3));
      put(row, "joules_per_successful_query", rounded(power.joules_per_successful_query, 1e6));
      put(row, "joules_per_input_token", rounded(power.joules_per_input_token, 1e6));
      put(row, "joules_per_output_token", rounded(power.joules_per_output_token, 1e6));
      put(row, "joules_per_total_token", rounded(power.joules_per_total_token, 1e6));
    }
  }
  RowOrigin origin = origin_of(spec, result);
  origin.clock = bench.clock;
  origin.verdict = bench.verdict;
  origin.reasons = bench.reasons;
  origin.counts = bench.counts;
  origin.total_input_tokens = bench.total_input_tokens;
  origin.total_output_tokens = bench.total_output_tokens;
  origin.duration_s = bench.duration_s;
  origin.seed = bench.seed;
  row["pawl"] = codec::to_json(origin);
  return row;
}

Result<Json> eval_row(const JobSpec& spec, const JobResult& result) {
  if (!result.eval) return internal_error(fmt::format("job {} has no eval result to make a row of", result.job));
  PAWL_ASSIGN(const Point p, point_of_row(spec.row));
  const EvalResult& eval = *result.eval;
  Json row = identity(spec, p);
  row["task"] = eval.task;
  put(row, "em_strict", eval.em_strict);
  put(row, "em_strict_se", eval.em_strict_se);
  put(row, "em_flexible", eval.em_flexible);
  put(row, "em_flexible_se", eval.em_flexible_se);
  row["n_eff"] = eval.n_eff;
  Json pawl = codec::to_json(origin_of(spec, result));
  pawl["definition"] = eval.definition;
  pawl["n_requested"] = eval.n_requested;
  pawl["infrastructure_success"] = eval.infrastructure_success;
  put(pawl, "threshold", eval.threshold);
  pawl["passed"] = eval.passed;
  if (eval.definition_name) pawl["definition_name"] = *eval.definition_name;
  put(pawl, "accuracy", eval.accuracy);
  put(pawl, "accuracy_se", eval.accuracy_se);
  // A row of another deployment than it says does not count (failure-playbook 7.13).
  if (eval.contradictions && !eval.contradictions->empty()) pawl["contradictions"] = codec::to_json(*eval.contradictions);
  row["pawl"] = std::move(pawl);
  return row;
}

std::string row_point_key(const Json& row) {
  const auto pawl = row.find("pawl");
  if (pawl == row.end() || !pawl->is_object()) return {};
  return pawl->value("point_key", std::string());
}

std::string row_label(const Json& row) {
  std::string text;
  if (row.value("is_multinode", false)) {
    text = fmt::format("PTP{}x{}/DTP{}x{}", row.value("prefill_tp", 0), row.value("prefill_num_workers", 0), row.value("decode_tp", 0),
                       row.value("decode_num_workers", 0));
  } else {
    text = fmt::format("TP{}/EP{}", row.value("tp", 0), row.value("ep", 0));
    if (row.value("dp_attention", std::string()) == "true") text += "/DPA";
  }
  return fmt::format("{} conc {}", text, row.value("conc", 0));
}

}  // namespace pawl::model
