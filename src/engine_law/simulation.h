#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <vector>

#include "engine_law/fleet.h"

namespace pawl::engine_law {

/// A closed loop: `concurrency` requests are always in flight until `requests` were sent.
struct ClosedLoop {
  std::int64_t concurrency = 1;
  std::int64_t requests = 1;
  std::int64_t isl = 1, osl = 1;  ///< tokens, the most
  double range_ratio = 1;         ///< each length is uniform from this share of it to the whole
  std::uint64_t seed = 1;         ///< of the lengths
};

/// What came of it. Times in ms; rates over the time from the first request to the last token.
struct Outcome {
  double duration_s = 0;
  std::int64_t requests = 0, refused = 0;  ///< refused: can never fit the KV cache
  std::int64_t input_tokens = 0, output_tokens = 0, preemptions = 0;
  double total_tok_s = 0, output_tok_s = 0;
  double ttft_mean_ms = 0, ttft_median_ms = 0, ttft_p99_ms = 0;
  double tpot_mean_ms = 0, tpot_median_ms = 0;
  double e2e_mean_ms = 0, e2e_median_ms = 0;
};
BOOST_DESCRIBE_STRUCT(Outcome, (),
                      (duration_s, requests, refused, input_tokens, output_tokens, preemptions, total_tok_s, output_tok_s, ttft_mean_ms, ttft_median_ms,
                       ttft_p99_ms, tpot_mean_ms, tpot_median_ms, e2e_mean_ms, e2e_median_ms))

/// Runs the loop in simulated time. TPOT is (last − first token) / (N − 1), as BC-7.9 has it; requests of one token have none.
[[nodiscard]] Outcome simulate(const Deployment& deployment, const ClosedLoop& load, std::uint64_t seed = 1);

}  // namespace pawl::engine_law
