#pragma once

#include <span>
#include <string_view>

namespace pawl::model {

/// Definition of one metric: the only place where it is defined. Code, API, dashboard and docs/metrics.md read it here.
struct MetricDefinition {
  std::string_view key;   ///< family name inside keys: "ttft" in `mean_ttft`, `ttft_ms`
  std::string_view name;  ///< as people write it: "TTFT"
  std::string_view unit;  ///< of a row value: "s", "tok/s/GPU", "tok/s/user"
  bool higher_is_better;
  std::string_view formula;     ///< per request or per run
  std::string_view population;  ///< which requests count, and what the others do
  std::string_view source;      ///< contract rule
};

[[nodiscard]] std::span<const MetricDefinition> metric_definitions();
/// Nothing when no metric has this key.
[[nodiscard]] const MetricDefinition* find_metric(std::string_view key);

}  // namespace pawl::model
