#include "telemetry/power_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace pawl::telemetry {
namespace {

using model::PowerReason;

/// Moments are doubles of unix seconds, which lie a quarter of a microsecond apart: equal up to that is equal.
constexpr double kSame_s = 1e-6;

/// One moment of one GPU.
struct Moment {
  double at = 0, watts = 0;
  std::int64_t n = 1;
};

/// Sorted, equal moments averaged.
std::vector<Moment> ordered(std::vector<Moment> moments) {
  std::stable_sort(moments.begin(), moments.end(), [](const Moment& a, const Moment& b) { return a.at < b.at; });
  std::vector<Moment> out;
  for (const Moment& moment : moments) {
    if (!out.empty() && out.back().at == moment.at) {
      Moment& last = out.back();
      last.watts += (moment.watts - last.watts) / static_cast<double>(++last.n);
    } else {
      out.push_back(moment);
    }
  }
  return out;
}

double value_at(const Moment& a, const Moment& b, double at) {
  if (b.at <= a.at) return a.watts;
  return a.watts + (b.watts - a.watts) * (at - a.at) / (b.at - a.at);
}

/// The trapezoid over the window; the moments reach over both ends.
double integral(const std::vector<Moment>& moments, const Window& window) {
  double sum = 0;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    const Moment &a = moments[i - 1], &b = moments[i];
    const double from = std::max(a.at, window.begin_s), until = std::min(b.at, window.end_s);
    if (until <= from) continue;
    sum += (value_at(a, b, from) + value_at(a, b, until)) / 2 * (until - from);
  }
  return sum;
}

bool reaches_over(const std::vector<Moment>& moments, const Window& window) {
  return !moments.empty() && moments.front().at <= window.begin_s && moments.back().at >= window.end_s;
}

double rounded(double value, int decimals) {
  const double scale = std::pow(10, decimals);
  return std::isfinite(value) ? std::round(value * scale) / scale : value;
}

void add_clocks(const std::vector<const PowerSample*>& samples, model::BenchPower& out) {
  double sum = 0, least = 0;
  std::int64_t clocks = 0, masks = 0;
  std::map<std::string, std::int64_t> counts;
  for (const PowerSample* sample : samples) {
    if (sample->sm_mhz) {
      sum += *sample->sm_mhz;
      least = clocks == 0 ? *sample->sm_mhz : std::min(least, *sample->sm_mhz);
      ++clocks;
    }
    if (sample->throttle) {
      ++masks;
      for (const std::string& name : throttle_names(*sample->throttle)) ++counts[name];
    }
  }
  if (clocks > 0) {
    out.sm_clock_mean_mhz = rounded(sum / static_cast<double>(clocks), 1);
    out.sm_clock_min_mhz = least;
  }
  for (const auto& [name, n] : counts) out.throttle_share[name] = rounded(static_cast<double>(n) / static_cast<double>(masks), 4);
}

/// The highest sum over the GPUs at the moments of the first one, each other GPU interpolated.
double highest_total(const std::map<std::string, std::vector<Moment>>& by_gpu, const Window& window) {
  double most = model::kUnknown;
  const auto& first = by_gpu.begin()->second;
  for (const Moment& moment : first) {
    if (moment.at < window.begin_s || moment.at > window.end_s) continue;
    double total = moment.watts;
    for (auto it = std::next(by_gpu.begin()); it != by_gpu.end(); ++it) {
      const auto& other = it->second;
      const auto after = std::lower_bound(other.begin(), other.end(), moment.at, [](const Moment& m, double at) { return m.at < at; });
      if (after == other.begin()) {
        total += after->watts;
      } else if (after == other.end()) {
        total += other.back().watts;
      } else {
        total += value_at(*std::prev(after), *after, moment.at);
      }
    }
    most = std::isfinite(most) ? std::max(most, total) : total;
  }
  return most;
}

}  // namespace

