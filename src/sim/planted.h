#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/play.h"

namespace pawl::sim {

/// A defect put in on purpose, and the invariants of which one must catch it.
struct PlantedFault {
  std::string name;
  PlayOptions options;
  std::set<int> caught_by;
};

/// Ten and more. The machines that they use live as long as the program.
[[nodiscard]] const std::vector<PlantedFault>& planted_faults();
/// Taking main's bytes with two neighbouring steps in the wrong order, for each pair of neighbours.
[[nodiscard]] const std::vector<PlantedFault>& swapped_maintenance();

}  // namespace pawl::sim
