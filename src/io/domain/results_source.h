#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/baseline.h"

namespace pawl::io {

using model::Baseline;

/// Where published results are read from: a results API, our store, a dump.
class ResultsSource {
 public:
  virtual ~ResultsSource() = default;
  /// The newest complete publication of these points with this image. `point_keys`: `model::point_key` of each point
  /// wanted. Nothing when none was published.
  virtual Result<std::optional<Baseline>> newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) = 0;
};

}  // namespace pawl::io
