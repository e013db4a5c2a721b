#include "results/frontier.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/assert.h"

namespace pawl::results {
namespace {

double sign(double v) { return v < 0 ? -1 : 1; }

void drop_unknown(std::vector<CurvePoint>& points) {
  std::erase_if(points, [](const CurvePoint& p) { return !std::isfinite(p.x) || !std::isfinite(p.y); });
}

}  // namespace

std::vector<CurvePoint> corner_frontier(std::vector<CurvePoint> points, Corner corner) {
  drop_unknown(points);
  std::vector<CurvePoint> out;
  switch (corner) {
    case Corner::kUpperLeft:
      std::ranges::stable_sort(points, [](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
      for (const CurvePoint& p : points) {
        if (!out.empty() && out.back().x == p.x) continue;  // the larger y came first
        while (!out.empty() && p.y >= out.back().y) out.pop_back();
        out.push_back(p);
      }
      return out;
    case Corner::kUpperRight:
      std::ranges::stable_sort(points, [](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
      for (const CurvePoint& p : points) {
        // An equal y at a larger x stays, although it is dominated.
        if (out.empty() || p.y > out.back().y || (p.y == out.back().y && p.x > out.back().x)) out.push_back(p);
      }
      return out;
    case Corner::kLowerLeft:
      std::ranges::stable_sort(points, [](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
      for (const CurvePoint& p : points) {
        if (out.empty() || p.y < out.back().y) out.push_back(p);
      }
      return out;
    case Corner::kLowerRight:
      std::ranges::stable_sort(points, [](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? a.x > b.x : a.y < b.y; });
      for (const CurvePoint& p : points) {
        if (out.empty() || p.y < out.back().y) out.push_back(p);
      }
      std::ranges::reverse(out);
      return out;
  }
  return out;
}

std::vector<CurvePoint> global_frontier(std::vector<CurvePoint> points, bool x_max, bool y_max) {
  drop_unknown(points);
  // Best x first, and of one x the best y first: a point stays when its y beats every y seen at a better x.
  const auto better = [](double a, double b, bool max) { return max ? a > b : a < b; };
  std::ranges::stable_sort(points, [&](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? better(a.x, b.x, x_max) : better(a.y, b.y, y_max); });
  std::vector<CurvePoint> out;
  for (const CurvePoint& p : points) {
    if (out.empty() || better(p.y, out.back().y, y_max) || (p.x == out.back().x && p.y == out.back().y)) out.push_back(p);
  }
  std::ranges::stable_sort(out, {}, &CurvePoint::x);
  return out;
}

Band bootstrap_band(const std::vector<CurvePoint>& points, double x, int resamples) {
  std::vector<double> readings;
  std::vector<CurvePoint> drawn(points.size());
  std::uint64_t state = 0x9E3779B97F4A7C15;  // SplitMix64 from a fixed beginning
  const auto next = [&] {
    std::uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  };
  for (int i = 0; i < resamples; ++i) {
    for (CurvePoint& p : drawn) p = points[next() % points.size()];
    const std::vector<CurvePoint> frontier = corner_frontier(drawn, Corner::kUpperLeft);
    if (frontier.empty()) continue;
    readings.push_back(x > frontier.back().x ? 0 : SteffenSpline(frontier).at(x));
  }
  if (readings.empty()) return {};
  std::ranges::sort(readings);
  const auto at = [&](double share) { return readings[static_cast<std::size_t>(share * static_cast<double>(readings.size() - 1) + 0.5)]; };
  return {at(0.05), at(0.95)};
}

SteffenSpline::SteffenSpline(std::vector<CurvePoint> knots) : knots_(std::move(knots)), slopes_(knots_.size()) {
  PAWL_ASSERT(!knots_.empty());
  const std::size_t n = knots_.size();
  if (n < 2) return;
  const auto h = [&](std::size_t i) { return knots_[i + 1].x - knots_[i].x; };
  const auto s = [&](std::size_t i) { return h(i) == 0 ? 0 : (knots_[i + 1].y - knots_[i].y) / h(i); };
  for (std::size_t i = 1; i + 1 < n; ++i) {
    const double width = h(i - 1) + h(i);
    const double p = width == 0 ? 0 : (s(i - 1) * h(i) + s(i) * h(i - 1)) / width;
    slopes_[i] = (sign(s(i - 1)) + sign(s(i))) * std::min({std::abs(s(i - 1)), std::abs(s(i)), 0.5 * std::abs(p)});
  }
  if (n == 2) {
    slopes_[0] = slopes_[1] = s(0);
    return;
  }
  slopes_[0] = (3 * s(0) - slopes_[1]) / 2;
  slopes_[n - 1] = (3 * s(n - 2) - slopes_[n - 2]) / 2;
}

double SteffenSpline::at(double x) const {
  if (knots_.size() == 1 || x <= knots_.front().x) return knots_.front().y;
  if (x >= knots_.back().x) return knots_.back().y;
  const auto above = std::ranges::upper_bound(knots_, x, {}, &CurvePoint::x);
  const auto i = static_cast<std::size_t>(above - knots_.begin()) - 1;
  const double h = knots_[i + 1].x - knots_[i].x;
  if (h == 0) return knots_[i].y;
  const double t = (x - knots_[i].x) / h, u = 1 - t;
  return knots_[i].y * u * u * (1 + 2 * t) + h * slopes_[i] * t * u * u + knots_[i + 1].y * t * t * (3 - 2 * t) - h * slopes_[i + 1] * t * t * u;
}

}  // namespace pawl::results
