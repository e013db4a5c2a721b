#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::io {

/// The published measurements of one image of one recipe on one day: what a candidate is compared with.
struct Baseline {
  std::string date;   ///< YYYY-MM-DD
  std::string image, digest;
  std::int64_t run = 0, attempt = 1;  ///< producer
  std::string head;                   ///< commit that the producer measured; empty when not known
  std::string scale;
  std::vector<codec::Json> rows;      ///< result rows
  std::vector<codec::Json> evals;     ///< eval rows
  std::vector<std::string> sources;   ///< queries, as a reader could repeat them
};
BOOST_DESCRIBE_STRUCT(Baseline, (), (date, image, digest, run, attempt, head, scale, rows, evals, sources))

/// Where published results are read from: a results API, our store, a dump.
class ResultsSource {
 public:
  virtual ~ResultsSource() = default;
  /// The newest complete publication of these points with this image. `point_keys`: `model::point_key` of each point
  /// wanted. Nothing when none was published.
  virtual Result<std::optional<Baseline>> newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) = 0;
};

}  // namespace pawl::io
