#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/bench_details.h"

namespace pawl::benchout {

/// `text` with the five characters escaped that mean something in HTML.
[[nodiscard]] std::string escape_html(std::string_view text);

/// A number as people read it: three significant digits, thin spaces in thousands; a dash when it is not finite.
[[nodiscard]] std::string shown(double value);

/// A line over seconds, filled below; gaps where nothing is known. An inline SVG with axes.
struct Curve {
  std::vector<std::optional<double>> values;  ///< one a step
  double step_s = 1;
  std::string_view unit;
  std::string_view colour;  ///< CSS variable: "--c1"
};
[[nodiscard]] std::string curve_svg(const Curve& curve);

/// Bars over a logarithmic axis, with marks at percentiles.
struct Bars {
  const model::BenchHistogram* histogram = nullptr;
  std::vector<std::pair<std::string, double>> marks;  ///< name, value
  std::string_view unit;
  std::string_view colour;
};
[[nodiscard]] std::string bars_svg(const Bars& bars);

}  // namespace pawl::benchout
