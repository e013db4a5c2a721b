#pragma once

#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "evals/task.h"

namespace pawl::evals {

/// What a filter gives when nothing of the response matches.
inline constexpr std::string_view kInvalid = "[invalid]";

/// A filter, ready to be used many times. Pure; const calls are thread-safe.
class Extractor {
 public:
  /// Errors: the pattern is no ECMAScript regular expression.
  [[nodiscard]] static Result<Extractor> compile(const Filter& filter);

  /// The part of `response` that the filter selects, without blanks at its ends, or kInvalid. Linear in the length of the
  /// response, which may be of any size; a single match longer than 4 KiB is cut there.
  [[nodiscard]] std::string extract(std::string_view response) const;

 private:
  Extractor(std::regex pattern, std::int64_t group_select) : pattern_(std::move(pattern)), group_select_(group_select) {}

  std::regex pattern_;
  std::int64_t group_select_;
};

/// Whether an extracted text is the gold answer: equal without case and without commas, dollar signs, everything up to
/// the last "#### " and one full stop at the end (sweep-run-results 4.5).
[[nodiscard]] bool exact_match(std::string_view extracted, std::string_view gold);

/// A mean of zeros and ones, with its standard error s/√n (s² over n − 1). NaN where it does not exist: the score for
/// n = 0, the error for n < 2.
struct Score {
  double value;
  double standard_error;
};
[[nodiscard]] Score score(std::int64_t passed, std::int64_t n);

}  // namespace pawl::evals
