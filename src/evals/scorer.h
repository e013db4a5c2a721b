#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/pattern.h"

namespace pawl::evals {

/// What a filter gives when nothing of the response matches.
inline constexpr std::string_view kInvalid = "[invalid]";

/// One filter of a task: the pattern (PCRE, as near to Python's as such a thing is), and which of its matches counts (0 = first, -1 = last). Of a match
/// with several groups the first non-empty one counts; no match gives "[invalid]".
struct Filter {
  std::string pattern;
  std::int64_t group_select = 0;
};

/// A filter, ready to be used many times. Pure; const calls are thread-safe.
class Extractor {
 public:
  /// Errors: the pattern is no regular expression.
  [[nodiscard]] static Result<Extractor> compile(const Filter& filter);

  /// The part of `response` that the filter selects, without blanks at its ends, or kInvalid.
  [[nodiscard]] std::string extract(std::string_view response) const;

 private:
  Extractor(codec::Pattern pattern, std::int64_t group_select) : pattern_(std::move(pattern)), group_select_(group_select) {}

  codec::Pattern pattern_;
  std::int64_t group_select_;
};

/// What is done to an extracted text and to the target before they are compared: patterns that are taken out, one after the other, then case,
/// then punctuation (ASCII). As lm-eval's exact_match does it.
struct MatchRules {
  std::vector<std::string> ignored{",", "\\$", "(?s).*#### ", "\\.$"};
  bool ignore_case = true, ignore_punctuation = false;
};

/// Match rules, ready to be used many times. Pure; const calls are thread-safe.
class Matcher {
 public:
  /// Errors: a pattern is no regular expression.
  [[nodiscard]] static Result<Matcher> compile(const MatchRules& rules);
  [[nodiscard]] bool equal(std::string_view extracted, std::string_view target) const;
  [[nodiscard]] std::string normalised(std::string_view text) const;

 private:
  std::vector<codec::Pattern> ignored_;
  bool ignore_case_ = true, ignore_punctuation_ = false;
};

/// Whether two texts are the same number, in whatever dress: `$29.00` and 29. A diagnosis, never a score.
[[nodiscard]] bool numeric_equal(std::string_view extracted, std::string_view target);

/// A mean of zeros and ones, with its standard error s/√n (s² over n − 1). NaN where it does not exist: the score for
/// n = 0, the error for n < 2.
struct Score {
  double value;
  double standard_error;
};
[[nodiscard]] Score score(std::int64_t passed, std::int64_t n);

}  // namespace pawl::evals
