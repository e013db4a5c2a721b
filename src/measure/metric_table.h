#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "measure/request_metrics.h"

namespace pawl::measure {

/// A metric that a request has one value of: where it stands in RequestMetrics and under which key results show it. Name,
/// formula and population are in `model::find_metric`, under the key without its unit.
struct RequestMetric {
  std::string_view key;  ///< "ttft_ms"
  std::optional<double> RequestMetrics::*value;
};

inline constexpr std::array kRequestMetrics{
    RequestMetric{"ttft_ms", &RequestMetrics::ttft_ms},
    RequestMetric{"ttft_sched_ms", &RequestMetrics::ttft_sched_ms},
    RequestMetric{"ttfe_ms", &RequestMetrics::ttfe_ms},
    RequestMetric{"ttfa_ms", &RequestMetrics::ttfa_ms},
    RequestMetric{"ttst_ms", &RequestMetrics::ttst_ms},
    RequestMetric{"tpot_ms", &RequestMetrics::tpot_ms},
    RequestMetric{"tpot_decode_ms", &RequestMetrics::tpot_decode_ms},
    RequestMetric{"ntpot_ms", &RequestMetrics::ntpot_ms},
    RequestMetric{"e2el_ms", &RequestMetrics::e2el_ms},
    RequestMetric{"e2el_sched_ms", &RequestMetrics::e2el_sched_ms},
    RequestMetric{"e2el_body_ms", &RequestMetrics::e2el_body_ms},
    RequestMetric{"max_gap_ms", &RequestMetrics::max_gap_ms},
    RequestMetric{"tok_per_event", &RequestMetrics::tok_per_event},
    RequestMetric{"user_tps", &RequestMetrics::user_tps},
    RequestMetric{"connect_ms", &RequestMetrics::connect_ms},
    RequestMetric{"build_ms", &RequestMetrics::build_ms},
};

/// The client's own times: of every request that was sent, whatever became of it.
inline constexpr std::array kClientMetrics{
    RequestMetric{"lag_ms", &RequestMetrics::lag_ms},
    RequestMetric{"queue_client_ms", &RequestMetrics::queue_client_ms},
};

}  // namespace pawl::measure
