#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "io/progress.h"
#include "measure/observer.h"
#include "model/bench_result.h"
#include "workload/workload.h"

namespace pawl::loadgen {

/// One load run against one server: a closed loop of `concurrency` requests in flight.
struct LoadRequest {
  std::string url;                 ///< http://host:port, a path prefix is allowed
  std::string backend = "openai";  ///< "openai": /v1/completions with token ids; "openai-chat": /v1/chat/completions with text
  std::string model;
  std::int64_t isl = 1024, osl = 128;  ///< tokens
  double range_ratio = 1;              ///< lengths uniform over [int(L·r), L], at least 1; r = 1: fixed (InferenceX rule)
  std::int64_t concurrency = 1;
  std::int64_t requests = 10;
  std::int64_t warmups = 0;                            ///< before the measured phase, counted nowhere
  std::int64_t seed = 0;                               ///< same seed, same prompts and lengths
  std::int64_t vocabulary = 30000;                     ///< token ids are drawn from [100, vocabulary)
  std::shared_ptr<const workload::Workload> workload;  ///< where prompts come from; empty: random ones of the five fields above
  bool ignore_eos = true;
  double request_timeout_s = 600;
  std::optional<std::string> bearer;         ///< sent, never logged or stored
  double failure_share_max = 0.05;           ///< above: verdict INVALID
  measure::RunObserver* observer = nullptr;  ///< gets every measured record as it ends; must outlive the run
};

/// Runs it and judges it. Blocks; on the calling thread. Errors: the server cannot be reached at all (kTransient, exit
/// 5), descriptors or ports run out (kExhausted, exit 4), `stop` fired (kCancelled). Failed requests are no error: they
/// are counted in the result, and the verdict says whether it can be used.
[[nodiscard]] Result<model::BenchResult> run_load(const LoadRequest& request, io::Progress& progress, std::stop_token stop);

}  // namespace pawl::loadgen
