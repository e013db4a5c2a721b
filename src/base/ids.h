#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace pawl {

/// An integer that names one kind of thing and cannot be passed for another.
template <class Tag>
struct Id {
  std::int64_t value = 0;
  auto operator<=>(const Id&) const = default;
  [[nodiscard]] std::string text() const { return std::to_string(value); }
};

using RunId = Id<struct RunTag>;                      ///< one sweep; re-runs keep it and raise the attempt
using ChangeRequestId = Id<struct ChangeRequestTag>;  ///< number of a change request in its forge

}  // namespace pawl
