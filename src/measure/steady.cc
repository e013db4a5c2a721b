#include "measure/steady.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace pawl::measure {
namespace {

std::vector<double> sorted_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::ranges::sort(values);
  return values;
}

/// Calls `step(time, count)` each time the count changes, ends before sends at one instant.
template <class Step>
void walk(const std::vector<double>& sends, const std::vector<double>& ends, const Step& step) {
  std::size_t s = 0, e = 0;
  while (s < sends.size() || e < ends.size()) {
    const double now =
        std::min(s < sends.size() ? sends[s] : std::numeric_limits<double>::infinity(), e < ends.size() ? ends[e] : std::numeric_limits<double>::infinity());
    while (e < ends.size() && ends[e] == now) ++e;
    while (s < sends.size() && sends[s] == now) ++s;
    step(now, static_cast<std::int64_t>(s) - static_cast<std::int64_t>(e));
  }
}

}  // namespace

InFlight::InFlight(std::vector<double> sends, std::vector<double> ends) : sends_(sorted_known(std::move(sends))), ends_(sorted_known(std::move(ends))) {
  walk(sends_, ends_, [&](double, std::int64_t count) { peak_ = std::max(peak_, count); });
}

double InFlight::mean(double from, double to) const {
  if (!(to > from)) return std::numeric_limits<double>::quiet_NaN();
  double area = 0;
  for (const double send : sends_) area += std::max(0.0, to - std::max(from, send));
  for (const double end : ends_) area -= std::max(0.0, to - std::max(from, end));
  return area / (to - from);
}

std::optional<InFlight::Window> InFlight::longest_at_least(double threshold) const {
  if (sends_.empty() || !(threshold > 0)) return std::nullopt;
  std::optional<Window> best;
  std::optional<double> since;
  double last = 0;
  const auto close = [&](double now) {
    if (since && now > *since && (!best || now - *since > best->to - best->from)) best = Window{*since, now};
    since.reset();
  };
  walk(sends_, ends_, [&](double now, std::int64_t count) {
    last = now;
    if (static_cast<double>(count) >= threshold) {
      if (!since) since = now;
    } else {
      close(now);
    }
  });
  close(last);
  return best;
}

double sum_between(std::span<const double> steps, double from, double to) {
  const auto until = [&](double at) {
    at = std::clamp(at, 0.0, static_cast<double>(steps.size()));
    const auto whole = static_cast<std::size_t>(at);
    double sum = 0;
    for (std::size_t i = 0; i < whole; ++i) sum += steps[i];
    return whole < steps.size() ? sum + steps[whole] * (at - static_cast<double>(whole)) : sum;
  };
  return to > from ? until(to) - until(from) : 0;
}

}  // namespace pawl::measure
