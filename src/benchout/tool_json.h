#pragma once

#include <string>

#include "benchout/run_info.h"
#include "codec/json.h"
#include "model/distribution.h"

/// What the formats of vLLM, SGLang and InferenceX have in common.
namespace pawl::benchout {

/// The block of a profile, or an error that says how to get it.
[[nodiscard]] Result<const model::BenchCompat*> compat_of(const model::BenchResult& result, const std::string& profile);

/// A finite number, else 0: what those tools write for an empty sample (BC-14.1).
[[nodiscard]] codec::Json or_zero(double value);

/// `mean_`, `median_`, `std_` and `pP_` of a metric, by the name that the tool uses: "e2el_ms". `skip_zero`: values that
/// are unknown or 0 are left out instead of written as 0.
void put_statistics(codec::Json& out, const std::string& name, const model::Distribution& d, const std::vector<double>& percentiles, bool skip_zero);

/// "20261130-161205"
[[nodiscard]] std::string compact_date(WallTime t);

/// The arrays of every request, index-aligned, seconds: input_lens and output_lens always; with `detailed` also ttfts,
/// itls, generated_texts, errors and what vLLM adds. Zeros where those tools write zeros.
struct Arrays {
  bool detailed = false;
  bool vllm = false;  ///< start_times, latencies, queue_times
};
[[nodiscard]] Status put_arrays(codec::Json& out, const std::string& profile, const Arrays& what, bool chat, const Records& records);

}  // namespace pawl::benchout
