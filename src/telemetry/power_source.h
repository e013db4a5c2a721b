#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/processes.h"
#include "model/bench_power.h"
#include "telemetry/power_samples.h"

namespace pawl::telemetry {

/// A GPU as a source sees it.
struct GpuInfo {
  std::string gpu;         ///< index
  std::string uuid, name;  ///< empty when the source does not say
  std::optional<double> limit_w;
};

/// What a source is.
struct SourceInfo {
  std::string source;  ///< "nvml", "nvidia-smi", "amd-smi"
  std::string sensor;  ///< what a sample is
  std::string detail;  ///< for people: driver, library or command
  double interval_s = 0;
  std::vector<GpuInfo> gpus;  ///< those that are sampled; of a command: those seen so far
};

/// Watches the power of this machine's GPUs, from `start` until it is destroyed. Samples carry the time of the clock that it
/// was given. Calls from one thread; `mark` from any.
class PowerSource {
 public:
  virtual ~PowerSource() = default;
  /// A source that samples once this returns.
  virtual Status start() = 0;
  [[nodiscard]] virtual SourceInfo info() const = 0;
  /// Everything sampled so far, once each GPU has a sample later than `until` (waits for two intervals and 2 s at most).
  virtual Result<std::vector<PowerSample>> samples(WallTime until, std::stop_token stop) = 0;
  /// Drops samples older than that, for who watches without an end.
  virtual void forget(double before_unix_s) = 0;
  /// The edge of a window: a counter of energy is read now, on a thread of its own. Does not block.
  virtual void mark() {}
  /// The counter between the last two marks beside the samples; nothing where there is no counter.
  virtual std::optional<model::EnergyCheck> energy_check(const std::vector<PowerSample>&) { return std::nullopt; }
  /// Mean time of one look at all GPUs, where it is known.
  [[nodiscard]] virtual double sample_cost_us() const { return model::kUnknown; }
};

struct SourceOptions {
  std::string kind = "auto";      ///< nvml, nvidia-smi, amd-smi, or auto: the first of them that is there
  double interval_s = 0;          ///< 0: 0.1 s of NVML, 1 s of a command
  std::vector<std::string> gpus;  ///< indices or UUIDs; empty: all
  std::filesystem::path library;  ///< NVML under another name; empty: the driver's
};

/// The world of a source; outlives it.
struct SourceWorld {
  const io::Clock& clock;
  io::Files& files;
  io::Processes& processes;
};

/// Opens a source; it does not sample yet. Errors: kNotFound when there is none (the message says what was tried), kInvalid
/// for a GPU that is not there.
[[nodiscard]] Result<std::unique_ptr<PowerSource>> open_power_source(const SourceOptions& options, SourceWorld world);

/// Judges what `source` saw of one measured run: 6.2, 6.3, 6.4, and the counter beside it. `expected_gpus` 0: those that the
/// source samples. Call `source.mark()` as the measured phase begins and right after it has ended, then this.
[[nodiscard]] Result<model::BenchPower> power_of(PowerSource& source, const model::BenchResult& result, std::int64_t expected_gpus, std::stop_token stop);

}  // namespace pawl::telemetry
