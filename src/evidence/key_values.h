#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::evidence {

/// The pairs of a list as engines print their settings: `a=1, b='x, y', c=[1, 2]`, `'a': 1, 'b': {…}`, `a = 1`. Values keep what stands in
/// brackets and lose the quotes around a whole value. What is no pair is passed over; a list that was cut gives the pairs before the cut.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> key_values(std::string_view list);

}  // namespace pawl::evidence
