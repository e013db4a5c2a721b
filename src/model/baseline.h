#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/json.h"

namespace pawl::model {

/// The published measurements of one image of one recipe on one day: what a candidate is compared with. Frozen once.
struct Baseline {
  std::string date;  ///< YYYY-MM-DD
  std::string image, digest;
  std::int64_t run = 0, attempt = 1;  ///< producer
  std::string head;                   ///< commit that the producer measured; empty when not known
  std::string scale;
  std::vector<codec::Json> rows;     ///< result rows
  std::vector<codec::Json> evals;    ///< eval rows
  std::vector<std::string> sources;  ///< queries, as a reader could repeat them
};
BOOST_DESCRIBE_STRUCT(Baseline, (), (date, image, digest, run, attempt, head, scale, rows, evals, sources))

}  // namespace pawl::model
