#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/play.h"

namespace pawl::sim {

/// A state in which a person closes the request.
struct CloseCase {
  control::State state;
  bool parked = false;      ///< while nothing but the wait for a run is left, and no process
  std::vector<Fate> fates;  ///< so that the state comes to be
  [[nodiscard]] std::string name() const;
};
/// Every state from draft to readying, those that park also parked.
[[nodiscard]] const std::vector<CloseCase>& close_cases();

/// What came of it.
struct Closed {
  bool struck = false;           ///< the state came to be, and the request was closed in it
  std::int64_t reaction_s = -1;  ///< until the candidate was stopping; −1: never
  std::int64_t live_runs = 0;    ///< at the end
  bool branch_gone = false;
  std::int64_t receipts = 0;  ///< that say *stopped*
  Played played;
};
/// One candidate without other trouble; the request is closed when it first stands in the state.
[[nodiscard]] Closed close_in(Player& player, const CloseCase& where);

}  // namespace pawl::sim
