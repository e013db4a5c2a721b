#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/bench_power.h"

namespace pawl::telemetry {

/// One page of metrics in the text format of Prometheus, each name summed over its series: a version may add a label, and then
/// one series becomes several.
struct MetricsPage {
  double unix_s = model::kUnknown;         ///< when it was asked for
  std::map<std::string, double> counters;  ///< and of histograms and summaries _sum and _count
  std::map<std::string, double> gauges;
  std::map<std::string, std::int64_t> series;           ///< how many series each name has
  std::map<std::string, std::set<std::string>> labels;  ///< which labels its series carry
};

/// Reads such a page; buckets and quantiles are passed over. What is no sample line is passed over too. Pure.
[[nodiscard]] MetricsPage parse_metrics(std::string_view text);

/// GET `url`. Errors: as http::fetch; a status other than 200; a page without a sample.
[[nodiscard]] Result<MetricsPage> scrape(const std::string& url, Nanos timeout, const double unix_s, std::stop_token stop);

/// What was counted between two looks. A counter that is new counts from 0; one that fell was restarted.
[[nodiscard]] model::EngineCounters counter_changes(const std::string& url, const MetricsPage& first, const MetricsPage& second);

}  // namespace pawl::telemetry
