#include "evals/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "model/bench_result.h"

namespace pawl::evals {
namespace {

// std::regex recurses once a character, up to a kilobyte of stack each: a text is searched through windows, so that no
// response can overflow the stack. The overlap is what a match may need across the end of a window.
constexpr std::size_t kWindow = 4096;
constexpr std::size_t kOverlap = 1024;

std::string chosen_group(const std::cmatch& match) {
  if (match.size() == 1) return match.str(0);
  for (std::size_t group = 1; group < match.size(); ++group) {
    if (match.length(group) > 0) return match.str(group);
  }
  return {};
}

std::vector<std::string> all_matches(const std::regex& pattern, std::string_view text) {
  std::vector<std::string> found;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t until = std::min(from + kWindow, text.size());
    auto flags = std::regex_constants::match_default;
    if (from > 0) flags |= std::regex_constants::match_prev_avail;
    if (until < text.size()) flags |= std::regex_constants::match_not_eol | std::regex_constants::match_not_eow;
    std::cmatch match;
    if (!std::regex_search(text.data() + from, text.data() + until, match, pattern, flags)) {
      if (until == text.size()) break;
      from = until - kOverlap;
      continue;
    }
    const std::size_t begin = from + static_cast<std::size_t>(match.position(0));
    const std::size_t end = begin + static_cast<std::size_t>(match.length(0));
    if (end == until && until < text.size() && begin > from) {
      from = begin;  // it may go on behind the window: look again from where it begins
      continue;
    }
    found.push_back(chosen_group(match));
    from = end == begin ? end + 1 : end;
  }
  return found;
}

std::string normalised(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ',' && c != '$') out += c;
  }
  constexpr std::string_view kMarker = "#### ";
  if (const auto marker = out.rfind(kMarker); marker != std::string::npos) out.erase(0, marker + kMarker.size());
  if (out.ends_with('.')) out.pop_back();
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

Result<Extractor> Extractor::compile(const Filter& filter) {
  try {
    return Extractor(std::regex(filter.pattern, std::regex::ECMAScript), filter.group_select);
  } catch (const std::regex_error& e) {
    return bad_input(fmt::format("\"{}\" is no regular expression: {}", filter.pattern, e.what()), "patterns are ECMAScript regular expressions");
  }
}

std::string Extractor::extract(std::string_view response) const {
  const auto matches = all_matches(pattern_, response);
  const auto count = static_cast<std::int64_t>(matches.size());
  const std::int64_t index = group_select_ < 0 ? count + group_select_ : group_select_;
  if (index < 0 || index >= count) return std::string(kInvalid);
  return std::string(trim(matches[static_cast<std::size_t>(index)]));
}

bool exact_match(std::string_view extracted, std::string_view gold) { return normalised(extracted) == normalised(gold); }

Score score(std::int64_t passed, std::int64_t n) {
  if (n < 1) return {model::kUnknown, model::kUnknown};
  const double p = static_cast<double>(passed) / static_cast<double>(n);
  if (n < 2) return {p, model::kUnknown};
  return {p, std::sqrt(p * (1 - p) / static_cast<double>(n - 1))};
}

}  // namespace pawl::evals
