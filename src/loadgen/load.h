#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/result.h"
#include "io/progress.h"
#include "loadgen/gather.h"
#include "loadgen/tls.h"
#include "measure/observer.h"
#include "measure/summary.h"
#include "model/bench_result.h"
#include "workload/schedule.h"
#include "workload/workload.h"

namespace pawl::loadgen {

/// One load run. A closed loop of `concurrency` requests in flight, or, with `arrivals` or `data_set_arrivals`, an open
/// loop. Where the workload has sessions, it is these that are in flight or arrive; their turns follow by themselves.
struct LoadRequest {
  std::string url;                     ///< http://host:port, https://host:port or unix:PATH; a path prefix is allowed
  std::vector<std::string> more_urls;  ///< further servers of the same model, used in turn
  std::string backend = "openai";      ///< "openai": /v1/completions with token ids; "openai-chat": /v1/chat/completions with text
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
  bool keep_text = false;  ///< keep the text of answers in the records
  codec::Json tools;       ///< chat: array of tools in every request; null without
  codec::Json extra;       ///< the user's own keys of every body, over what is built in (BC-11.4); null without
  bool echo = false;       ///< completions of text: ask for the prompt back, which is then no output (BC-5.8)

  // ── what is computed beside the numbers of every run ──
  std::vector<measure::SloTerm> slo;
  std::vector<measure::Profile> profiles;

  // ── open loop ──
  std::optional<workload::ArrivalPlan> arrivals;
  bool data_set_arrivals = false;          ///< prompts carry their times
  double data_set_speed = 1;               ///< factor of those times: 2 sends twice as fast
  std::optional<std::int64_t> open_limit;  ///< requests in flight at most; arrivals beyond it wait (BC-9.6)

  // ── how long ──
  double duration_s = 0;          ///< above 0: the measured phase ends by time, and `requests` says nothing
  double ramp_s = 0;              ///< closed loop: the first starts are spread over it, and what starts in it is not measured
  std::optional<double> drain_s;  ///< what still runs so long after the last send is censored; default: 60 when ended by time, else none

  // ── connections ──
  double connect_timeout_s = 10, request_timeout_s = 600;
  double first_token_timeout_s = 0, idle_timeout_s = 0;  ///< 0: none
  double idle_connection_s = 30;                         ///< a connection that stood longer is not used again
  std::size_t max_event_bytes = 64u << 20;               ///< of a line or an event of an answer; above it the request fails (BC-4.7)
  bool replay_stale = false;                             ///< BC-3.7: once more when a kept connection was closed before any byte
  std::vector<std::pair<std::string, std::string>> headers;
  TlsOptions tls;
  std::optional<std::string> bearer;  ///< sent, never logged or stored

  // ── this client ──
  std::int64_t threads = 0;  ///< 0: by load and by the cores that this process may use
  GatherMode gather = GatherMode::kAuto;
  bool partial_on_stop = false;              ///< a stop gives what was measured so far instead of kCancelled
  double failure_share_max = 0.05;           ///< above: verdict INVALID
  measure::RunObserver* observer = nullptr;  ///< gets every record of the measured phase as it ends; must outlive the run
};

/// Runs it and judges it. Blocks; on the calling thread. Errors: the server cannot be reached at all (kTransient, exit
/// 5), descriptors or ports run out (kExhausted, exit 4), `stop` fired (kCancelled). Failed requests are no error: they
/// are counted in the result, and the verdict says whether it can be used.
[[nodiscard]] Result<model::BenchResult> run_load(const LoadRequest& request, io::Progress& progress, std::stop_token stop);

/// The reason of a verdict (its code) is about this client or this machine: measuring again may help.
[[nodiscard]] bool is_of_client(std::string_view code);

}  // namespace pawl::loadgen
