#include "benchout/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "measure/request_metrics.h"

namespace pawl::benchout {
namespace {

constexpr std::int64_t kWindow = 10;  ///< seconds that rates are taken over

std::string rate(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : value >= 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 5400) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string sparkline(const std::vector<std::optional<double>>& values) {
  static constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double top = 0;
  for (const auto& value : values) top = std::max(top, value.value_or(0));
  std::string out;
  for (const auto& value : values) {
    if (!value || !(top > 0)) {
      out += ' ';
    } else {
      out += kBars[static_cast<std::size_t>(std::clamp(std::floor(*value / top * 7.999), 0.0, 7.0))];
    }
  }
  return out;
}

void LiveStatus::take(const measure::RequestRecord& record) {
  if (!origin_ || record.phase == measure::Phase::kWarmup || !record.end || !record.send) return;
  const std::int64_t number = std::max<std::int64_t>(0, (*record.end - *origin_) / Seconds(1));
  if (seconds_.empty()) first_second_ = number;
  if (number < first_second_) return;  // older than what is kept
  while (first_second_ + static_cast<std::int64_t>(seconds_.size()) <= number) {
    seconds_.emplace_back();
    if (seconds_.size() > kKept) {
      seconds_.pop_front();
      ++first_second_;
    }
  }
  Second& second = seconds_[static_cast<std::size_t>(number - first_second_)];
  if (record.outcome != measure::Outcome::kOk) {
    ++second.failed;
    ++failed_;
    return;
  }
  ++second.ok;
  ++ok_;
  second.tokens += measure::output_tokens(record).count;
  if (record.first_token) {
    second.ttft_ms += millis_of(*record.first_token - *record.send);
    ++second.ttft_n;
  }
  const std::int64_t events = record.token_events();
  if (events > 1 && record.last_token > record.first_token) {
    second.gap_ms += millis_of(*record.last_token - *record.first_token);
    second.gap_n += events - 1;
  }
}

LiveStatus::Second LiveStatus::last_seconds(MonoTime now, std::int64_t seconds) const {
  Second sum;
  if (!origin_) return sum;
  const std::int64_t current = (now - *origin_) / Seconds(1);
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    const std::int64_t number = first_second_ + static_cast<std::int64_t>(i);
    if (number <= current - seconds || number > current) continue;
    const Second& second = seconds_[i];
    sum.ok += second.ok;
    sum.failed += second.failed;
    sum.tokens += second.tokens;
    sum.ttft_ms += second.ttft_ms;
    sum.ttft_n += second.ttft_n;
    sum.gap_ms += second.gap_ms;
    sum.gap_n += second.gap_n;
  }
  return sum;
}

std::map<std::string, double> LiveStatus::numbers(const View& view) const {
  std::map<std::string, double> out;
  if (!origin_) return out;
  const double elapsed = seconds_of(view.now - *origin_);
  const Second last = last_seconds(view.now, kWindow);
  const double span = std::clamp(elapsed, 0.001, static_cast<double>(kWindow));
  out["requests_per_s"] = static_cast<double>(last.ok) / span;
  out["output_tokens_per_s"] = static_cast<double>(last.tokens) / span;
  if (last.ttft_n > 0) out["ttft_ms"] = last.ttft_ms / static_cast<double>(last.ttft_n);
  if (last.gap_n > 0) out["gap_ms"] = last.gap_ms / static_cast<double>(last.gap_n);
  out["failed"] = static_cast<double>(failed_);
  out["in_flight"] = static_cast<double>(view.in_flight);
  if (view.done && view.total && *view.done > 0 && *view.total > *view.done) {
    out["eta_s"] = elapsed / static_cast<double>(*view.done) * static_cast<double>(*view.total - *view.done);
  }
  return out;
}

std::vector<std::string> LiveStatus::lines(const View& view, std::size_t width, bool colour) const {
  const auto paint = [&](const char* code, const std::string& text) { return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text; };
  const auto values = numbers(view);
  const auto value = [&](const char* key) {
    const auto found = values.find(key);
    return found == values.end() ? std::optional<double>{} : std::optional(found->second);
  };
  const double elapsed = origin_ ? seconds_of(view.now - *origin_) : 0;
  std::vector<std::string> out;

  std::string head = fmt::format("{:<8}", view.stage);
  if (view.done && view.total && *view.total > 0) {
    const double share = std::clamp(static_cast<double>(*view.done) / static_cast<double>(*view.total), 0.0, 1.0);
    const std::size_t cells = std::clamp<std::size_t>(width > 60 ? width - 56 : 8, 8, 40);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    std::string bar, rest;
    for (std::size_t i = 0; i < cells; ++i) (i < full ? bar : rest) += i < full ? "━" : "─";
    head += paint("36", bar) + paint("2", rest) + fmt::format(" {:3.0f} %  {}/{}", share * 100, *view.done, *view.total);
  } else if (view.done) {
    head += fmt::format("{} done", *view.done);
  }
  head += "  " + duration(elapsed);
  if (const auto eta = value("eta_s")) head += paint("2", "  ETA " + duration(*eta));
  out.push_back(std::move(head));

  std::string rates = fmt::format("        {} in flight   {} req/s   {} tok/s", view.in_flight, rate(value("requests_per_s").value_or(0)),
                                  rate(value("output_tokens_per_s").value_or(0)));
  if (failed_ > 0) rates += "   " + paint("31", fmt::format("{} failed", failed_));
  out.push_back(std::move(rates));

  const std::size_t columns = std::clamp<std::size_t>(width > 40 ? width - 32 : 8, 8, 60);
  const auto row = [&](const char* name, const char* key, auto mean, const char* code) {
    std::vector<std::optional<double>> series;
    const std::size_t from = seconds_.size() > columns ? seconds_.size() - columns : 0;
    for (std::size_t i = from; i < seconds_.size(); ++i) series.push_back(mean(seconds_[i]));
    const auto now = value(key);
    out.push_back(fmt::format("        {:<5}{:>10} ms  ", name, now ? fmt::format("{:.1f}", *now) : "–") + paint(code, sparkline(series)));
  };
  row(
      "TTFT", "ttft_ms", [](const Second& s) { return s.ttft_n > 0 ? std::optional(s.ttft_ms / static_cast<double>(s.ttft_n)) : std::nullopt; }, "33");
  row(
      "gap", "gap_ms", [](const Second& s) { return s.gap_n > 0 ? std::optional(s.gap_ms / static_cast<double>(s.gap_n)) : std::nullopt; }, "35");
  return out;
}

}  // namespace pawl::benchout
