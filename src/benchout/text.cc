#include "benchout/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace pawl::benchout {
namespace {

std::string number(double value, int decimals = 2) { return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "-"; }

std::string join_counts(const std::map<std::string, std::int64_t>& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, n);
  return out;
}

struct Named {
  const char* key;
  const char* name;
};
constexpr std::array kRows{Named{"ttft_ms", "ttft"},        Named{"ttft_sched_ms", "ttft (sched)"},
                           Named{"ttfa_ms", "ttfa"},        Named{"tpot_ms", "tpot"},
                           Named{"itl_ms", "itl"},          Named{"gap_ms", "gap"},
                           Named{"e2el_ms", "e2el"},        Named{"queue_client_ms", "client queue"},
                           Named{"connect_ms", "connect"},  Named{"lag_ms", "lag"},
                           Named{"rx_delay_ms", "rx delay"}};

bool has_few(const model::Distribution& d, const char* name) { return d.few && std::find(d.few->begin(), d.few->end(), name) != d.few->end(); }

/// A percentile that so few values do not support carries a mark.
std::string marked(const model::Distribution& d, const char* name, double value) {
  return number(value) + (std::isfinite(value) && has_few(d, name) ? "~" : " ");
}

std::string counter_lines(const std::vector<model::EngineCounters>& pages) {
  std::string out;
  for (const model::EngineCounters& page : pages) {
    if (!page.problem.empty()) {
      out += fmt::format("  engine counters   none of {}: {}\n", page.url, page.problem);
      continue;
    }
    const auto moved = std::ranges::count_if(page.change, [](const auto& item) { return item.second != 0; });
    out += fmt::format("  engine counters   {} of {} moved at {}\n", moved, page.change.size(), page.url);
    for (const auto& [name, change] : page.change) {
      if (change != 0 && (name.ends_with("tokens_total") || name.ends_with("requests_total"))) out += fmt::format("                    {} +{}\n", name, change);
    }
    for (const std::string& name : page.restarted) out += fmt::format("                    {} fell: the engine began anew\n", name);
  }
  return out;
}

}  // namespace

std::string power_text(const model::BenchPower& p) {
  std::string out;
  if (!p.valid) {
    out += fmt::format("\n  power             does not count ({}{})\n", p.source.empty() ? "no source" : p.source, p.sensor.empty() ? "" : ", " + p.sensor);
    for (const model::PowerReason& reason : p.reasons) out += fmt::format("                    {}: {}\n", reason.code, reason.text);
  } else {
    const std::string every = std::isfinite(p.interval_s) ? fmt::format(", every {} s", p.interval_s) : "";
    out += fmt::format("\n  power             {} W mean, {} W max over {} GPU{} ({}, {}{})\n", number(p.avg_total_gpu_power_w, 1),
                       number(p.max_total_gpu_power_w, 1), p.observed_gpus, p.observed_gpus == 1 ? "" : "s", p.source, p.sensor, every);
    out += fmt::format("  energy            {} J", number(p.total_gpu_energy_j, 1));
    if (std::isfinite(p.joules_per_output_token)) {
      out += fmt::format(": {} J/output token, {} J/token, {} J/request", number(p.joules_per_output_token, 4), number(p.joules_per_total_token, 4),
                         number(p.joules_per_successful_query, 2));
    }
    out += '\n';
  }
  if (p.energy_check) {
    const model::EnergyCheck& check = *p.energy_check;
    out += fmt::format("  energy counter    {} J", number(check.counter_j, 1));
    if (std::isfinite(check.difference_j)) {
      out += fmt::format("; the samples give {:+.1f} J ({:+.2f} %), {} its error of ±{:.1f} J", check.difference_j, check.difference_pct,
                         check.within_error.value_or(false) ? "within" : "outside", check.error_j);
    }
    out += '\n';
  }
  if (std::isfinite(p.sm_clock_mean_mhz)) {
    out += fmt::format("  SM clock          {} MHz mean, {} MHz least", number(p.sm_clock_mean_mhz, 0), number(p.sm_clock_min_mhz, 0));
    for (const auto& [name, share] : p.throttle_share) out += fmt::format("; {} {:.0f} %", name, share * 100);
    out += '\n';
  }
  return out;
}

