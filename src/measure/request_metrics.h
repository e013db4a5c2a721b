#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/record.h"

namespace pawl::measure {

/// Output tokens of a request and where the number comes from (BC-6.1), in falling order of trust: "usage",
/// "usage_stream", "meta", "ids", "retok", "events". The requested maximum is never a count.
struct OutputTokens {
  std::int64_t count = 0;
  std::string_view source;
  /// One token an event is a guess: it enters no token total and no token rate unless the user allows it (BC-6.2).
  [[nodiscard]] bool approximate() const { return source == "events"; }
};
[[nodiscard]] OutputTokens output_tokens(const RequestRecord& record);

/// Input tokens (BC-6.7): the server's number, else the exact length of a prompt of token ids, else our tokenizer's.
struct InputTokens {
  std::int64_t count = 0;
  std::string_view source;  ///< "usage", "meta", "exact", "retok"
};
[[nodiscard]] std::optional<InputTokens> input_tokens(const RequestRecord& record);

/// Input tokens that the server took from its cache; nothing when it does not say (BC-6.8).
[[nodiscard]] std::optional<std::int64_t> cached_tokens(const RequestRecord& record);

/// A gap between token events, or a time per token.
struct Sample {
  double ms = 0;
  std::int64_t weight = 1;  ///< tokens it stands for; 1 for a gap
  bool coalesced = false;   ///< it ends at an event whose time is that of a read which held several
};

/// The numbers of one request (BC-7). Milliseconds unless the name says otherwise. What the contract leaves undefined is
/// absent. Reuse one object for many requests: its lists keep their memory.
struct RequestMetrics {
  std::optional<double> ttft_ms;          ///< BC-7.1
  std::optional<double> ttft_sched_ms;    ///< BC-7.2
  std::optional<double> ttfe_ms;          ///< BC-7.3
  std::optional<double> ttfa_ms;          ///< BC-7.4
  std::optional<double> ttst_ms;          ///< BC-7.5
  std::optional<double> e2el_ms;          ///< BC-7.6
  std::optional<double> e2el_sched_ms;    ///< BC-7.7
  std::optional<double> e2el_body_ms;     ///< BC-7.8
  std::optional<double> tpot_ms;          ///< BC-7.9
  std::optional<double> tpot_decode_ms;   ///< BC-7.10
  std::optional<double> max_gap_ms;       ///< BC-7.13
  std::optional<double> tok_per_event;    ///< BC-7.14, tokens
  std::optional<double> queue_client_ms;  ///< BC-7.15
  std::optional<double> lag_ms;           ///< BC-7.16
  std::optional<double> connect_ms;       ///< BC-7.17
  std::optional<double> user_tps;         ///< BC-7.18, tokens per second
  std::optional<double> ntpot_ms;         ///< BC-7.19
  std::optional<double> build_ms;         ///< BC-2.6
  std::vector<Sample> gap;                ///< BC-7.11: E − 1 of them (each choice has its own stream); none for a single burst
  std::vector<Sample> itl;                ///< BC-7.12, weighted by tokens; none unless the tokens of every event are known
  bool itl_known = false;                 ///< whether `itl` says something: false is "null", not "none"
  std::int64_t token_events = 0;          ///< E
  std::int64_t coalesced_events = 0;
  std::int64_t coalesced_reads = 0;        ///< reads that completed several token events
  std::optional<std::int64_t> k_residual;  ///< N − Σk_i where every k_i is known (BC-6.6)
  bool single_burst = false;               ///< BC-7.22
};

struct MetricOptions {
  bool allow_approximate = false;  ///< let counts of source "events" into token rates (BC-6.2)
};

/// Computes the metrics of a request of any outcome. Latencies to the end (`e2el…`, `ntpot`) exist for ok ones only.
void compute(const RequestRecord& record, const MetricOptions& options, RequestMetrics& out);
[[nodiscard]] RequestMetrics metrics_of(const RequestRecord& record, const MetricOptions& options = {});

/// The first place where the moments of a record are out of order (BC-2.7), as "admit > send"; empty when all is well.
[[nodiscard]] std::string_view order_violation(const RequestRecord& record);

}  // namespace pawl::measure
