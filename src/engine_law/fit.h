#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine_law/law.h"

namespace pawl::engine_law {

enum class Statistic { kMean, kMedian };
BOOST_DESCRIBE_ENUM(Statistic, kMean, kMedian)

/// One published point. What was not published is absent (NaN in memory).
struct RowPoint {
  std::int64_t tp = 1, conc = 1;
  double total_tok_s_gpu = 0, output_tok_s_gpu = 0;  ///< a GPU
  double tpot_ms = 0, ttft_ms = 0;
  std::optional<std::int64_t> poll_steps;  ///< as the point's launch set it; absent: 1
};
BOOST_DESCRIBE_STRUCT(RowPoint, (), (tp, conc, total_tok_s_gpu, output_tok_s_gpu, tpot_ms, ttft_ms, poll_steps))

/// Published rows of one engine, as a file has them.
struct Rows {
  std::string name, source;
  std::int64_t isl = 1, osl = 1;                               ///< tokens, the most
  double range_ratio = 1;                                      ///< lengths are uniform from this share to the whole
  std::int64_t requests_per_slot = 10;                         ///< the load was a closed loop of so many requests a slot
  Statistic tpot = Statistic::kMean, ttft = Statistic::kMean;  ///< which statistic the points hold
  std::int64_t chunk_tokens = 8192;
  std::map<std::string, std::int64_t> kv_tokens;  ///< by number of GPUs
  std::optional<bool> mixed;                      ///< absent: whichever fits better
  std::vector<RowPoint> points;
};
BOOST_DESCRIBE_STRUCT(Rows, (), (name, source, isl, osl, range_ratio, requests_per_slot, tpot, ttft, chunk_tokens, kv_tokens, mixed, points))

/// Checks ranges; messages name `file` and the point.
[[nodiscard]] Status check(const Rows& rows, const std::string& file);

/// One published number against the law.
struct Residual {
  std::int64_t tp = 1, conc = 1;
  std::string what;  ///< "total_tok_s_gpu", "output_tok_s_gpu", "tpot_ms", "ttft_ms"
  double observed = 0, predicted = 0;
  bool held_out = false;  ///< the fit did not see this point
  [[nodiscard]] double relative() const { return predicted / observed - 1; }
};

struct Fit {
  std::map<std::string, Law> law;  ///< by number of GPUs
  std::vector<Residual> residuals;
  bool mixed = true;
  double rms = 0;  ///< of the relative residuals of what the fit saw
};

/// Fits a law to the rows, a number of GPUs each, without the concurrencies in `held_out`; those are predicted. With three
/// and more points: base, slope and exponent of decode, its KV term, prefill rate, admission. With fewer: the law of the
/// number of GPUs with most points, decode scaled as a whole, prefill rate and admission anew. Errors: no number of GPUs
/// has two points left (kInvalid). Takes seconds: the whole load is simulated some hundred times.
[[nodiscard]] Result<Fit> fit(const Rows& rows, const std::set<std::int64_t>& held_out);

}  // namespace pawl::engine_law
