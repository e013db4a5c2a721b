#include "telemetry/metrics_difference.h"

#include <algorithm>
#include <iterator>

namespace pawl::telemetry {
namespace {

double sum_of(const MetricsPage& page, const std::string& name) {
  if (const auto counter = page.counters.find(name); counter != page.counters.end()) return counter->second;
  const auto gauge = page.gauges.find(name);
  return gauge == page.gauges.end() ? 0 : gauge->second;
}

}  // namespace

MetricsDifference metrics_difference(const MetricsPage& before, const MetricsPage& after) {
  MetricsDifference out;
  for (const auto& [name, series] : before.series) {
    const auto now = after.series.find(name);
    if (now == after.series.end()) {
      out.gone.push_back(name);
      continue;
    }
    static const std::set<std::string> kNone;
    const auto labels = [&](const MetricsPage& page) -> const std::set<std::string>& {
      const auto found = page.labels.find(name);
      return found == page.labels.end() ? kNone : found->second;
    };
    const std::set<std::string>&old_labels = labels(before), &new_labels = labels(after);
    if (old_labels == new_labels) {
      ++out.unchanged;
      continue;
    }
    LabelChange change;
    change.name = name;
    std::ranges::set_difference(new_labels, old_labels, std::back_inserter(change.gained));
    std::ranges::set_difference(old_labels, new_labels, std::back_inserter(change.lost));
    change.old_series = series;
    change.new_series = now->second;
    change.old_sum = sum_of(before, name);
    change.new_sum = sum_of(after, name);
    out.labels.push_back(std::move(change));
  }
  for (const auto& [name, series] : after.series) {
    if (!before.series.contains(name)) out.added.push_back(name);
  }
  return out;
}

}  // namespace pawl::telemetry
