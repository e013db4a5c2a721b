#include "measure/describe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "stats/interval.h"
#include "stats/moments.h"

namespace pawl::measure {
namespace {

struct Quantile {
  double p;
  double model::Distribution::*member;
  const char* name;
  std::int64_t needs;  ///< BC-8.11; 0: no claim is made of it
};

constexpr std::array kQuantiles{Quantile{1, &model::Distribution::p1, "p1", 662},    Quantile{5, &model::Distribution::p5, "p5", 130},
                                Quantile{10, &model::Distribution::p10, "p10", 64},  Quantile{25, &model::Distribution::p25, "p25", 24},
                                Quantile{50, &model::Distribution::p50, "p50", 11},  Quantile{75, &model::Distribution::p75, "p75", 24},
                                Quantile{90, &model::Distribution::p90, "p90", 64},  Quantile{95, &model::Distribution::p95, "p95", 130},
                                Quantile{99, &model::Distribution::p99, "p99", 662}, Quantile{99.9, &model::Distribution::p99_9, "p99_9", 6636}};

/// Ranks cost a pass over a binomial distribution, and metrics of one run mostly have the same n.
const stats::RankInterval& ranks_of(std::int64_t n, double p) {
  thread_local std::map<std::pair<std::int64_t, double>, stats::RankInterval> known;
  if (known.size() > 4096) known.clear();
  const auto [place, fresh] = known.try_emplace({n, p});
  if (fresh) place->second = stats::quantile_ranks(n, p / 100, 0.99);
  return place->second;
}

template <class AtRank>
void add_intervals(model::Distribution& out, const AtRank& at_rank) {
  out.ci99.emplace();
  std::vector<std::string> few;
  for (const Quantile& quantile : kQuantiles) {
    if (quantile.p != 50 && quantile.p < 90) continue;  // an interval for those that reports print
    const stats::RankInterval& ranks = ranks_of(out.n, quantile.p);
    std::vector<std::optional<double>> interval(2);
    if (ranks.low) interval[0] = at_rank(*ranks.low - 1);
    if (ranks.high) interval[1] = at_rank(*ranks.high - 1);
    (*out.ci99)[quantile.name] = std::move(interval);
    if (!ranks.low || !ranks.high || out.n < quantile.needs) few.emplace_back(quantile.name);
  }
  if (!few.empty()) out.few = std::move(few);
}

}  // namespace

std::int64_t needed_for(double p) {
  for (const Quantile& quantile : kQuantiles) {
    if (quantile.p == p) return quantile.needs;
  }
  return 0;
}

model::Distribution describe_sorted(const std::vector<double>& values) {
  model::Distribution out;
  out.n = static_cast<std::int64_t>(values.size());
  if (values.empty()) return out;
  out.sum = stats::sum(values);
  out.mean = out.sum / static_cast<double>(out.n);
  out.std = stats::population_std(values);
  out.std_sample = stats::sample_std(values);
  out.min = values.front();
  out.max = values.back();
  for (const Quantile& quantile : kQuantiles) out.*quantile.member = stats::percentile_sorted(values, quantile.p);
  if (const auto interval = stats::median_interval_sorted(values)) out.ci95 = {interval->low, interval->high};
  add_intervals(out, [&](std::int64_t rank) { return values[static_cast<std::size_t>(rank)]; });
  return out;
}

model::Distribution describe(std::vector<double> values) {
  std::ranges::sort(values);
  return describe_sorted(values);
}

model::Distribution describe_weighted(std::vector<stats::Weighted> values) {
  model::Distribution out;
  std::erase_if(values, [](const stats::Weighted& item) { return item.weight == 0; });
  if (values.empty()) return out;
  std::ranges::sort(values, {}, &stats::Weighted::value);
  for (const stats::Weighted& item : values) out.n += item.weight;
  out.mean = stats::weighted_mean(values);
  out.sum = out.mean * static_cast<double>(out.n);
  out.std = stats::weighted_population_std(values);
  if (out.n > 1) out.std_sample = out.std * std::sqrt(static_cast<double>(out.n) / static_cast<double>(out.n - 1));
  out.min = values.front().value;
  out.max = values.back().value;
  for (const Quantile& quantile : kQuantiles) out.*quantile.member = stats::weighted_percentile_sorted(values, quantile.p);
  return out;
}

model::Distribution describe_histogram(const stats::LogHistogram& nanos, bool weighted) {
  constexpr double kPerMs = 1e6;
  model::Distribution out;
  out.n = nanos.count();
  if (out.n == 0) return out;
  out.sum = nanos.sum() / kPerMs;
  out.mean = nanos.mean() / kPerMs;
  out.std = nanos.population_std() / kPerMs;
  if (out.n > 1) out.std_sample = out.std * std::sqrt(static_cast<double>(out.n) / static_cast<double>(out.n - 1));
  out.min = static_cast<double>(nanos.min()) / kPerMs;
  out.max = static_cast<double>(nanos.max()) / kPerMs;
  for (const Quantile& quantile : kQuantiles) out.*quantile.member = nanos.percentile(quantile.p) / kPerMs;
  if (weighted) return out;
  const stats::RankInterval median = stats::quantile_ranks(out.n, 0.5, 0.95);
  if (median.low && median.high) out.ci95 = {nanos.value_at(*median.low - 1) / kPerMs, nanos.value_at(*median.high - 1) / kPerMs};
  add_intervals(out, [&](std::int64_t rank) { return nanos.value_at(rank) / kPerMs; });
  return out;
}

model::BenchHistogram plot_buckets(const std::function<void(const std::function<void(double, std::int64_t)>&)>& each) {
  std::map<int, std::int64_t> counts;
  constexpr int kLowest = -30;  // 0.001: what is below, 0 included, goes in here
  each([&](double value, std::int64_t n) {
    counts[value > 1e-3 ? std::max(kLowest, static_cast<int>(std::floor(std::log10(value) * 10 + 1e-9))) : kLowest] += n;
  });
  model::BenchHistogram out;
  for (const auto& [exponent, n] : counts) {
    out.from.push_back(std::pow(10.0, exponent / 10.0));
    out.counts.push_back(n);
  }
  return out;
}

}  // namespace pawl::measure