std::vector<PowerReason> judge_result(const model::BenchResult& result) {
  std::vector<PowerReason> out;
  const double begin = result.started_unix_s, end = result.ended_unix_s, duration = result.duration_s;
  const bool window = std::isfinite(begin) && std::isfinite(end) && std::isfinite(duration) && end > begin && duration > 0;
  if (!window) {
    out.push_back({"invalid_benchmark_window", "the result has no begin, end and duration that make sense"});
  } else if (std::abs(duration - (end - begin)) > std::max(0.5, 0.01 * (end - begin))) {
    out.push_back({"benchmark_duration_mismatch", fmt::format("duration {:.3f} s, but end − begin is {:.3f} s", duration, end - begin)});
  }
  if (result.counts.ok <= 0) out.push_back({"invalid_successful_query_count", fmt::format("{} requests succeeded", result.counts.ok)});
  if (result.total_input_tokens <= 0) out.push_back({"invalid_input_token_count", fmt::format("{} input tokens", result.total_input_tokens)});
  if (result.total_output_tokens <= 0) out.push_back({"invalid_output_token_count", fmt::format("{} output tokens", result.total_output_tokens)});
  return out;
}

model::BenchPower judge_samples(const std::vector<PowerSample>& samples, const Window& window, const PowerRules& rules) {
  model::BenchPower out;
  out.expected_gpus = rules.expected_gpus;
  out.window_begin_unix_s = window.begin_s;
  out.window_end_unix_s = window.end_s;
  const auto because = [&](const char* code, std::string text) { out.reasons.push_back({code, std::move(text)}); };
  if (!std::isfinite(window.begin_s) || !std::isfinite(window.end_s) || window.end_s <= window.begin_s) {
    because("invalid_benchmark_window", "the window is empty or not known");
  }
  if (rules.expected_gpus <= 0) because("invalid_expected_gpu_count", fmt::format("{} GPUs expected", rules.expected_gpus));
  if (!std::isfinite(rules.max_gap_s) || rules.max_gap_s <= 0) because("invalid_max_sample_gap", fmt::format("largest gap {} s", rules.max_gap_s));
  if (!out.reasons.empty()) return out;

  std::map<std::string, std::vector<Moment>> by_gpu;
  std::vector<const PowerSample*> inside;
  std::int64_t bad_power = 0, no_gpu = 0;
  for (const PowerSample& sample : samples) {
    if (sample.unix_s < window.begin_s - rules.max_gap_s - kSame_s || sample.unix_s > window.end_s + rules.max_gap_s + kSame_s) continue;
    const bool bad = !sample.watts || !std::isfinite(*sample.watts) || *sample.watts < 0;
    bad_power += bad ? 1 : 0;
    no_gpu += sample.gpu.empty() ? 1 : 0;
    if (bad || sample.gpu.empty()) continue;
    by_gpu[sample.gpu].push_back({sample.unix_s, *sample.watts, 1});
    if (sample.unix_s >= window.begin_s && sample.unix_s <= window.end_s) inside.push_back(&sample);
  }
  if (bad_power > 0) because("invalid_power_sample", fmt::format("{} samples are no power", bad_power));
  if (no_gpu > 0) because("gpu_identity_missing", fmt::format("{} samples name no GPU", no_gpu));
  out.observed_gpus = static_cast<std::int64_t>(by_gpu.size());
  if (by_gpu.empty()) {
    because("no_usable_power_samples", samples.empty() ? "there are no samples" : "no sample lies near the window");
    return out;
  }
  if (out.observed_gpus != rules.expected_gpus) {
    because("expected_gpu_count_mismatch", fmt::format("{} GPUs expected, {} seen", rules.expected_gpus, out.observed_gpus));
  }
  std::vector<std::string> few, open, gaps;
  double total = 0;
  for (auto& [gpu, moments] : by_gpu) {
    moments = ordered(std::move(moments));
    model::GpuPower& each = out.gpus.emplace_back();
    each.gpu = gpu;
    each.samples = static_cast<std::int64_t>(moments.size());
    out.samples += each.samples;
    for (const Moment& moment : moments) {
      if (moment.at < window.begin_s || moment.at > window.end_s) continue;
      each.max_w = std::isfinite(each.max_w) ? std::max(each.max_w, moment.watts) : moment.watts;
    }
    if (moments.size() < 2) {
      few.push_back(gpu);
      continue;
    }
    if (!reaches_over(moments, window)) {
      open.push_back(gpu);
      continue;
    }
    // From the last sample at or before the begin to the first at or after the end.
    auto first = std::upper_bound(moments.begin(), moments.end(), window.begin_s, [](double at, const Moment& m) { return at < m.at; });
    const auto last = std::lower_bound(moments.begin(), moments.end(), window.end_s, [](const Moment& m, double at) { return m.at < at; });
    double gap = 0;
    for (auto it = std::prev(first); it != last; ++it) gap = std::max(gap, std::next(it)->at - it->at);
    each.max_gap_s = rounded(gap, 6);
    if (gap > rules.max_gap_s + kSame_s) gaps.push_back(fmt::format("{} ({:.3f} s)", gpu, gap));
    each.energy_j = integral(moments, window);
    each.mean_w = rounded(each.energy_j / (window.end_s - window.begin_s), 3);
    total += each.energy_j;
    each.energy_j = rounded(each.energy_j, 3);
  }
  const auto list = [](const std::vector<std::string>& names) { return fmt::format("GPU {}", fmt::join(names, ", ")); };
  if (!few.empty()) because("insufficient_power_samples", list(few) + ": fewer than two samples");
  if (!open.empty()) because("benchmark_window_not_bracketed", list(open) + ": no sample before the begin, or none after the end");
  if (!gaps.empty()) because("sampling_gap_exceeded", fmt::format("{}: more than {} s between samples", list(gaps), rules.max_gap_s));
  add_clocks(inside, out);
  out.valid = out.reasons.empty();
  if (!out.valid) return out;
  const double span = window.end_s - window.begin_s;
  out.total_gpu_energy_j = rounded(total, 3);
  out.avg_total_gpu_power_w = rounded(total / span, 3);
  out.avg_power_w = rounded(total / span / static_cast<double>(by_gpu.size()), 3);
  out.max_total_gpu_power_w = rounded(highest_total(by_gpu, window), 3);
  return out;
}

