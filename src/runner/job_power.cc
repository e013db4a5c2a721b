#include "runner/job_power.h"

#include <cmath>
#include <cstdlib>

#include "codec/describe.h"
#include "codec/json.h"
#include "model/point.h"
#include "telemetry/power_csv.h"

namespace pawl::runner {

using codec::Json;

std::unique_ptr<JobPower> JobPower::open(const model::JobSpec& spec, io::Clock& clock, io::Files& files, io::Processes& processes) {
  const char* asked = std::getenv("PAWL_POWER");
  const std::string kind = asked != nullptr && *asked != '\0' ? asked : spec.engine.kind == "twin" ? "off" : "auto";
  if (kind == "off") return nullptr;
  const auto point = model::point_of_row(spec.row);
  std::unique_ptr<JobPower> out(new JobPower(point ? point->gpus() : 0, files));
  auto source = telemetry::open_power_source({.kind = kind}, {clock, files, processes});
  if (source) {
    if (Status started = (*source)->start(); !started) source = started.error();
  }
  if (source) {
    out->source_ = std::move(*source);
  } else {
    out->no_source_ = source.error().message;
  }
  return out;
}

void JobPower::begin(MonoTime, WallTime) {
  if (source_) source_->mark();
}

void JobPower::first_request(std::string_view, std::string_view) {}

void JobPower::take(const measure::RequestRecord&) {}

void JobPower::finish(model::BenchResult& result, const std::filesystem::path& folder) {
  model::BenchPower power;
  power.expected_gpus = gpus_;
  if (!source_) {
    power.reasons.push_back({"telemetry_file_missing", no_source_});
  } else {
    source_->mark();
    auto found = telemetry::power_of(*source_, result, gpus_, {});
    if (found) {
      power = std::move(*found);
    } else {
      power.reasons.push_back({"aggregation_internal_error", found.error().message});
    }
    if (const auto samples = source_->samples(WallTime{}, {}))
      (void)files_.write_atomic(folder / "artifacts" / "gpu_metrics.csv", telemetry::power_csv_text(*samples));
  }
  result.power = std::move(power);
  (void)files_.write_atomic(folder / "artifacts" / "power_validation.json", codec::write_json_pretty(power_sidecar(result)));
}

Json power_sidecar(const model::BenchResult& result) {
  const model::BenchPower power = result.power.value_or(model::BenchPower{});
  Json reasons = Json::array(), ids = Json::array(), metrics = Json::object();
  Json counts = Json::object(), gaps = Json::object(), energies = Json::object();
  for (const model::PowerReason& reason : power.reasons) reasons.push_back(reason.code);
  const auto put = [](Json& into, const std::string& key, double value) {
    if (std::isfinite(value)) into[key] = value;
  };
  for (const model::GpuPower& gpu : power.gpus) {
    ids.push_back(gpu.gpu);
    counts[gpu.gpu] = gpu.samples;
    put(gaps, gpu.gpu, gpu.max_gap_s);
    put(energies, gpu.gpu, gpu.energy_j);
  }
  if (power.valid) {
    put(metrics, "total_gpu_energy_j", power.total_gpu_energy_j);
    put(metrics, "avg_total_gpu_power_w", power.avg_total_gpu_power_w);
    put(metrics, "avg_power_w", power.avg_power_w);
    put(metrics, "joules_per_successful_query", power.joules_per_successful_query);
    put(metrics, "joules_per_input_token", power.joules_per_input_token);
    put(metrics, "joules_per_output_token", power.joules_per_output_token);
    put(metrics, "joules_per_total_token", power.joules_per_total_token);
  }
  Json window;
  if (std::isfinite(power.window_begin_unix_s) && std::isfinite(power.window_end_unix_s)) {
    window = {{"start_time_unix", power.window_begin_unix_s},
              {"end_time_unix", power.window_end_unix_s},
              {"reported_duration_s", result.duration_s},
              {"integration_duration_s", power.window_end_unix_s - power.window_begin_unix_s},
              {"completed", result.counts.ok},
              {"total_input_tokens", result.total_input_tokens},
              {"total_output_tokens", result.total_output_tokens}};
  }
  return {{"schema_version", 1},
          {"power_valid", power.valid},
          {"reasons", std::move(reasons)},
          {"telemetry_source", power.source},
          {"benchmark_window", std::move(window)},
          {"integration_method", "trapezoid, linear at both ends"},
          {"expected_gpu_count", power.expected_gpus},
          {"observed_gpu_count", power.observed_gpus},
          {"observed_gpu_ids", std::move(ids)},
          {"per_gpu_sample_counts", std::move(counts)},
          {"per_gpu_max_sample_gap_s", std::move(gaps)},
          {"per_gpu_energy_j", std::move(energies)},
          {"accumulator_check", power.energy_check ? codec::to_json(*power.energy_check) : Json()},
          {"metrics", std::move(metrics)}};
}

}  // namespace pawl::runner
