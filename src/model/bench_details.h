#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/distribution.h"

namespace pawl::model {

/// The run second by second, from its first planned moment on. All lists have the same length.
struct BenchTimeline {
  double step_s = 1;
  std::vector<std::int64_t> started, ok, failed;   ///< requests sent, and ended well or not, within the step
  std::vector<std::int64_t> in_flight;             ///< at the end of the step
  std::vector<std::int64_t> token_events, tokens;  ///< `tokens`: only of events whose count is known
  std::vector<std::optional<double>> ttft_ms;      ///< mean of the first tokens that came within the step
  std::vector<std::optional<double>> gap_ms;       ///< mean of the gaps that ended within the step
};
BOOST_DESCRIBE_STRUCT(BenchTimeline, (), (step_s, started, ok, failed, in_flight, token_events, tokens, ttft_ms, gap_ms))

/// Counts in buckets that grow by a tenth of a decade each; bucket i holds values in [from[i], from[i] · 10^0.1).
struct BenchHistogram {
  std::vector<double> from;
  std::vector<std::int64_t> counts;
};
BOOST_DESCRIBE_STRUCT(BenchHistogram, (), (from, counts))

/// Requests within their service level objectives (BC-12.1, BC-12.2).
struct BenchGoodput {
  std::map<std::string, double> slo;  ///< metric key → bound in its unit
  std::int64_t good = 0;
  double good_per_s = kUnknown;
  double good_share = kUnknown;  ///< of all attempted
};
BOOST_DESCRIBE_STRUCT(BenchGoodput, (), (slo, good, good_per_s, good_share))

/// The longest span in which enough requests were in flight (BC-12.3). Stands beside the full-run figures, never for them.
struct BenchSteady {
  double start_s = kUnknown, end_s = kUnknown;  ///< after the first send
  double threshold = kUnknown;                  ///< requests in flight, at least
  std::int64_t requests = 0;                    ///< ok ones sent and ended within it
  double request_throughput = kUnknown;
  double output_throughput = kUnknown;  ///< tokens by the time of their event
  std::map<std::string, Distribution> metrics;
};
BOOST_DESCRIBE_STRUCT(BenchSteady, (), (start_s, end_s, threshold, requests, request_throughput, output_throughput, metrics))

/// What another tool would have printed of the same timeline (BC-14).
struct BenchCompat {
  std::int64_t completed = 0, failed = 0;
  std::int64_t total_input_tokens = 0, total_output_tokens = 0;
  std::int64_t osl_guessed = 0;  ///< requests whose output length that tool would have guessed, or counted with its own tokenizer
  double duration_s = kUnknown;
  double request_throughput = kUnknown, output_throughput = kUnknown, total_token_throughput = kUnknown;
  std::map<std::string, Distribution> metrics;  ///< ttft_ms, tpot_ms, itl_ms, e2el_ms
};
BOOST_DESCRIBE_STRUCT(BenchCompat, (),
                      (completed, failed, total_input_tokens, total_output_tokens, osl_guessed, duration_s, request_throughput, output_throughput,
                       total_token_throughput, metrics))

/// The first measured request as it went out; secrets masked (BC-11.4).
struct BenchFirstRequest {
  std::string head;
  std::string body;
};
BOOST_DESCRIBE_STRUCT(BenchFirstRequest, (), (head, body))

/// What reports and other tools need of a run beside the headline numbers.
struct BenchDetails {
  std::string definitions = "pawl.metrics/1";      ///< which definitions the keys have: docs/metrics.md
  std::map<std::string, std::int64_t> phases;      ///< requests of each phase
  std::map<std::string, Distribution> partial;     ///< of measured requests that did not succeed: ttft_ms, alive_ms, tokens
  std::int64_t partial_tokens = 0;                 ///< received on them
  std::map<std::string, std::int64_t> isl_source;  ///< requests by where their input count comes from (BC-6.7)
  std::optional<std::int64_t> cached_tokens;       ///< input tokens from the server's cache; absent when it never says
  std::map<std::string, double> coalesced_share;   ///< marked share of the gap and itl samples (BC-7.25)
  double attempted_rate = kUnknown;                ///< (sends − 1) / (last send − first send), per second
  std::int64_t peak_in_flight = 0;
  double mean_in_flight = kUnknown;     ///< weighted by time
  double peak_tokens_per_s = kUnknown;  ///< tokens of the best second (BC-8.6); absent when some counts are unknown
  double peak_events_per_s = kUnknown;  ///< the same of token events
  std::optional<BenchGoodput> goodput;
  std::optional<BenchSteady> steady;
  BenchTimeline timeline;
  std::map<std::string, BenchHistogram> histograms;
  std::map<std::string, std::string> failure_examples;  ///< by class: what the first one said, at most 4 KiB
  std::map<std::string, BenchCompat> compat;            ///< by profile
  std::optional<BenchFirstRequest> first_request;
  std::vector<std::string> argv;                   ///< secrets masked
  std::map<std::string, std::string> environment;  ///< host, kernel, version of this program…
};
BOOST_DESCRIBE_STRUCT(BenchDetails, (),
                      (definitions, phases, partial, partial_tokens, isl_source, cached_tokens, coalesced_share, attempted_rate, peak_in_flight, mean_in_flight,
                       peak_tokens_per_s, peak_events_per_s, goodput, steady, timeline, histograms, failure_examples, compat, first_request, argv, environment))

}  // namespace pawl::model