void apply_result(const model::BenchResult& result, model::BenchPower& power) {
  std::vector<PowerReason> reasons = judge_result(result);
  if (!reasons.empty()) {
    for (PowerReason& reason : power.reasons) {
      const bool said = std::ranges::any_of(reasons, [&](const PowerReason& r) { return r.code == reason.code; });
      if (!said) reasons.push_back(std::move(reason));
    }
    power.reasons = std::move(reasons);
    power.valid = false;
    power.total_gpu_energy_j = power.avg_total_gpu_power_w = power.avg_power_w = power.max_total_gpu_power_w = model::kUnknown;
    return;
  }
  if (!power.valid) return;
  // From the GPUs' energies, not from their rounded sum, would differ in the seventh digit only.
  const double energy = power.total_gpu_energy_j;
  power.joules_per_successful_query = rounded(energy / static_cast<double>(result.counts.ok), 6);
  power.joules_per_input_token = rounded(energy / static_cast<double>(result.total_input_tokens), 6);
  power.joules_per_output_token = rounded(energy / static_cast<double>(result.total_output_tokens), 6);
  power.joules_per_total_token = rounded(energy / static_cast<double>(result.total_input_tokens + result.total_output_tokens), 6);
}

std::optional<double> energy_j(const std::vector<PowerSample>& samples, const std::string& gpu, const Window& window,
                               std::optional<double> PowerSample::*value) {
  std::vector<Moment> moments;
  for (const PowerSample& sample : samples) {
    if (sample.gpu == gpu && sample.*value) moments.push_back({sample.unix_s, *(sample.*value), 1});
  }
  moments = ordered(std::move(moments));
  if (!reaches_over(moments, window)) return std::nullopt;
  return integral(moments, window);
}

std::vector<std::string> throttle_names(std::uint64_t mask) {
  // nvmlClocksEventReasons; 0x1 (idle) and 0x2 (clocks set by an application) slow nothing down.
  struct Bit {
    std::uint64_t mask;
    const char* name;
  };
  static constexpr std::array kBits{Bit{0x4, "sw-power-cap"}, Bit{0x8, "hw-slowdown"},     Bit{0x10, "sync-boost"},      Bit{0x20, "sw-thermal"},
                                    Bit{0x40, "hw-thermal"},  Bit{0x80, "hw-power-brake"}, Bit{0x100, "display-setting"}};
  std::vector<std::string> out;
  for (const Bit& bit : kBits) {
    if ((mask & bit.mask) != 0) out.emplace_back(bit.name);
  }
  return out;
}

}  // namespace pawl::telemetry
