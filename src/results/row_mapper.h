#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "results/ingest_counts.h"
#include "results/records.h"
#include "results/vocabulary.h"

namespace pawl::results {

/// Parses a JSON document of an artifact. Takes the bare words NaN, Infinity and -Infinity that Python writes, and
/// numbers beyond a double, as the texts "NaN", "Infinity", "-Infinity"; everything else of the kind is malformed
/// (api-dashboard 2.5.3).
[[nodiscard]] Result<codec::Json> parse_artifact_json(std::string_view text, const std::string& name, std::size_t max_bytes = 64u << 20);

/// Rows of artifacts as records (api-dashboard 2.5 and 2.6): schemas v1, v2 and v3. Pure; thread-safe.
class RowMapper {
 public:
  /// `vocabulary` is not copied.
  explicit RowMapper(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  /// A benchmark row; nothing when it is skipped, with the reason counted. `artifact` is the name of what it stood in:
  /// old rows have their lengths only there. A row that the unit-slip rule flags comes back with `held`.
  [[nodiscard]] std::optional<BenchmarkRecord> benchmark(const codec::Json& row, const std::string& artifact, IngestCounts& counts) const;
  /// A flat row of `agg_eval_all.json`; nothing when it is skipped.
  [[nodiscard]] std::optional<EvalRecord> evaluation(const codec::Json& row, IngestCounts& counts) const;
  /// The identity columns of a row; nothing when model or hardware are unknown (counted).
  [[nodiscard]] std::optional<Deployment> deployment(const codec::Json& row, IngestCounts& counts) const;

 private:
  const Vocabulary* vocabulary_;
};

/// The unit-slip rule (api-dashboard 2.5.5).
struct UnitCheck {
  std::optional<double> k, m;
  bool gpus_known = false;
  std::string verdict;  ///< empty: no remark; "unitSlip" or "unitMixed"
  std::string text;     ///< what a person should read; empty without remark
};
/// `gpus`: of all roles; 0 when not known.
[[nodiscard]] UnitCheck check_units(const codec::Json& metrics, std::int64_t gpus, std::int64_t conc, std::int64_t isl, std::int64_t osl);

/// GPUs of all roles: prefill and decode of a disaggregated deployment, else the one pool.
[[nodiscard]] std::int64_t gpus_of(const Deployment& deployment);

}  // namespace pawl::results
