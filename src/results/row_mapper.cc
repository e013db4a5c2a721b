#include "results/row_mapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace pawl::results {
namespace {

using codec::Json;

/// A number, or a text that reads as one. `finite` is false for what is a number by its look and not by its value.
struct Number {
  double value = 0;
  bool whole = false;
  std::int64_t integer = 0;
};

bool is_no_number_word(std::string_view text) {
  const std::string word = lower_case(std::string(text));
  return word == "nan" || word == "infinity" || word == "-infinity" || word == "inf" || word == "-inf" || word == "-nan" || word == "+inf" ||
         word == "+infinity";
}

std::optional<Number> number_of(const Json& value) {
  if (value.is_number_integer()) return Number{value.get<double>(), true, value.get<std::int64_t>()};
  if (value.is_number_float()) {
    const auto d = value.get<double>();
    const bool whole = std::floor(d) == d && std::abs(d) < 9e15;
    return Number{d, whole, whole ? static_cast<std::int64_t>(d) : 0};
  }
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = trim(value.get_ref<const std::string&>());
  double d = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), d);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(d)) return std::nullopt;
  const bool whole = std::floor(d) == d && std::abs(d) < 9e15;
  return Number{d, whole, whole ? static_cast<std::int64_t>(d) : 0};
}

std::optional<std::int64_t> whole_of(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  const auto number = number_of(*found);
  if (!number || !number->whole) return std::nullopt;
  return number->integer;
}

std::optional<bool> flag_of(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  if (!found->is_string()) return std::nullopt;
  const std::string word = lower_case(found->get<std::string>());
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

/// `[_-](\d+)k(\d+)k[_\-.]` of a name, times 1024.
std::optional<std::pair<std::int64_t, std::int64_t>> lengths_in_name(std::string_view name) {
  const auto separator = [](char c) { return c == '_' || c == '-'; };
  const auto digits = [&](std::size_t& at) -> std::optional<std::int64_t> {
    const std::size_t begin = at;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9') ++at;
    return at == begin || at - begin > 5 ? std::nullopt : parse_int(name.substr(begin, at - begin));
  };
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (!separator(name[i])) continue;
    std::size_t at = i + 1;
    const auto isl = digits(at);
    if (!isl || at >= name.size() || name[at] != 'k') continue;
    const auto osl = digits(++at);
    if (!osl || at + 1 >= name.size() || name[at] != 'k' || !(separator(name[at + 1]) || name[at + 1] == '.')) continue;
    return std::pair(*isl * 1024, *osl * 1024);
  }
  return std::nullopt;
}

