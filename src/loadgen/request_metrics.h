#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loadgen/record.h"
#include "stats/percentile.h"

namespace pawl::loadgen {

/// Output tokens of a request and where the number comes from: "usage", "usage_stream" or "events".
struct OutputTokens {
  std::int64_t count = 0;
  std::string source;
  [[nodiscard]] bool approximate() const { return source == "events"; }
};
[[nodiscard]] OutputTokens output_tokens(const RequestRecord& record);

/// Input tokens: the server's number, else the exact length of a prompt of token ids, else nothing.
[[nodiscard]] std::optional<std::int64_t> input_tokens(const RequestRecord& record);

/// The numbers of one request, in milliseconds. What the contract leaves undefined is absent.
struct RequestMetrics {
  std::optional<double> ttft_ms, ttfe_ms, tpot_ms, e2el_ms, lag_ms;
  std::vector<double> gap_ms;           ///< one fewer than token events; empty for a single burst
  std::vector<stats::Weighted> itl_ms;  ///< gap per token, weighted by tokens; empty unless every count is known
  std::int64_t coalesced = 0;           ///< token events that share the time of the one before
  bool single_burst = false;
};
[[nodiscard]] RequestMetrics metrics_of(const RequestRecord& record);

}  // namespace pawl::loadgen
