#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/bench_power.h"
#include "model/bench_result.h"

namespace pawl::telemetry {

/// One look at one GPU.
struct PowerSample {
  double unix_s = 0;
  std::string gpu;               ///< its index, as text; empty: the source did not say
  std::optional<double> watts;   ///< nothing: the cell was no number
  std::optional<double> longer;  ///< the driver's longer average, where the source has both
  std::optional<double> sm_mhz;
  std::optional<std::uint64_t> throttle;  ///< NVML's bits of reasons
};

/// A span of time, unix seconds.
struct Window {
  double begin_s = model::kUnknown, end_s = model::kUnknown;
};

/// What the samples are judged against.
struct PowerRules {
  std::int64_t expected_gpus = 0;
  double max_gap_s = 3.0;  ///< exactly this much is allowed
};

/// The gate on the client's result (sweep-run-results 6.2): reasons, in the order of the contract; none when it is sound.
[[nodiscard]] std::vector<model::PowerReason> judge_result(const model::BenchResult& result);

/// Judges samples by sweep-run-results 6.3 and integrates them by 6.4: per GPU the trapezoid over the window, with linear
/// interpolation at both ends; equal moments of one GPU are averaged; samples further than the largest gap from the window
/// are not looked at. Fills everything that follows from samples: `valid`, `reasons`, the window, GPUs, energy, watts,
/// clocks. Without `valid` the energies are absent, what was counted stays. Pure.
[[nodiscard]] model::BenchPower judge_samples(const std::vector<PowerSample>& samples, const Window& window, const PowerRules& rules);

/// Adds the metrics per query and per token of `result`, rounded as 6.4 has them, or, where the result itself is not sound, its
/// reasons, before those of the samples.
void apply_result(const model::BenchResult& result, model::BenchPower& power);

/// Energy in J of one GPU's samples (any order) over a window; nothing when they do not reach over both ends.
/// `value`: which of the two readings.
[[nodiscard]] std::optional<double> energy_j(const std::vector<PowerSample>& samples, const std::string& gpu, const Window& window,
                                             std::optional<double> PowerSample::*value = &PowerSample::watts);

/// The names of the bits of `throttle` in a mask: "sw-power-cap"…
[[nodiscard]] std::vector<std::string> throttle_names(std::uint64_t mask);

}  // namespace pawl::telemetry
