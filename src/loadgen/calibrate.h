#pragma once

#include <cstdint>
#include <stop_token>

#include "base/result.h"
#include "io/progress.h"
#include "model/calibration.h"

namespace pawl::loadgen {

struct CalibrationOptions {
  std::int64_t streams = 256;
  std::int64_t tokens = 64;  ///< an answer
  std::int64_t rounds = 3;   ///< answers a stream
  double gap_ms = 25;
  std::int64_t most_streams = 0;  ///< above `streams`: double the streams up to it while the TTFT error stays within 1 ms
};

/// Measures the client against a source of known times in this process (BC-12.6). Fills everything but `taken_at`, `host`,
/// `kernel` and `version`. With two cores or more the source gets one for itself. Blocks for some seconds. Errors: as of
/// run_load.
[[nodiscard]] Result<model::Calibration> calibrate(const CalibrationOptions& options, io::Progress& progress, std::stop_token stop);

}  // namespace pawl::loadgen
