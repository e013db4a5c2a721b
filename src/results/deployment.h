#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>

#include "codec/json.h"

namespace pawl::results {

/// One serving deployment as the public API names it: the 17 columns of `configs` (api-dashboard 2.1), in their order.
struct Deployment {
  std::string hardware, framework, model, precision, spec_method;
  bool disagg = false, is_multinode = false;
  std::int64_t prefill_tp = 0, prefill_ep = 1;
  bool prefill_dp_attention = false;
  std::int64_t prefill_num_workers = 0;
  std::int64_t decode_tp = 0, decode_ep = 1;
  bool decode_dp_attention = false;
  std::int64_t decode_num_workers = 0;
  std::int64_t num_prefill_gpu = 0, num_decode_gpu = 0;  ///< aggregate engines repeat one count in both
};
BOOST_DESCRIBE_STRUCT(Deployment, (),
                      (hardware, framework, model, precision, spec_method, disagg, is_multinode, prefill_tp, prefill_ep, prefill_dp_attention,
                       prefill_num_workers, decode_tp, decode_ep, decode_dp_attention, decode_num_workers, num_prefill_gpu, num_decode_gpu))

/// The deployment of a result or eval row (api-dashboard 2.4.2, 2.5.2). `model` is the row's prefix in lower case; the
/// API puts the raw key of the name table there. Total: what a row lacks stays at its default.
[[nodiscard]] Deployment deployment_of_row(const codec::Json& row);

/// What of a benchmark row is a measurement: every number that is not identity, under its own name (api-dashboard
/// 2.5.4). Never a null, never our provenance.
[[nodiscard]] codec::Json metrics_of_row(const codec::Json& row);

/// "on" or "off" (api-dashboard 2.5.3).
[[nodiscard]] std::string offload_mode_of_row(const codec::Json& row);

/// ASCII letters in lower case.
[[nodiscard]] std::string lower_case(std::string text);

/// A text member; empty when it is absent or no text.
[[nodiscard]] std::string text_of(const codec::Json& row, const char* key);

}  // namespace pawl::results
