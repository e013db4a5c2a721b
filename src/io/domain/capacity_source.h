#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::io {

/// Whether the clusters of a recipe have room now. Anything missing or unreachable is "no" (upgrade-loop 7).
struct Capacity {
  bool pass = false;
  std::string reason;  ///< internal: "busy", "telemetry unusable"; never published with numbers
};

class CapacitySource {
 public:
  virtual ~CapacitySource() = default;
  /// `runner`: the label of the recipe, e.g. "b200" or "cluster:b200-dgxc". `below_percent`: the gate fails where this
  /// share of the nodes is in use, exactly it included.
  virtual Result<Capacity> check(const std::string& runner, std::int64_t below_percent) = 0;
};

/// The machine that pawl itself runs on: jobs run one after the other, so there is always room for the next.
class LocalCapacity final : public CapacitySource {
 public:
  Result<Capacity> check(const std::string&, std::int64_t) override { return Capacity{true, {}}; }
};

}  // namespace pawl::io
