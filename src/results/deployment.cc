#include "results/deployment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "results/vocabulary.h"

namespace pawl::results {
namespace {

using codec::Json;

std::int64_t whole_of(const Json& row, const char* key, std::int64_t otherwise) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

/// Rows carry some flags as texts.
bool flag_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  if (found->is_boolean()) return found->get<bool>();
  return found->is_string() && lower_case(found->get<std::string>()) == "true";
}

}  // namespace

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string text_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Deployment deployment_of_row(const Json& row) {
  Deployment d;
  d.hardware = hardware_word(text_of(row, "hw"));
  d.framework = lower_case(text_of(row, "framework"));
  d.model = lower_case(text_of(row, "infmax_model_prefix"));
  if (d.model.empty()) d.model = lower_case(text_of(row, "model"));
  d.precision = lower_case(text_of(row, "precision"));
  if (d.precision == "nvfp4" || d.precision == "mxfp4") d.precision = "fp4";
  d.spec_method = lower_case(text_of(row, "spec_decoding"));
  if (d.spec_method.empty()) d.spec_method = "none";
  d.disagg = flag_of(row, "disagg");
  d.is_multinode = flag_of(row, "is_multinode");
  if (!row.contains("prefill_tp")) {
    d.prefill_tp = d.decode_tp = whole_of(row, "tp", 0);
    d.prefill_ep = d.decode_ep = whole_of(row, "ep", 1);
    d.prefill_dp_attention = d.decode_dp_attention = flag_of(row, "dp_attention");
    d.num_prefill_gpu = d.num_decode_gpu = whole_of(row, "num_gpus", d.prefill_tp * whole_of(row, "pp", 1) * whole_of(row, "pcp_size", 1));
    return d;
  }
  const auto gpus = [&](const char* key, std::int64_t tp, const char* pp, const char* pcp, std::int64_t workers) {
    return whole_of(row, key, tp * whole_of(row, pp, 1) * whole_of(row, pcp, 1) * std::max<std::int64_t>(workers, 1));
  };
  d.prefill_tp = whole_of(row, "prefill_tp", 0);
  d.prefill_ep = whole_of(row, "prefill_ep", 1);
  d.prefill_dp_attention = flag_of(row, "prefill_dp_attention");
  d.prefill_num_workers = whole_of(row, "prefill_num_workers", 0);
  d.num_prefill_gpu = gpus("num_prefill_gpu", d.prefill_tp, "prefill_pp", "prefill_pcp_size", d.prefill_num_workers);
  d.decode_tp = whole_of(row, "decode_tp", 0);
  d.decode_ep = whole_of(row, "decode_ep", 1);
  d.decode_dp_attention = flag_of(row, "decode_dp_attention");
  d.decode_num_workers = whole_of(row, "decode_num_workers", 0);
  d.num_decode_gpu = gpus("num_decode_gpu", d.decode_tp, "decode_pp", "decode_pcp_size", d.decode_num_workers);
  if (d.decode_num_workers > 0) d.disagg = true;
  if (!d.disagg) {
    // One engine, told as two roles: the pool that is there stands in both columns.
    const bool from_decode = d.decode_tp > 0 && d.num_decode_gpu > 0;
    if (from_decode) {
      d.prefill_tp = d.decode_tp, d.prefill_ep = d.decode_ep, d.prefill_dp_attention = d.decode_dp_attention;
      d.prefill_num_workers = d.decode_num_workers, d.num_prefill_gpu = d.num_decode_gpu;
    } else {
      d.decode_tp = d.prefill_tp, d.decode_ep = d.prefill_ep, d.decode_dp_attention = d.prefill_dp_attention;
      d.decode_num_workers = d.prefill_num_workers, d.num_decode_gpu = d.num_prefill_gpu;
    }
  }
  return d;
}

Json metrics_of_row(const Json& row) {
  static constexpr std::array<std::string_view, 14> kIdentity{"conc",
                                                              "isl",
                                                              "osl",
                                                              "tp",
                                                              "ep",
                                                              "num_gpus",
                                                              "prefill_tp",
                                                              "prefill_ep",
                                                              "decode_tp",
                                                              "decode_ep",
                                                              "prefill_num_workers",
                                                              "decode_num_workers",
                                                              "num_prefill_gpu",
                                                              "num_decode_gpu"};
  Json metrics = Json::object();
  for (const auto& [key, value] : row.items()) {
    if (std::ranges::find(kIdentity, key) != kIdentity.end() || !value.is_number()) continue;
    if (std::isfinite(value.get<double>())) metrics[key] = value;
  }
  return metrics;
}

std::string offload_mode_of_row(const Json& row) {
  const std::string mode = lower_case(text_of(row, "offload_mode"));
  if (mode == "on" || mode == "off") return mode;
  for (const char* key : {"kv_offloading", "offloading"}) {
    const std::string value = lower_case(text_of(row, key));
    if (!value.empty()) return value == "none" ? "off" : "on";
  }
  return "off";
}

}  // namespace pawl::results
