#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "engine_law/simulation.h"
#include "io/assets.h"

namespace pawl::twin {

/// What one point of a sweep would give, by the law of the profile that twin.yaml maps its image to.
struct PredictedPoint {
  std::string recipe, label, profile;
  std::int64_t conc = 1, gpus = 1, isl = 0, osl = 0;
  std::string skipped;  ///< why there is no prediction; empty otherwise
  bool fitted = false;  ///< the profile has a law for exactly this number of GPUs
  double total_tok_s_gpu = 0, output_tok_s_gpu = 0;
  double ttft_ms = 0, tpot_ms = 0;  ///< means
  double start_s = 0, warmup_s = 0, bench_s = 0;
  double gpu_hours = 0;
  std::int64_t preemptions = 0;
};
BOOST_DESCRIBE_STRUCT(PredictedPoint, (),
                      (recipe, label, profile, conc, gpus, isl, osl, skipped, fitted, total_tok_s_gpu, output_tok_s_gpu, ttft_ms, tpot_ms, start_s, warmup_s,
                       bench_s, gpu_hours, preemptions))

struct PredictOptions {
  std::int64_t requests_per_slot = 10, warmups_per_slot = 2;
  double range_ratio = 0.8;
  double start_s = 300;  ///< of an engine whose profile does not say (real_start_s)
};

/// The points of a matrix (`pawl matrix full-sweep`: a list of rows, or lists by kind), in simulated time. Equal points are
/// simulated once. `told` is called after every point with how many are done; it may ask to stop by answering false.
/// Errors: a row that is none (kInvalid), a profile that cannot be read.
[[nodiscard]] Result<std::vector<PredictedPoint>> predict(const io::Assets& assets, const codec::Json& matrix, const PredictOptions& options,
                                                          const std::function<bool(std::size_t done, std::size_t total)>& told);

}  // namespace pawl::twin
