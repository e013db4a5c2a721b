#include "benchout/tool_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "codec/describe.h"
#include "measure/profiles.h"
#include "measure/request_metrics.h"

namespace pawl::benchout {
namespace {

using codec::Json;

double percentile_of(const model::Distribution& d, double p) {
  struct Named {
    double p;
    double model::Distribution::*member;
  };
  constexpr std::array kAll{Named{1, &model::Distribution::p1},      Named{5, &model::Distribution::p5},   Named{10, &model::Distribution::p10},
                            Named{25, &model::Distribution::p25},    Named{50, &model::Distribution::p50}, Named{75, &model::Distribution::p75},
                            Named{90, &model::Distribution::p90},    Named{95, &model::Distribution::p95}, Named{99, &model::Distribution::p99},
                            Named{99.9, &model::Distribution::p99_9}};
  for (const Named& named : kAll) {
    if (named.p == p) return d.*named.member;
  }
  return model::kUnknown;
}

/// Whole percentiles have no decimals: p99, p99.9.
std::string percentile_name(double p) { return p == std::floor(p) ? fmt::format("p{:.0f}", p) : fmt::format("p{}", p); }

}  // namespace

Result<const model::BenchCompat*> compat_of(const model::BenchResult& result, const std::string& profile) {
  if (result.details) {
    const auto found = result.details->compat.find(profile);
    if (found != result.details->compat.end()) return &found->second;
  }
  return bad_input(fmt::format("this result does not hold the numbers of profile {}", profile),
                   "make it from the records of the run: `pawl bench show RECORDS`");
}

Json or_zero(double value) { return std::isfinite(value) ? Json(value) : Json(0.0); }

void put_statistics(Json& out, const std::string& name, const model::Distribution& d, const std::vector<double>& percentiles, bool skip_zero) {
  const auto put = [&](const std::string& key, double value) {
    if (skip_zero && !(std::isfinite(value) && value > 0)) return;
    out[key] = or_zero(value);
  };
  put("mean_" + name, d.mean);
  put("median_" + name, d.p50);
  put("std_" + name, d.std);
  for (const double p : percentiles) put(percentile_name(p) + "_" + name, percentile_of(d, p));
}

std::string compact_date(WallTime t) {
  std::string out;
  for (const char c : iso_utc(t)) {
    if (c >= '0' && c <= '9') out += c;
    if (c == 'T') out += '-';
  }
  return out;
}

Status put_arrays(Json& out, const std::string& profile_name, const Arrays& what, bool chat, const Records& records) {
  if (!records) return bad_input("no records of this run were kept", "measure with --records FILE");
  const auto profile = codec::enum_value<measure::Profile>(profile_name);
  Json inputs = Json::array(), outputs = Json::array(), ttfts = Json::array(), itls = Json::array(), texts = Json::array(), errors = Json::array(),
       starts = Json::array(), latencies = Json::array(), queues = Json::array();
  measure::ProfileMetrics m;
  PAWL_TRY(records([&](const measure::RequestRecord& record) {
    if (record.phase != measure::Phase::kMeasured || record.outcome == measure::Outcome::kSkipped) return;
    const bool ok = record.outcome == measure::Outcome::kOk;
    measure::compute_profile(*profile, record, chat, m);
    inputs.push_back(measure::input_tokens(record).value_or(measure::InputTokens{record.asked_input, {}}).count);
    outputs.push_back(ok ? m.output_tokens : 0);
    if (!what.detailed) return;
    ttfts.push_back(ok && m.ttft_ms ? *m.ttft_ms / 1000 : 0.0);
    Json gaps = Json::array();
    if (ok) {
      for (const measure::Sample& sample : m.itl) {
        for (std::int64_t i = 0; i < sample.weight; ++i) gaps.push_back(sample.ms / 1000);
      }
    }
    itls.push_back(std::move(gaps));
    texts.push_back(record.text);
    errors.push_back(ok ? std::string{} : record.failure + (record.detail.empty() ? "" : ": " + record.detail));
    starts.push_back(seconds_of(record.send.value_or(record.ready).since_boot));
    latencies.push_back(ok && m.e2el_ms ? *m.e2el_ms / 1000 : 0.0);
    queues.push_back(record.send && record.admit ? seconds_of(*record.send - record.ready) : 0.0);
  }));
  out["input_lens"] = std::move(inputs);
  out["output_lens"] = std::move(outputs);
  if (!what.detailed) return {};
  out["ttfts"] = std::move(ttfts);
  out["itls"] = std::move(itls);
  if (what.vllm) out["start_times"] = std::move(starts);
  out["generated_texts"] = std::move(texts);
  out["errors"] = std::move(errors);
  if (what.vllm) {
    out["latencies"] = std::move(latencies);
    out["queue_times"] = std::move(queues);
  }
  return {};
}

}  // namespace pawl::benchout
