#pragma once

#include <string>

#include "base/result.h"
#include "compare/comparison.h"

namespace pawl::report {

/// How a policy profile writes numbers and threads (upgrade-loop 22 and 33).
struct Style {
  std::string profile;  ///< "2026-09"
  compare::Statistic statistic = compare::Statistic::kMean;
  bool old_value_in_cell = true;  ///< "old → new (+x%)"; otherwise "new (+x%)"
  bool unicode_minus = true;      ///< U+2212; otherwise "-"
  bool trim_zeros = false;        ///< "+10%" instead of "+10.0%"
  bool fold_chinese = false;      ///< one collapsed section; otherwise after a rule
  int head_digits = 40;           ///< of a commit
};

/// A value with fixed decimals and, in the folding profile, thousands separators and no trailing zeros. "N/A" when it
/// is not a number.
[[nodiscard]] std::string number(const Style& style, double value, int decimals);

/// "+13.6%", "−57.3%"; empty when not a number. One decimal, from the unrounded value.
[[nodiscard]] std::string delta(const Style& style, double percent);

/// Text from elsewhere made harmless inside Markdown: no mention of a user, no HTML, no table border, one line.
[[nodiscard]] std::string neutral(std::string_view text, std::size_t max = 700);

}  // namespace pawl::report
