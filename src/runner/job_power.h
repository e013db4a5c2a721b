#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "io/clock.h"
#include "io/files.h"
#include "io/processes.h"
#include "measure/observer.h"
#include "model/bench_result.h"
#include "model/job.h"
#include "telemetry/power_source.h"

namespace pawl::runner {

/// Watches the power of the GPUs beside the load of a job, as PAWL_POWER says: off, auto, nvml, nvidia-smi, amd-smi. Without
/// it `auto` for real engines and `off` for simulated ones. Power never fails a benchmark: what is wrong with it stands
/// in the result.
class JobPower final : public measure::RunObserver {
 public:
  /// Null when nothing is to be watched. Sampling begins here.
  static std::unique_ptr<JobPower> open(const model::JobSpec& spec, io::Clock& clock, io::Files& files, io::Processes& processes);

  void begin(MonoTime origin, WallTime wall) override;
  void first_request(std::string_view head, std::string_view body) override;
  void take(const measure::RequestRecord& record) override;

  /// Right after the run: fills `power` of the result; writes artifacts/gpu_metrics.csv and artifacts/power_validation.json (the
  /// sidecar of sweep-run-results 6.6) in the job's folder.
  void finish(model::BenchResult& result, const std::filesystem::path& folder);

 private:
  JobPower(std::int64_t gpus, io::Files& files) : gpus_(gpus), files_(files) {}
  std::int64_t gpus_;
  io::Files& files_;
  std::unique_ptr<telemetry::PowerSource> source_;
  std::string no_source_;
};

/// The sidecar of a result's power: what was integrated over which window, and why it counts or not. Pure.
[[nodiscard]] codec::Json power_sidecar(const model::BenchResult& result);

}  // namespace pawl::runner
