#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codec/json.h"

namespace pawl::results {

/// How two answers of one route differ. Rows are matched by what identifies them, not by their place.
struct AnswerDiff {
  std::int64_t left = 0, right = 0, matched = 0;   ///< rows
  std::vector<std::string> only_left, only_right;  ///< rows without a partner, named; the first 50
  std::int64_t only_left_count = 0, only_right_count = 0;
  std::map<std::string, std::int64_t> changed;  ///< members whose value differs, by name, with the number of rows
  std::map<std::string, std::int64_t> missing;  ///< members that only the left row has
  std::map<std::string, std::int64_t> added;    ///< members that only the right row has
  std::vector<std::string> examples;            ///< of changed members; the first 20
  std::int64_t out_of_order = 0;                ///< matched rows whose neighbour differs

  /// Nothing that the left says is missing or different on the right.
  [[nodiscard]] bool right_has_all_of_left() const { return only_left_count == 0 && only_right_count == 0 && changed.empty() && missing.empty(); }
};
BOOST_DESCRIBE_STRUCT(AnswerDiff, (),
                      (left, right, matched, only_left, only_right, only_left_count, only_right_count, changed, missing, added, examples, out_of_order))

/// Compares two answers: lists of rows, or objects of such lists (workflow-info, submissions; members are then named
/// "runs.name"). Numbers compare as numbers: 1 equals 1.0.
[[nodiscard]] AnswerDiff diff_answers(const codec::Json& left, const codec::Json& right);

}  // namespace pawl::results
