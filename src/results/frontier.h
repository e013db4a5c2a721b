#pragma once

#include <cstddef>
#include <vector>

namespace pawl::results {

struct CurvePoint {
  double x = 0, y = 0;
  std::size_t origin = 0;  ///< index of the caller's row
};

/// The corner that a frontier is best for (api-dashboard 3.3).
enum class Corner {
  kUpperLeft,   ///< max x, max y: throughput against interactivity
  kUpperRight,  ///< min x, max y: throughput against latency
  kLowerLeft,   ///< min x, min y: cost against latency
  kLowerRight,  ///< max x, min y: cost against interactivity
};

/// The frontier as the dashboard draws it: membership is exactly that of 3.3, ties included, also where a tie keeps a
/// dominated point. Points that are not finite are no candidates. Ascending in x.
[[nodiscard]] std::vector<CurvePoint> corner_frontier(std::vector<CurvePoint> points, Corner corner);

/// Strict dominance over all points: nothing is kept that another point beats or equals in both and beats in one. Equal
/// points are all kept. Ascending in x.
[[nodiscard]] std::vector<CurvePoint> global_frontier(std::vector<CurvePoint> points, bool x_max, bool y_max);

/// Steffen's monotone cubic through knots ascending in x (3.4): never overshoots, never extrapolates by itself.
class SteffenSpline {
 public:
  /// At least one knot; one knot is a constant.
  explicit SteffenSpline(std::vector<CurvePoint> knots);
  /// The value at `x`, which is held inside the knots.
  [[nodiscard]] double at(double x) const;
  [[nodiscard]] const std::vector<CurvePoint>& knots() const { return knots_; }

 private:
  std::vector<CurvePoint> knots_;
  std::vector<double> slopes_;
};

/// What an upper-left frontier's reading at `x` could have been with other measurements of the same kind: the 5th and the
/// 95th percentile over `resamples` frontiers of points drawn with replacement. Above the largest knot a reading is 0, below
/// the smallest it is the first knot's. The draws are the same every time.
struct Band {
  double low = 0, high = 0;
};
[[nodiscard]] Band bootstrap_band(const std::vector<CurvePoint>& points, double x, int resamples);

}  // namespace pawl::results
