#include "benchout/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pawl::benchout {
namespace {

constexpr double kWidth = 560, kHeight = 190, kLeft = 46, kRight = 12, kTop = 14, kBottom = 26;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;

/// A step of 1, 2 or 5 times a power of ten that gives about `count` ticks.
double nice_step(double span, int count) {
  if (!(span > 0)) return 1;
  const double raw = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::string open_svg(std::string_view what) {
  return fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight, escape_html(what));
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string shown(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size < 1000) {
    if (size != 0 && size < 0.001) return fmt::format("{:.2g}", value);
    const int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
    std::string text = fmt::format("{:.{}f}", value, size == std::floor(size) ? 0 : digits);
    return text;
  }
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) digits.insert(static_cast<std::size_t>(at), "\u2009");
  return digits;
}

std::string curve_svg(const Curve& curve) {
  double top = 0;
  for (const auto& value : curve.values) top = std::max(top, value.value_or(0));
  const double step = nice_step(top, 3);
  top = std::max(step, std::ceil(top / step - 1e-9) * step);
  const std::size_t n = curve.values.size();
  const auto x = [&](std::size_t i) { return kLeft + (n < 2 ? kPlotWidth / 2 : kPlotWidth * static_cast<double>(i) / static_cast<double>(n - 1)); };
  const auto y = [&](double value) { return kTop + kPlotHeight * (1 - value / top); };
  std::string svg = open_svg(curve.unit);
  for (double tick = 0; tick <= top + step / 2; tick += step) {
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft,
                       kWidth - kRight, y(tick), y(tick), kLeft - 6, y(tick) + 3.5, shown(tick));
  }
  const double seconds = static_cast<double>(n) * curve.step_s;
  const double x_step = nice_step(seconds, 6);
  for (double at = 0; n > 1 && at <= static_cast<double>(n - 1) * curve.step_s + 1e-9; at += x_step) {
    svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{} s</text>)",
                       kLeft + kPlotWidth * at / (static_cast<double>(n - 1) * curve.step_s), kHeight - 8, shown(at));
  }
  // Pieces without a gap; long runs are thinned to what the width can show, keeping the largest of each group.
  const std::size_t group = std::max<std::size_t>(1, n / 1200);
  std::string line, area;
  std::optional<double> open_at;
  double last_x = 0;
  const auto close = [&] {
    if (open_at) area += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}Z", last_x, y(0), *open_at, y(0));
    open_at.reset();
  };
  for (std::size_t i = 0; i < n; i += group) {
    std::optional<double> value;
    for (std::size_t j = i; j < std::min(n, i + group); ++j) {
      if (curve.values[j]) value = std::max(value.value_or(0), *curve.values[j]);
    }
    if (!value) {
      close();
      continue;
    }
    const std::string point = fmt::format("{}{:.1f} {:.1f}", open_at ? "L" : "M", x(i), y(*value));
    line += point;
    area += point;
    if (!open_at) open_at = x(i);
    last_x = x(i);
    if (n == 1) svg += fmt::format(R"svg(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="var({})"/>)svg", x(i), y(*value), curve.colour);
  }
  close();
  svg += fmt::format(
      R"svg(<path d="{}" fill="var({})" opacity=".14"/><path d="{}" fill="none" stroke="var({})" stroke-width="1.8" stroke-linejoin="round"/></svg>)svg", area,
      curve.colour, line, curve.colour);
  return svg;
}

std::string bars_svg(const Bars& bars) {
  const model::BenchHistogram& h = *bars.histogram;
  if (h.from.empty()) return {};
  const double low = std::log10(h.from.front()), high = std::log10(h.from.back()) + 0.1;
  const double from = std::floor(low * 10) / 10 - 0.1, to = std::max(high + 0.1, from + 0.6);
  std::int64_t most = 1, total = 0;
  for (const std::int64_t count : h.counts) {
    most = std::max(most, count);
    total += count;
  }
  const auto x = [&](double value) { return kLeft + kPlotWidth * (std::log10(value) - from) / (to - from); };
  const auto y = [&](double count) { return kTop + kPlotHeight * (1 - count / static_cast<double>(most)); };
  std::string svg = open_svg(bars.unit);
  for (const double share : {0.0, 0.5, 1.0}) {
    const double count = share * static_cast<double>(most);
    svg += fmt::format(R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text class="tick" x="{}" y="{:.1f}" text-anchor="end">{:.0f} %</text>)",
                       kLeft, kWidth - kRight, y(count), y(count), kLeft - 6, y(count) + 3.5, 100 * count / static_cast<double>(total));
  }
  const int decades = static_cast<int>(std::ceil(to)) - static_cast<int>(std::floor(from));
  for (int decade = static_cast<int>(std::floor(from)); decade <= static_cast<int>(std::ceil(to)); ++decade) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (decades > 3 && factor != 1.0) continue;
      const double value = factor * std::pow(10.0, decade);
      if (std::log10(value) < from || std::log10(value) > to - 0.05 * (to - from)) continue;  // a label at the very edge would be cut
      svg += fmt::format(R"(<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{} {}</text>)", x(value), kHeight - 8, shown(value), bars.unit);
    }
  }
  for (std::size_t i = 0; i < h.from.size(); ++i) {
    const double left = x(h.from[i]), right = x(h.from[i] * std::pow(10.0, 0.1));
    const double at = y(static_cast<double>(h.counts[i]));
    svg += fmt::format(R"svg(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5" fill="var({})"><title>{} – {} {}: {}</title></rect>)svg",
                       left + 0.7, at, std::max(1.0, right - left - 1.4), kTop + kPlotHeight - at, bars.colour, shown(h.from[i]),
                       shown(h.from[i] * std::pow(10.0, 0.1)), bars.unit, h.counts[i]);
  }
  double free_from = kLeft;
  for (const auto& [name, value] : bars.marks) {
    if (!(std::isfinite(value) && value > 0)) continue;
    const double at = std::clamp(x(value), kLeft, kWidth - kRight);
    svg += fmt::format(R"(<line class="mark" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>)", at, at, kTop - 2, kTop + kPlotHeight);
    if (at >= free_from) {
      svg += fmt::format(R"(<text class="tick strong" x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", at, kTop - 4, name);
      free_from = at + 26;
    }
  }
  return svg + "</svg>";
}

}  // namespace pawl::benchout
