#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/engine_metrics.h"

namespace pawl::telemetry {

struct LabelChange {
  std::string name;
  std::vector<std::string> gained, lost;
  std::int64_t old_series = 0, new_series = 0;
  double old_sum = 0, new_sum = 0;  ///< over all series: a label that was gained changes nothing about it
};
BOOST_DESCRIBE_STRUCT(LabelChange, (), (name, gained, lost, old_series, new_series, old_sum, new_sum))

/// What another version exposes otherwise. Values are no difference: they are the run's.
struct MetricsDifference {
  std::vector<std::string> added, gone;
  std::vector<LabelChange> labels;
  std::int64_t unchanged = 0;
};
BOOST_DESCRIBE_STRUCT(MetricsDifference, (), (added, gone, labels, unchanged))

[[nodiscard]] MetricsDifference metrics_difference(const MetricsPage& before, const MetricsPage& after);

}  // namespace pawl::telemetry
