#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "model/bench_result.h"

namespace pawl::compare {

/// What a difference means. Only `kRegressed` and `kImproved` claim one.
enum class Change {
  kImproved,       ///< better by more than the margin
  kEquivalent,     ///< inside the margin
  kRegressed,      ///< worse by more than the margin
  kInconclusive,   ///< a difference, but one of the two numbers does not vouch for itself
  kNotComparable,  ///< one of the two does not exist
};
BOOST_DESCRIBE_ENUM(Change, kImproved, kEquivalent, kRegressed, kInconclusive, kNotComparable)

/// Latency statistic that is compared; never mixed.
enum class Statistic { kMean, kMedian };
BOOST_DESCRIBE_ENUM(Statistic, kMean, kMedian)

/// One metric of one point in two measurements, in the unit of the row (seconds, tokens/s/GPU).
struct MetricChange {
  std::string key;  ///< of the row: "tput_per_gpu", "mean_ttft"
  double baseline = model::kUnknown, candidate = model::kUnknown;
  double delta_percent = model::kUnknown;  ///< (candidate / baseline − 1) · 100, from unrounded values
  Change change = Change::kNotComparable;
  std::string note;  ///< why it is not comparable or inconclusive
};
BOOST_DESCRIBE_STRUCT(MetricChange, (), (key, baseline, candidate, delta_percent, change, note))

struct PointChange {
  std::string point_key, label;
  bool matched = false;                    ///< a baseline row with this key exists
  std::vector<MetricChange> metrics;       ///< tput_per_gpu, output_tput_per_gpu, TPOT, TTFT, in this order
  Change change = Change::kNotComparable;  ///< regressed if any metric is, else inconclusive, improved, equivalent, in this order
};
BOOST_DESCRIBE_STRUCT(PointChange, (), (point_key, label, matched, metrics, change))

struct EvalChange {
  std::string point_key, label, task;
  double score = model::kUnknown, score_se = model::kUnknown, flexible = model::kUnknown;
  std::int64_t n_eff = 0;
  double threshold = model::kUnknown;
  bool passed = false;
  std::optional<double> baseline;  ///< strict score of the same point, task and definition
  std::optional<std::int64_t> baseline_n;
  std::string note;  ///< why there is no baseline, when there is none
};
BOOST_DESCRIBE_STRUCT(EvalChange, (), (point_key, label, task, score, score_se, flexible, n_eff, threshold, passed, baseline, baseline_n, note))

struct Comparison {
  Statistic statistic = Statistic::kMean;
  std::vector<PointChange> points;   ///< candidate order
  std::vector<std::string> missing;  ///< labels of baseline points without a candidate row
  std::vector<EvalChange> evals;
  std::int64_t matched = 0;
  Change change = Change::kNotComparable;  ///< of the matched points, combined in the same way
};
BOOST_DESCRIBE_STRUCT(Comparison, (), (statistic, points, missing, evals, matched, change))

/// Percent within which a difference is noise. Defaults from the spread of repeated publications (upgrade-loop 23).
struct Margins {
  double throughput = 2, tpot = 2, ttft = 15;
};

/// Compares rows point by point, matched by point key. Rows of another scale are not comparable. Errors: two rows of one
/// side with one key.
[[nodiscard]] Result<Comparison> compare(const std::vector<codec::Json>& baseline, const std::vector<codec::Json>& candidate,
                                         const std::vector<codec::Json>& baseline_evals, const std::vector<codec::Json>& candidate_evals, Statistic statistic,
                                         const Margins& margins = {});

}  // namespace pawl::compare