std::string text_report(const model::BenchResult& r) {
  std::string out = fmt::format("{}{}  {}  ", r.url, r.endpoint, r.model_id);
  if (r.max_concurrency > 0) out += fmt::format("concurrency {}  ", r.max_concurrency);
  out += fmt::format("{} in / {} out{}\n\n", r.isl, r.osl, r.range_ratio < 1 ? fmt::format("  range ratio {}", r.range_ratio) : "");
  out += fmt::format("  requests          {} ok, {} failed, {} timed out of {}\n", r.counts.ok, r.counts.failed, r.counts.timeout, r.counts.planned);
  if (r.counts.cancelled + r.counts.censored + r.counts.skipped > 0) {
    out += fmt::format("                    {} cancelled, {} censored, {} skipped\n", r.counts.cancelled, r.counts.censored, r.counts.skipped);
  }
  if (!r.failures.empty()) out += fmt::format("  failures          {}\n", join_counts(r.failures));
  out += fmt::format("  duration          {} s\n", number(r.duration_s, 3));
  out += fmt::format("  requests/s        {}\n", number(r.request_throughput));
  out += fmt::format("  output tokens/s   {}\n", number(r.output_throughput));
  out += fmt::format("  total tokens/s    {}\n", number(r.total_token_throughput));
  if (r.details && r.details->goodput) {
    std::string terms;
    for (const auto& [metric, bound] : r.details->goodput->slo) terms += fmt::format("{}{} ≤ {}", terms.empty() ? "" : ", ", metric, bound);
    out += fmt::format("  goodput/s         {} ({} % of all within {})\n", number(r.details->goodput->good_per_s),
                       number(r.details->goodput->good_share * 100, 1), terms);
  }
  out += fmt::format("\n  {:<13}{:>8}{:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "ms", "n", "mean", "p50", "p90", "p99", "p99.9", "max");
  bool few = false;
  for (const Named& row : kRows) {
    const auto found = r.metrics.find(row.key);
    if (found == r.metrics.end()) continue;
    const model::Distribution& d = found->second;
    few = few || (d.n > 0 && d.few);
    out += fmt::format("  {:<13}{:>8}{:>10} {:>11}{:>11}{:>11}{:>11}{:>10}\n", row.name, d.n, number(d.mean), marked(d, "p50", d.p50), marked(d, "p90", d.p90),
                       marked(d, "p99", d.p99), marked(d, "p99_9", d.p99_9), number(d.max));
  }
  if (few) out += "  ~ too few values for a claim of two decimals at 99 %\n";
  if (r.details) {
    const auto itl = r.details->coalesced_share.find("itl_ms");
    if (itl != r.details->coalesced_share.end() && itl->second > 0)
      out += fmt::format("  {:.1f} % of the itl samples end at an event that shared its read\n", itl->second * 100);
    if (r.details->peak_in_flight > 0) {
      out += fmt::format("\n  in flight         {} at most, {} on average\n", r.details->peak_in_flight, number(r.details->mean_in_flight, 1));
    }
    if (r.details->steady) {
      out += fmt::format("  steady window     {} to {} s: {} requests, {} output tokens/s\n", number(r.details->steady->start_s, 1),
                         number(r.details->steady->end_s, 1), r.details->steady->requests, number(r.details->steady->output_throughput));
    }
  }
  if (r.power) out += power_text(*r.power);
  if (r.engine_counters) out += counter_lines(*r.engine_counters);
  if (!r.osl_source.empty()) out += fmt::format("\n  token counts      {}\n", join_counts(r.osl_source));
  if (!r.flags.empty()) out += fmt::format("  counted           {}\n", join_counts(r.flags));
  if (!r.clock.empty()) out += fmt::format("  clock             {}\n", r.clock);
  if (!r.verdict.empty()) out += fmt::format("\n{}\n", r.verdict);
  for (const model::VerdictReason& reason : r.reasons) out += fmt::format("  {}: {}\n", reason.code, reason.text);
  return out;
}

std::vector<MetricChange> changes(const model::BenchResult& a, const model::BenchResult& b) {
  std::vector<MetricChange> out;
  const auto add = [&](std::string metric, std::string statistic, double left, double right, std::optional<bool> apart) {
    if (!std::isfinite(left) && !std::isfinite(right)) return;
    MetricChange change{std::move(metric), std::move(statistic), left, right, std::nullopt, apart};
    if (std::isfinite(left) && std::isfinite(right) && left != 0) change.change_pct = (right - left) / left * 100;
    out.push_back(std::move(change));
  };
  add("request_throughput", "total", a.request_throughput, b.request_throughput, std::nullopt);
  add("output_throughput", "total", a.output_throughput, b.output_throughput, std::nullopt);
  add("total_token_throughput", "total", a.total_token_throughput, b.total_token_throughput, std::nullopt);
  const auto apart = [](const model::Distribution& x, const model::Distribution& y, const std::string& name) -> std::optional<bool> {
    if (!x.ci99 || !y.ci99 || !x.ci99->contains(name) || !y.ci99->contains(name)) return std::nullopt;
    const auto &i = x.ci99->at(name), &j = y.ci99->at(name);
    if (i.size() != 2 || j.size() != 2 || !i[0] || !i[1] || !j[0] || !j[1]) return std::nullopt;
    return *i[1] < *j[0] || *j[1] < *i[0];
  };
  for (const char* key : {"ttft_ms", "tpot_ms", "itl_ms", "gap_ms", "e2el_ms", "user_tps"}) {
    const auto left = a.metrics.find(key), right = b.metrics.find(key);
    if (left == a.metrics.end() || right == b.metrics.end()) continue;
    const model::Distribution &x = left->second, &y = right->second;
    add(key, "mean", x.mean, y.mean, std::nullopt);
    add(key, "p50", x.p50, y.p50, apart(x, y, "p50"));
    add(key, "p90", x.p90, y.p90, apart(x, y, "p90"));
    add(key, "p99", x.p99, y.p99, apart(x, y, "p99"));
  }
  return out;
}

std::string text_comparison(const model::BenchResult& a, const model::BenchResult& b) {
  const auto line = [](const char* name, const model::BenchResult& r) {
    return fmt::format("  {}  {}{}  {}  concurrency {}  {} in / {} out  {}\n", name, r.url, r.endpoint, r.model_id, r.max_concurrency, r.isl, r.osl, r.verdict);
  };
  std::string out = line("A", a) + line("B", b);
  if (a.isl != b.isl || a.osl != b.osl || a.max_concurrency != b.max_concurrency) out += "  The loads differ: a change below may be theirs.\n";
  out += fmt::format("\n  {:<30}{:>14}{:>14}{:>11}  {}\n", "", "A", "B", "change", "99 % intervals");
  for (const MetricChange& change : changes(a, b)) {
    const std::string name = change.statistic == "total" ? change.metric : change.metric + " " + change.statistic;
    out += fmt::format("  {:<30}{:>14}{:>14}{:>11}  {}\n", name, number(change.a), number(change.b),
                       change.change_pct ? fmt::format("{:+.1f} %", *change.change_pct) : "-",
                       change.intervals_apart ? (*change.intervals_apart ? "apart" : "overlap") : "");
  }
  return out;
}

}  // namespace pawl::benchout