/// Nested AgentX rows (v3) as flat ones: what 2.5.1 names.
Json flatten(const Json& row) {
  if (!row.contains("request_metrics") && !row.contains("server_metrics")) return row;
  Json flat = Json::object();
  for (const auto& [key, value] : row.items()) {
    if (key != "request_metrics" && key != "server_metrics" && key != "stability") flat[key] = value;
  }
  const auto member = [](const Json& object, std::initializer_list<const char*> path) -> const Json* {
    const Json* at = &object;
    for (const char* key : path) {
      if (!at->is_object() || !at->contains(key)) return nullptr;
      at = &(*at)[key];
    }
    return at;
  };
  const auto put = [&](const std::string& key, const Json* value) {
    if (value != nullptr && !value->is_null() && !value->is_object()) flat[key] = *value;
  };
  const auto put_stats = [&](const Json* block, const std::string& name) {
    if (block == nullptr || !block->is_object()) return;
    for (const auto& [stat, as] : {std::pair("mean", "mean"),
                                   {"p50", "median"},
                                   {"median", "median"},
                                   {"p75", "p75"},
                                   {"p90", "p90"},
                                   {"p95", "p95"},
                                   {"p99", "p99"},
                                   {"p99.9", "p99.9"},
                                   {"std", "std"}}) {
      put(fmt::format("{}_{}", as, name), member(*block, {stat}));
    }
  };
  if (const Json* m = member(row, {"request_metrics"})) {
    for (const char* family : {"ttft", "e2el", "itl", "tpot", "intvty", "full_response_itl"}) {
      const Json* block = member(*m, {"latency", family});
      put_stats(block != nullptr ? block : member(*m, {family}), family);
    }
    put_stats(member(*m, {"qps"}), "qps");
    for (const auto& [from, as] :
         {std::pair("input", "input_tokens"), {"output_actual", "output_tokens_actual"}, {"output_expected", "output_tokens_expected"}}) {
      put_stats(member(*m, {"tokens", from}), as);
    }
    for (const char* kind : {"input", "output", "total"}) put(fmt::format("{}_tput_tps", kind), member(*m, {"throughput", kind, "tokens_per_second"}));
    for (const char* key : {"tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu"}) put(key, member(*m, {"per_gpu", key}));
    for (const auto& [from, as] : {std::pair("total", "tput_per_gpu"), {"output", "output_tput_per_gpu"}, {"input", "input_tput_per_gpu"}}) {
      put(as, member(*m, {"per_gpu", from}));
    }
    for (const char* key : {"duration_seconds", "theoretical_cache_hit_rate"}) put(key, member(*m, {key}));
    if (const Json* stability = member(*m, {"stability"}); stability != nullptr && stability->is_object()) {
      for (const auto& [key, value] : stability->items()) put(key, &value);
    }
  }
  if (const Json* s = member(row, {"server_metrics"})) {
    for (const char* tier : {"gpu", "cpu", "external"}) put(fmt::format("server_{}_cache_hit_rate", tier), member(*s, {"cache_hit_rate", tier}));
    put("gpu_kv_cache_usage_pct", member(*s, {"kv_cache", "gpu_usage_pct"}));
    put("total_prompt_tokens", member(*s, {"prompt_total"}));
    put("total_generation_tokens", member(*s, {"generation_total"}));
    put("total_requests_completed", member(*s, {"requests_completed"}));
  }
  return flat;
}

constexpr std::array<std::string_view, 32> kIdentity{"hw",
                                                     "conc",
                                                     "users",
                                                     "image",
                                                     "infmax_model_prefix",
                                                     "model_prefix",
                                                     "framework",
                                                     "precision",
                                                     "spec_decoding",
                                                     "recipe_fingerprint",
                                                     "recipe-fingerprint",
                                                     "model",
                                                     "disagg",
                                                     "is_multinode",
                                                     "isl",
                                                     "osl",
                                                     "tp",
                                                     "ep",
                                                     "dp_attention",
                                                     "num_gpus",
                                                     "prefill_tp",
                                                     "prefill_ep",
                                                     "prefill_dp_attention",
                                                     "prefill_num_workers",
                                                     "decode_tp",
                                                     "decode_ep",
                                                     "decode_dp_attention",
                                                     "decode_num_workers",
                                                     "num_prefill_gpu",
                                                     "num_decode_gpu",
                                                     "result_schema_version",
                                                     "scenario_type"};
/// Texts that the store keeps among the metrics.
constexpr std::array<std::string_view, 7> kTexts{"offload_mode",    "kv_offloading", "kv_offload_backend", "kv_offload_backend_version",
                                                 "kv_p2p_transfer", "router_name",   "router_version"};

void count(std::map<std::string, std::int64_t>& counts, const std::string& what) { ++counts[what]; }

/// Measured power is kept only when it is valid (2.7).
void apply_power_contract(Json& metrics, BenchmarkRecord& record) {
  if (!metrics.contains("power_valid")) return;
  const bool valid = metrics["power_valid"].is_number() && metrics["power_valid"].get<double>() == 1;
  metrics["power_valid"] = valid ? 1 : 0;
  if (valid) return;
  const auto measured = [](std::string_view key) {
    return key.find("_power_w") != std::string_view::npos || key.starts_with("joules_per_") || key.find("_joules_per_") != std::string_view::npos ||
           key.ends_with("_energy_j") || key == "avg_temp_c" || key == "peak_temp_c" || key == "avg_util_pct" || key == "avg_mem_used_mb";
  };
  Json kept = Json::object();
  for (const auto& [key, value] : metrics.items()) {
    if (!measured(key)) kept[key] = value;
  }
  metrics = std::move(kept);
  record.workers = nullptr;
}

