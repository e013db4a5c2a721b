#include "loadgen/rate_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace pawl::loadgen {
namespace {

constexpr std::array<std::string_view, 7> kStatistics{"p50", "p90", "p95", "p99", "p99.9", "mean", "max"};
constexpr std::array<std::string_view, 6> kMetrics{"ttft", "tpot", "itl", "e2el", "gap", "ttft_sched"};

/// "ttft_p99" in two.
std::pair<std::string_view, std::string_view> split_name(std::string_view name) {
  const auto at = name.rfind('_');
  if (at == std::string_view::npos) return {name, {}};
  return {name.substr(0, at), name.substr(at + 1)};
}

}  // namespace

RateSearch::RateSearch(double start_per_s, double tolerance, double least_per_s, double most_per_s)
    : start_(std::clamp(start_per_s, least_per_s, most_per_s)), tolerance_(tolerance), least_(least_per_s), most_(most_per_s) {}

std::optional<double> RateSearch::next() const {
  if (!held_ && !failed_) return start_;
  if (!failed_) return *held_ >= most_ ? std::nullopt : std::optional(std::min(*held_ * 2, most_));
  if (!held_) return *failed_ <= least_ ? std::nullopt : std::optional(std::max(*failed_ / 2, least_));
  if (*failed_ <= *held_ * (1 + tolerance_)) return std::nullopt;
  return std::sqrt(*held_ * *failed_);
}

void RateSearch::report(double rate_per_s, bool holds) {
  if (holds) {
    held_ = std::max(held_.value_or(0), rate_per_s);
  } else {
    failed_ = std::min(failed_.value_or(most_ * 2), rate_per_s);
  }
}

bool is_run_limit(std::string_view text) {
  const std::string_view statistic = split_name(text.substr(0, text.find(':'))).second;
  return std::ranges::find(kStatistics, statistic) != kStatistics.end();
}

Result<RunLimit> parse_run_limit(std::string_view text) {
  const std::string shown(text);
  const auto wrong = [&](const std::string& what) {
    return usage_error("--slo \"" + shown + "\": " + what,
                       "write it as METRIC_STATISTIC:LIMIT, for instance ttft_p99:500ms; metrics: ttft, tpot, itl, e2el, gap");
  };
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return wrong("no limit");
  const auto [metric, statistic] = split_name(text.substr(0, colon));
  if (std::ranges::find(kMetrics, metric) == kMetrics.end()) return wrong("no such metric");
  if (std::ranges::find(kStatistics, statistic) == kStatistics.end()) return wrong("no such statistic");
  const std::string number(text.substr(colon + 1));
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  const std::string_view unit = end;
  if (number.empty() || end == number.c_str() || !(value > 0) || !std::isfinite(value)) return wrong("the limit is no number above 0");
  if (unit != "" && unit != "ms" && unit != "s") return wrong("the unit is ms or s");
  return RunLimit{std::string(metric) + "_ms", std::string(statistic), unit == "s" ? value * 1000 : value};
}

double value_of(const RunLimit& limit, const model::BenchResult& result) {
  const auto found = result.metrics.find(limit.metric);
  if (found == result.metrics.end() || found->second.n == 0) return model::kUnknown;
  const model::Distribution& d = found->second;
  if (limit.statistic == "p50") return d.p50;
  if (limit.statistic == "p90") return d.p90;
  if (limit.statistic == "p95") return d.p95;
  if (limit.statistic == "p99") return d.p99;
  if (limit.statistic == "p99.9") return d.p99_9;
  return limit.statistic == "mean" ? d.mean : d.max;
}

}  // namespace pawl::loadgen
