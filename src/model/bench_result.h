#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/bench_data_set.h"
#include "model/bench_details.h"
#include "model/bench_power.h"
#include "model/calibration.h"
#include "model/client_health.h"
#include "model/distribution.h"

namespace pawl::model {

struct VerdictReason {
  std::string code;  ///< stable word: "failure-share", "lag", "osl-mismatch"…
  std::string text;  ///< for people
};
BOOST_DESCRIBE_STRUCT(VerdictReason, (), (code, text))

/// Outcomes of the measured requests; they sum to `planned`.
struct RequestCounts {
  std::int64_t planned = 0, ok = 0, failed = 0, timeout = 0, cancelled = 0, censored = 0, skipped = 0;
};
BOOST_DESCRIBE_STRUCT(RequestCounts, (), (planned, ok, failed, timeout, cancelled, censored, skipped))

/// The native result of one load run (`pawl.bench-result/1`). Durations in seconds, rates per second, token counts as
/// the server reports them. Metric keys: ttft_ms, tpot_ms, itl_ms, e2el_ms, gap_ms, lag_ms, rx_delay_ms.
struct BenchResult {
  std::string schema = "pawl.bench-result/1";
  std::string url;      ///< without credentials
  std::string backend;  ///< "openai" (completions) or "openai-chat"
  std::string model_id;
  std::string endpoint;
  std::int64_t max_concurrency = 0;
  std::int64_t isl = 0, osl = 0;  ///< tokens asked for
  double range_ratio = 1;
  std::int64_t num_requests = 0, num_warmups = 0;
  std::int64_t seed = 0;
  std::string clock;  ///< "kernel" or "user": where the receive times come from
  double started_unix_s = kUnknown, ended_unix_s = kUnknown;
  double duration_s = kUnknown;  ///< latest end − earliest send over the measured requests
  RequestCounts counts;
  std::map<std::string, std::int64_t> failures;  ///< by class of BC-3.4
  std::int64_t total_input_tokens = 0, total_output_tokens = 0;
  std::map<std::string, std::int64_t> osl_source;  ///< requests by where their token count comes from (BC-6.1)
  double request_throughput = kUnknown, output_throughput = kUnknown, total_token_throughput = kUnknown;
  std::map<std::string, Distribution> metrics;
  std::map<std::string, std::int64_t> flags;  ///< counted oddities: coalesced_events, no_done, osl_mismatch…
  ClientHealth client;
  std::optional<Calibration> calibration;  ///< the latest of this client on this machine; absent when it was never taken
  std::string verdict;                     ///< VALID, SUSPECT, INVALID
  std::vector<VerdictReason> reasons;
  std::optional<BenchDataSet> workload;                        ///< what was asked; absent where a job gave lengths alone
  std::optional<BenchDetails> details;                         ///< what only reports and other tools need
  std::optional<BenchPower> power;                             ///< absent when it was not asked for
  std::optional<std::vector<EngineCounters>> engine_counters;  ///< one for each page that was asked for
};
BOOST_DESCRIBE_STRUCT(BenchResult, (),
                      (schema, url, backend, model_id, endpoint, max_concurrency, isl, osl, range_ratio, num_requests, num_warmups, seed, clock, started_unix_s,
                       ended_unix_s, duration_s, counts, failures, total_input_tokens, total_output_tokens, osl_source, request_throughput, output_throughput,
                       total_token_throughput, metrics, flags, client, calibration, verdict, reasons, workload, details, power, engine_counters))

}  // namespace pawl::model
