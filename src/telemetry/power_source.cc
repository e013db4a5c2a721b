#include "telemetry/power_source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "telemetry/command_source.h"
#include "telemetry/nvml_source.h"

namespace pawl::telemetry {
namespace {

constexpr double kNvmlInterval_s = 0.1, kCommandInterval_s = 1;

std::optional<std::string> in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  if (path == nullptr) return std::nullopt;
  const std::string all = path;
  for (const std::string_view folder : split(all, ':')) {
    if (folder.empty()) continue;
    std::string file = fmt::format("{}/{}", folder, program);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

Result<std::unique_ptr<PowerSource>> open_nvml(const SourceOptions& options, const SourceWorld& world) {
  PAWL_ASSIGN(const auto nvml, Nvml::open(options.library));
  std::vector<std::string> known;
  for (unsigned i = 0; i < nvml->count(); ++i) known.push_back(std::to_string(i));
  if (known.empty()) return not_found("NVML sees no GPU");
  std::vector<unsigned> chosen;
  for (unsigned i = 0; i < nvml->count(); ++i) {
    if (options.gpus.empty()) chosen.push_back(i);
  }
  for (const std::string& wanted : options.gpus) {
    std::optional<unsigned> found;
    for (unsigned i = 0; i < nvml->count(); ++i) {
      if (wanted == known[i] || wanted == nvml->uuid(i)) found = i;
    }
    if (!found) return bad_input(fmt::format("there is no GPU \"{}\"", wanted), fmt::format("there are: {}", join(known, ", ")));
    if (std::ranges::find(chosen, *found) == chosen.end()) chosen.push_back(*found);
  }
  return make_nvml_source(nvml, std::move(chosen), options.interval_s > 0 ? options.interval_s : kNvmlInterval_s, world.clock);
}

Result<std::unique_ptr<PowerSource>> open_command(const std::string& kind, const SourceOptions& options, const SourceWorld& world) {
  const auto program = in_path(kind);
  if (!program) return not_found(fmt::format("there is no {} in PATH", kind));
  return make_command_source(kind, *program, options.gpus, options.interval_s > 0 ? options.interval_s : kCommandInterval_s, world);
}

}  // namespace

Result<std::unique_ptr<PowerSource>> open_power_source(const SourceOptions& options, SourceWorld world) {
  if (options.kind == "nvml") return open_nvml(options, world);
  if (options.kind == "nvidia-smi" || options.kind == "amd-smi") return open_command(options.kind, options, world);
  if (options.kind != "auto") return bad_input(fmt::format("no source of power \"{}\"", options.kind), "one of nvml, nvidia-smi, amd-smi, auto");
  auto nvml = open_nvml(options, world);
  if (nvml || nvml.error().cls != ErrorClass::kNotFound) return nvml;
  for (const char* kind : {"nvidia-smi", "amd-smi"}) {
    auto command = open_command(kind, options, world);
    if (command) return command;
  }
  return not_found(fmt::format("no source of power: {}; no nvidia-smi and no amd-smi in PATH", nvml.error().message));
}

Result<model::BenchPower> power_of(PowerSource& source, const model::BenchResult& result, std::int64_t expected_gpus, std::stop_token stop) {
  // Beyond the second mark as well: the counter is compared over its own window.
  const double end = std::max(std::isfinite(result.ended_unix_s) ? result.ended_unix_s : 0, 0.0);
  PAWL_ASSIGN(auto samples, source.samples(WallTime{Nanos(static_cast<std::int64_t>(end * 1e9))}, stop));
  auto check = source.energy_check(samples);
  if (check && !check->within_error) {
    PAWL_ASSIGN(samples, source.samples(WallTime{Nanos(static_cast<std::int64_t>(check->end_unix_s * 1e9))}, stop));
    check = source.energy_check(samples);
  }
  const SourceInfo info = source.info();
  model::BenchPower power =
      judge_samples(samples, {result.started_unix_s, result.ended_unix_s}, {expected_gpus > 0 ? expected_gpus : static_cast<std::int64_t>(info.gpus.size())});
  power.source = info.source;
  power.sensor = info.sensor;
  power.interval_s = info.interval_s;
  power.energy_check = check;
  power.sample_cost_us = source.sample_cost_us();
  for (model::GpuPower& gpu : power.gpus) {
    for (const GpuInfo& known : info.gpus) {
      if (known.gpu != gpu.gpu) continue;
      gpu.name = known.name;
      if (known.limit_w) gpu.limit_w = *known.limit_w;
    }
  }
  apply_result(result, power);
  return power;
}

}  // namespace pawl::telemetry