Json reasons_of(const Json& value) {
  if (!value.is_array()) return nullptr;
  constexpr std::size_t kReasonsMax = 32, kReasonMax = 64;
  Json kept = Json::array();
  for (const Json& item : value) {
    if (!item.is_string() || kept.size() >= kReasonsMax) continue;
    const auto& text = item.get_ref<const std::string&>();
    const bool shape = !text.empty() && text.size() <= kReasonMax && text[0] >= 'a' && text[0] <= 'z' &&
                       text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (shape) kept.push_back(item);
  }
  return kept.empty() ? Json(nullptr) : kept;
}

}  // namespace

std::int64_t gpus_of(const Deployment& d) { return d.disagg ? d.num_prefill_gpu + d.num_decode_gpu : std::max(d.num_prefill_gpu, d.num_decode_gpu); }

UnitCheck check_units(const Json& metrics, std::int64_t gpus, std::int64_t conc, std::int64_t isl, std::int64_t osl) {
  UnitCheck check;
  check.gpus_known = gpus > 0;
  const auto value = [&](const std::string& key) -> std::optional<double> {
    const auto found = metrics.find(key);
    if (found == metrics.end() || !found->is_number()) return std::nullopt;
    const auto d = found->get<double>();
    return std::isfinite(d) && d > 0 ? std::optional(d) : std::nullopt;
  };
  const auto tput = value("tput_per_gpu");
  std::optional<double> e2el = value("mean_e2el");
  if (!e2el) e2el = value("median_e2el");
  const auto steps = static_cast<double>(osl - 1);
  for (const char* stat : {"mean", "median"}) {
    const auto ttft = value(fmt::format("{}_ttft", stat)), tpot = value(fmt::format("{}_tpot", stat)), whole = value(fmt::format("{}_e2el", stat));
    if (!e2el && ttft && tpot) e2el = *ttft + steps * *tpot;
    if (!check.m && ttft && tpot && whole) check.m = *whole / (*ttft + steps * *tpot);
  }
  for (const char* stat : {"mean", "median"}) {
    if (const auto tpot = value(fmt::format("{}_tpot", stat)); !e2el && tpot) e2el = static_cast<double>(osl) * *tpot;
  }
  if (tput && e2el && conc > 0 && isl + osl > 0) {
    check.k = *tput * static_cast<double>(std::max<std::int64_t>(gpus, 1)) * *e2el / (static_cast<double>(conc) * static_cast<double>(isl + osl));
  }
  if (check.k && *check.k >= 30) {
    check.verdict = "unitSlip";
    check.text = fmt::format("k = {:.2f}: times look like {} where seconds belong", *check.k, *check.k < 30'000 ? "milliseconds" : "microseconds");
  } else if (check.k && *check.k <= 0.01 && check.gpus_known) {
    check.verdict = "unitSlip";
    check.text = fmt::format("k = {:.2g}: times look divided by 1,000 too often, or the throughput is not per GPU-second", *check.k);
  } else if (check.m && (*check.m < 0.5 || *check.m > 2)) {
    check.verdict = "unitMixed";
    check.text = fmt::format("m = {:.3g}: one of e2el, ttft and tpot has another unit than the others", *check.m);
  }
  return check;
}

std::optional<Deployment> RowMapper::deployment(const Json& row, IngestCounts& counts) const {
  Deployment d;
  const std::string prefix = text_of(row, "infmax_model_prefix").empty() ? text_of(row, "model_prefix") : text_of(row, "infmax_model_prefix");
  const std::string path = text_of(row, "model");
  const auto model = vocabulary_->models().resolve(prefix, path);
  if (!model) {
    count(counts.skipped, "unknownModel");
    count(counts.unmapped, "model " + (prefix.empty() || prefix == "unknown" ? path : prefix));
    return std::nullopt;
  }
  d.model = *model;
  const auto hardware = vocabulary_->hardware(text_of(row, "hw"));
  if (!hardware) {
    count(counts.skipped, "unknownHardware");
    count(counts.unmapped, "hardware " + text_of(row, "hw"));
    return std::nullopt;
  }
  d.hardware = *hardware;
  const FrameworkName framework = vocabulary_->framework(text_of(row, "framework"));
  d.framework = framework.key;
  if (!framework.known) count(counts.unmapped, "framework " + framework.key);
  const auto [precision, precision_known] = vocabulary_->precision(text_of(row, "precision"));
  d.precision = precision;
  if (!precision_known) count(counts.unmapped, "precision " + precision);
  const auto [spec, spec_known] = vocabulary_->spec_method(text_of(row, "spec_decoding").empty() ? text_of(row, "spec_method") : text_of(row, "spec_decoding"));
  d.spec_method = spec;
  if (!spec_known) count(counts.unmapped, "spec_method " + spec);
  d.is_multinode = flag_of(row, "is_multinode").value_or(false);
  d.disagg = framework.disagg || flag_of(row, "disagg").value_or(framework.disagg_default);

  const auto whole = [&](const std::string& key, std::int64_t otherwise) { return whole_of(row, key).value_or(otherwise); };
  const std::int64_t tp = whole("tp", 0), ep = whole("ep", 1);
  const bool sized = row.contains("pp") || row.contains("pcp_size") || row.contains("dcp_size");
  if (!row.contains("prefill_tp") || (!d.is_multinode && tp > 0 && whole("prefill_tp", 0) == 0)) {
    d.prefill_tp = d.decode_tp = tp;
    d.prefill_ep = d.decode_ep = ep;
    d.prefill_dp_attention = d.decode_dp_attention = flag_of(row, "dp_attention").value_or(false);
    // EP and DCP share the devices of TP; rows from before these sizes were written count tp·ep.
    const std::int64_t gpus = sized ? tp * whole("pp", 1) * whole("pcp_size", 1) : tp * ep;
    d.num_prefill_gpu = d.num_decode_gpu = whole("num_gpus", gpus);
    return d;
  }
  const auto role = [&](const std::string& name, std::int64_t& tp_out, std::int64_t& ep_out, bool& dpa, std::int64_t& workers, std::int64_t& gpus) {
    tp_out = whole(name + "_tp", 0);
    ep_out = whole(name + "_ep", 1);
    dpa = flag_of(row, name + "_dp_attention").value_or(false);
    workers = whole(name + "_num_workers", 0);
    const bool role_sized = row.contains(name + "_pp") || row.contains(name + "_pcp_size");
    const std::int64_t per_worker = role_sized ? tp_out * whole(name + "_pp", 1) * whole(name + "_pcp_size", 1) : tp_out * ep_out;
    gpus = whole(fmt::format("num_{}_gpu", name), per_worker * std::max<std::int64_t>(workers, 1));
  };
  role("prefill", d.prefill_tp, d.prefill_ep, d.prefill_dp_attention, d.prefill_num_workers, d.num_prefill_gpu);
  role("decode", d.decode_tp, d.decode_ep, d.decode_dp_attention, d.decode_num_workers, d.num_decode_gpu);
  // Single-node SGLang rows whose roles both mirror the top level, one worker each, are one engine.
  const bool mirrored = !d.is_multinode && tp > 0 && d.prefill_tp == tp && d.decode_tp == tp && d.prefill_num_workers <= 1 && d.decode_num_workers <= 1 &&
                        d.framework == "sglang";
  if (mirrored) {
    d.prefill_num_workers = d.decode_num_workers = 0;
    if (const auto gpus = whole_of(row, "num_gpus")) d.num_prefill_gpu = d.num_decode_gpu = *gpus;
    if (!framework.disagg) d.disagg = flag_of(row, "disagg").value_or(false);
    return d;
  }
  if (d.decode_num_workers > 0) d.disagg = true;
  if (d.prefill_num_workers > 0 && d.decode_num_workers == 0 && d.num_decode_gpu == 0) d.disagg = framework.disagg;
  if (!d.disagg) {
    if (d.decode_tp > 0 && d.num_decode_gpu > 0) {
      d.prefill_tp = d.decode_tp, d.prefill_ep = d.decode_ep, d.prefill_dp_attention = d.decode_dp_attention;
      d.prefill_num_workers = d.decode_num_workers, d.num_prefill_gpu = d.num_decode_gpu;
    } else {
      d.decode_tp = d.prefill_tp, d.decode_ep = d.prefill_ep, d.decode_dp_attention = d.prefill_dp_attention;
      d.decode_num_workers = d.prefill_num_workers, d.num_decode_gpu = d.num_prefill_gpu;
    }
  }
  return d;
}

std::optional<BenchmarkRecord> RowMapper::benchmark(const Json& source, const std::string& artifact, IngestCounts& counts) const {
  if (!source.is_object()) {
    count(counts.skipped, "badZip");
    return std::nullopt;
  }
  const auto skip = [&](const char* reason) {
    count(counts.skipped, reason);
    return std::nullopt;
  };
  if (const auto version = whole_of(source, "result_schema_version"); version && (*version < 1 || *version > 3)) return skip("unsupportedSchema");
  const Json row = flatten(source);
  if (flag_of(row, "failed").value_or(false) || text_of(row, "outcome") == "failed") return skip("failedRun");
  for (const char* key : {"successful", "completed", "total_requests_completed"}) {
    if (const auto done = whole_of(row, key); done && *done == 0) return skip("failedRun");
  }
  const auto deployment = this->deployment(row, counts);
  if (!deployment) return std::nullopt;
  BenchmarkRecord record;
  record.deployment = *deployment;
  const bool agentic = lower_case(text_of(row, "scenario_type")).starts_with("agentic");
  const auto conc = agentic && whole_of(row, "users") ? whole_of(row, "users") : whole_of(row, "conc");
  if (!conc || *conc <= 0) return skip("noIslOsl");
  record.conc = *conc;
  if (agentic) {
    record.benchmark_type = "agentic_traces";
  } else {
    record.isl = whole_of(row, "isl");
    record.osl = whole_of(row, "osl");
    if (!record.isl || !record.osl) {
      const auto named = lengths_in_name(artifact);
      if (!named) return skip("noIslOsl");
      record.isl = named->first;
      record.osl = named->second;
    }
    if (*record.isl <= 0 || *record.osl <= 0) return skip("noIslOsl");
  }
  if (const auto number = row.find("tput_per_gpu"); number != row.end() && !number_of(*number)) return skip("nonFiniteThroughput");
  record.offload_mode = offload_mode_of_row(row);
  record.image = text_of(row, "image");
  std::ranges::replace(record.image, '#', '/');
  for (const char* key : {"recipe_fingerprint", "recipe-fingerprint"}) {
    if (record.recipe_fingerprint.empty()) record.recipe_fingerprint = trim(text_of(row, key));
  }
  if (row.contains("workers") && row["workers"].is_array()) record.workers = row["workers"];
  if (row.contains("power_invalid_reasons")) record.power_invalid_reasons = reasons_of(row["power_invalid_reasons"]);
  if (row.contains("power_audit") && row["power_audit"].is_object()) record.power_audit = row["power_audit"];

  for (const auto& [key, value] : row.items()) {
    if (std::ranges::find(kIdentity, key) != kIdentity.end() || key == "pawl" || value.is_boolean()) continue;
    if (std::ranges::find(kTexts, key) != kTexts.end()) {
      if (value.is_string()) record.metrics[key] = value;
      continue;
    }
    if (key == "router" && value.is_object()) {
      for (const char* part : {"name", "version"}) {
        if (value.contains(part) && value[part].is_string()) record.metrics[fmt::format("router_{}", part)] = value[part];
      }
      continue;
    }
    if (value.is_string() && is_no_number_word(value.get_ref<const std::string&>())) {
      if (key == "request_rate") {
        record.metrics[key] = "inf";
      } else {
        count(counts.non_finite_metric, key);
      }
      continue;
    }
    const auto number = number_of(value);
    if (!number) continue;
    if (value.is_string()) {
      record.metrics[key] =
          number->whole && value.get_ref<const std::string&>().find_first_of(".eE") == std::string::npos ? Json(number->integer) : Json(number->value);
    } else {
      record.metrics[key] = value;
    }
  }
  if (agentic) {
    // The slow tail: P90 of interactivity is the reciprocal of P90 of the inter-token latency (2.5.4).
    for (const char* stat : {"mean", "median", "p75", "p90", "p95", "p99", "p99.9", "std"}) {
      const std::string full = fmt::format("{}_full_response_itl", stat), itl = fmt::format("{}_itl", stat), intvty = fmt::format("{}_intvty", stat);
      record.metrics.erase(intvty);
      const Json* base = record.metrics.contains(full) ? &record.metrics[full] : record.metrics.contains(itl) ? &record.metrics[itl] : nullptr;
      if (base != nullptr && base->is_number() && base->get<double>() > 0 && std::string_view(stat) != "std") record.metrics[intvty] = 1 / base->get<double>();
    }
  }
  apply_power_contract(record.metrics, record);
  if (row.contains("pawl") && row["pawl"].is_object()) {
    record.point_key = text_of(row["pawl"], "point_key");
    record.measured_at = text_of(row["pawl"], "measured_at");
    record.raw = row;
  }
  // Rows of a scaled run of ours carry the recipe's lengths, and what was sent is a fraction of them: Little's law says
  // nothing there.
  const std::string scale = row.contains("pawl") && row["pawl"].is_object() ? text_of(row["pawl"], "scale") : std::string();
  if (!scale.empty() && scale != "1/1") {
    ++counts.unit_rule_not_applied;
  } else if (record.isl && record.osl) {
    const bool sized = record.deployment.num_prefill_gpu > 0 || record.deployment.num_decode_gpu > 0;
    const UnitCheck check = check_units(record.metrics, sized ? gpus_of(record.deployment) : 0, record.conc, *record.isl, *record.osl);
    if (!check.verdict.empty()) {
      record.held = check.verdict + ": " + check.text;
      count(counts.held, check.verdict);
      note(counts, fmt::format("{} {} {} conc {} is held: {}", record.deployment.model, record.deployment.hardware, artifact, record.conc, record.held));
    }
  }
  return record;
}

std::optional<EvalRecord> RowMapper::evaluation(const Json& row, IngestCounts& counts) const {
  if (!row.is_object()) {
    count(counts.skipped, "badZip");
    return std::nullopt;
  }
  const auto deployment = this->deployment(row, counts);
  if (!deployment) return std::nullopt;
  EvalRecord record;
  record.deployment = *deployment;
  record.task = lower_case(text_of(row, "task"));
  if (record.task.empty()) {
    count(counts.skipped, "noTask");
    return std::nullopt;
  }
  record.conc = whole_of(row, "conc");
  const auto named = lengths_in_name(text_of(row, "source"));
  const auto length = [&](const char* key, std::optional<std::int64_t> from_name) {
    auto value = whole_of(row, key);
    if (!value || *value <= 0) value = from_name;
    return value;
  };
  record.isl = length("isl", named ? std::optional(named->first) : std::nullopt);
  record.osl = length("osl", named ? std::optional(named->second) : std::nullopt);
  for (const char* key : {"n_eff", "em_strict", "em_strict_se", "em_flexible", "em_flexible_se", "score", "score_se", "dp"}) {
    const auto found = row.find(key);
    if (found == row.end() || found->is_null()) continue;
    const auto number = number_of(*found);
    if (number) {
      record.metrics[key] = found->is_string() ? Json(number->value) : *found;
    } else if (found->is_string() && is_no_number_word(found->get_ref<const std::string&>())) {
      count(counts.non_finite_metric, key);
    }
  }
  record.timestamp = text_of(row, "timestamp");
  if (row.contains("pawl") && row["pawl"].is_object()) {
    record.point_key = text_of(row["pawl"], "point_key");
    if (record.timestamp.empty()) record.timestamp = text_of(row["pawl"], "measured_at");
    record.raw = row;
  }
  return record;
}

}  // namespace pawl::results
