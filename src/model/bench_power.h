#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/distribution.h"

namespace pawl::model {

/// A reason why power does not count: a stable code of sweep-run-results 6.2 and 6.3, and what was found.
struct PowerReason {
  std::string code;
  std::string text;
};
BOOST_DESCRIBE_STRUCT(PowerReason, (), (code, text))

/// One GPU over the window.
struct GpuPower {
  std::string gpu;   ///< as the source names it: its index
  std::string name;  ///< of the product; empty when the source does not say
  std::int64_t samples = 0;
  double mean_w = kUnknown, max_w = kUnknown;  ///< mean: energy / window; max: highest sample in the window
  double energy_j = kUnknown;
  double max_gap_s = kUnknown;  ///< between neighbouring samples, from bracket to bracket
  double limit_w = kUnknown;    ///< enforced power limit
};
BOOST_DESCRIBE_STRUCT(GpuPower, (), (gpu, name, samples, mean_w, max_w, energy_j, max_gap_s, limit_w))

/// The GPU's own counter of total energy beside the integral of the samples, over the counter's own window: from its first
/// read to its second, which lie at the edges of the measured phase.
struct EnergyCheck {
  double begin_unix_s = kUnknown, end_unix_s = kUnknown;
  double counter_j = kUnknown;
  double samples_j = kUnknown;            ///< integral of the samples over the same span; absent where they do not reach
  double difference_j = kUnknown;         ///< samples − counter
  double difference_pct = kUnknown;       ///< of the counter
  double error_j = kUnknown;              ///< the counter steps every 100 ms or so: ±100 ms × highest power
  std::optional<bool> within_error = {};  ///< |difference| ≤ error; never affects validity
  double read_ms = kUnknown;              ///< longest of its reads
  double longer_average_j = kUnknown;     ///< integral of the driver's longer average (1 s) over the same span
};
BOOST_DESCRIBE_STRUCT(EnergyCheck, (),
                      (begin_unix_s, end_unix_s, counter_j, samples_j, difference_j, difference_pct, error_j, within_error, read_ms, longer_average_j))

/// Power of the GPUs while a load was measured (sweep-run-results 6). Only the boards count: no CPU, no network, no cooling.
/// Without `valid` the metrics are absent.
struct BenchPower {
  std::string source;  ///< "nvml", "nvidia-smi", "amd-smi", "file"
  std::string sensor;  ///< what a sample is: "instant", "average of 1 s", a column's name
  bool valid = false;
  std::vector<PowerReason> reasons;
  double window_begin_unix_s = kUnknown, window_end_unix_s = kUnknown;
  double interval_s = kUnknown;  ///< asked for
  std::int64_t expected_gpus = 0, observed_gpus = 0;
  std::int64_t samples = 0;  ///< used, over all GPUs
  double total_gpu_energy_j = kUnknown;
  double avg_total_gpu_power_w = kUnknown;  ///< energy / window
  double avg_power_w = kUnknown;            ///< of one GPU
  double max_total_gpu_power_w = kUnknown;  ///< highest sum of the samples of one moment
  double joules_per_successful_query = kUnknown, joules_per_input_token = kUnknown, joules_per_output_token = kUnknown, joules_per_total_token = kUnknown;
  std::vector<GpuPower> gpus;
  std::optional<EnergyCheck> energy_check;
  double sm_clock_mean_mhz = kUnknown, sm_clock_min_mhz = kUnknown;  ///< over the samples that carry one
  std::map<std::string, double> throttle_share;                      ///< of those samples, by reason
  double sample_cost_us = kUnknown;                                  ///< mean time to read all GPUs once
};
BOOST_DESCRIBE_STRUCT(BenchPower, (),
                      (source, sensor, valid, reasons, window_begin_unix_s, window_end_unix_s, interval_s, expected_gpus, observed_gpus, samples,
                       total_gpu_energy_j, avg_total_gpu_power_w, avg_power_w, max_total_gpu_power_w, joules_per_successful_query, joules_per_input_token,
                       joules_per_output_token, joules_per_total_token, gpus, energy_check, sm_clock_mean_mhz, sm_clock_min_mhz, throttle_share,
                       sample_cost_us))

/// What the engine itself counted between two looks at its /metrics: the first as the measured phase began, the second when
/// it had ended. Each counter summed over its series, since a version may add a label.
struct EngineCounters {
  std::string url;
  double first_unix_s = kUnknown, second_unix_s = kUnknown;
  std::map<std::string, double> change;  ///< second − first; of histograms and summaries their _sum and _count
  std::vector<std::string> restarted;    ///< counters that fell: the engine began anew, `change` is what it counted since
  std::string problem;                   ///< why there is nothing; empty when all is well
};
BOOST_DESCRIBE_STRUCT(EngineCounters, (), (url, first_unix_s, second_unix_s, change, restarted, problem))

}  // namespace pawl::model
