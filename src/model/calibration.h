#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace pawl::model {

/// The client's own error on one machine, measured against a source of known times (`pawl bench calibrate`, BC-12.6). Errors
/// are what the client says less what happened.
struct Calibration {
  std::string schema = "pawl.calibration/1";
  std::string taken_at;  ///< UTC
  std::string host, kernel, version;
  std::int64_t cores = 0;  ///< that the process could use; client and source share them
  std::string clock;       ///< "kernel" or "user"
  std::int64_t streams = 0, requests = 0, token_events = 0;
  double gap_ms = 0;                                                                 ///< of the source
  double ttft_error_mean_ms = std::numeric_limits<double>::quiet_NaN();              ///< signed: the bias
  double ttft_error_p99_ms = std::numeric_limits<double>::quiet_NaN();               ///< of its size
  double ttft_error_after_burst_mean_ms = std::numeric_limits<double>::quiet_NaN();  ///< without the first request of each stream
  double ttft_error_after_burst_p99_ms = std::numeric_limits<double>::quiet_NaN();
  double gap_error_p50_ms = std::numeric_limits<double>::quiet_NaN(), gap_error_p99_ms = std::numeric_limits<double>::quiet_NaN();
  double gap_error_sigma_ms = std::numeric_limits<double>::quiet_NaN();
  double cpu_s_per_million_events = std::numeric_limits<double>::quiet_NaN();  ///< of the client's threads
  std::int64_t streams_within_1ms = 0;  ///< most streams of that gap at which the TTFT error stayed within 1 ms (p99); 0: not looked for
};
BOOST_DESCRIBE_STRUCT(Calibration, (),
                      (schema, taken_at, host, kernel, version, cores, clock, streams, requests, token_events, gap_ms, ttft_error_mean_ms, ttft_error_p99_ms,
                       ttft_error_after_burst_mean_ms, ttft_error_after_burst_p99_ms, gap_error_p50_ms, gap_error_p99_ms, gap_error_sigma_ms,
                       cpu_s_per_million_events, streams_within_1ms))

}  // namespace pawl::model
