#include "workload/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pawl::workload {
namespace {

constexpr std::uint64_t kStream = 0x4152524956414C53ull;  // apart from the streams of prompts
constexpr double kNanosPerSecond = 1e9;
constexpr double kLatest = 9e9;  ///< seconds: what fits into Nanos

bool positive(double value) { return std::isfinite(value) && value > 0; }

double normal(SplitMix64& random) {
  // Marsaglia's polar method, without keeping the second value: a copy of the generator is then the whole state.
  for (;;) {
    const double x = 2 * random.unit() - 1, y = 2 * random.unit() - 1, s = x * x + y * y;
    if (s > 0 && s < 1) return x * std::sqrt(-2 * std::log(s) / s);
  }
}

/// Marsaglia and Tsang (2000); for shapes below 1 by their boost with a uniform power.
double gamma_variate(SplitMix64& random, double shape) {
  if (shape == 1) return -std::log1p(-random.unit());
  if (shape < 1) {
    const double boost = std::pow(1 - random.unit(), 1 / shape);
    return gamma_variate(random, shape + 1) * boost;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t, u = 1 - random.unit();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

/// Requests that a stage brings in all.
double area(const Stage& stage) {
  if (stage.from_rate == stage.to_rate) return stage.from_rate * stage.duration_s;
  if (stage.shape == StageShape::kLinear) return (stage.from_rate + stage.to_rate) / 2 * stage.duration_s;
  return (stage.to_rate - stage.from_rate) / std::log(stage.to_rate / stage.from_rate) * stage.duration_s;
}

/// Seconds into a stage at which `wanted` requests have come.
double inverse_area(const Stage& stage, double wanted) {
  if (stage.duration_s == 0 || stage.from_rate == stage.to_rate) return wanted / stage.to_rate;
  if (stage.shape == StageShape::kLinear) {
    const double slope = (stage.to_rate - stage.from_rate) / stage.duration_s;
    // The root in the form that does not cancel for small slopes.
    return 2 * wanted / (stage.from_rate + std::sqrt(std::max(0.0, stage.from_rate * stage.from_rate + 2 * slope * wanted)));
  }
  const double growth = std::log(stage.to_rate / stage.from_rate) / stage.duration_s;
  return std::log1p(wanted * growth / stage.from_rate) / growth;
}

}  // namespace

ArrivalPlan constant_rate_plan(ArrivalProcess process, double rate_per_s, double burstiness, std::int64_t seed) {
  ArrivalPlan plan;
  plan.process = process;
  plan.burstiness = burstiness;
  plan.stages = {{rate_per_s, rate_per_s, 0, StageShape::kLinear}};
  plan.seed = seed;
  return plan;
}

Result<Schedule> Schedule::make(const ArrivalPlan& plan) {
  if (plan.process == ArrivalProcess::kAtOnce) return Schedule(plan);
  if (!positive(plan.burstiness)) return bad_input(fmt::format("burstiness {} is not above 0", plan.burstiness));
  if (plan.stages.empty()) return bad_input("a schedule without a rate");
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    const bool endless = i + 1 == plan.stages.size() && stage.duration_s == 0;
    if (!positive(stage.from_rate) || !positive(stage.to_rate)) {
      return bad_input(fmt::format("stage {}: rates {} to {}", i + 1, stage.from_rate, stage.to_rate),
                       "every rate is above 0; 0.05 requests per second is fine");
    }
    if (!endless && !positive(stage.duration_s)) {
      return bad_input(fmt::format("stage {}: duration {} s", i + 1, stage.duration_s), "only the last stage may go without one");
    }
  }
  Schedule schedule(plan);
  if (plan.rescale_n) {
    const Stage& only = plan.stages.front();
    if (plan.stages.size() != 1 || only.duration_s != 0 || *plan.rescale_n < 1) {
      return bad_input("only a schedule of one constant rate and a known number of requests can be rescaled");
    }
    Schedule probe = schedule;
    for (std::int64_t i = 0; i < *plan.rescale_n; ++i) (void)probe.next();
    if (probe.cumulated_ > 0) schedule.stretch_ = static_cast<double>(*plan.rescale_n) / probe.cumulated_;
  }
  return schedule;
}

Schedule::Schedule(const ArrivalPlan& plan) : plan_(plan), random_(generator_at(static_cast<std::uint64_t>(plan.seed), kStream ^ plan.salt, 0)) {}

double Schedule::unit_gap() { return plan_.process == ArrivalProcess::kConstant ? 1 : gamma_variate(random_, plan_.burstiness) / plan_.burstiness; }

std::optional<double> Schedule::time_at(double cumulated) {
  for (; stage_ < plan_.stages.size(); ++stage_) {
    const Stage& stage = plan_.stages[stage_];
    const double within = cumulated - stage_start_cumulated_;
    if (stage.duration_s == 0 || within < area(stage)) return stage_start_s_ + inverse_area(stage, within);
    stage_start_cumulated_ += area(stage);
    stage_start_s_ += stage.duration_s;
  }
  return std::nullopt;
}

std::optional<Nanos> Schedule::next() {
  if (plan_.process == ArrivalProcess::kAtOnce) return Nanos(0);
  if (started_ || !plan_.first_at_start) cumulated_ += unit_gap();
  started_ = true;
  const std::optional<double> seconds = time_at(cumulated_ * stretch_);
  if (!seconds || *seconds > kLatest) return std::nullopt;
  return Nanos(std::llround(*seconds * kNanosPerSecond));
}

}  // namespace pawl::workload
