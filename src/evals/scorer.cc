#include "evals/scorer.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>

#include "base/text.h"
#include "model/bench_result.h"

namespace pawl::evals {
namespace {

/// The length of the character that begins at `at`: behind an empty match the search goes on after it.
std::size_t character_at(std::string_view text, std::size_t at) {
  std::size_t length = 1;
  while (at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xc0) == 0x80) ++length;
  return length;
}

/// Calls `use` with the groups of every match, from the left.
template <class F>
void each_match(const codec::Pattern& pattern, std::string_view text, F&& use) {
  std::vector<std::string_view> groups;
  std::size_t from = 0;
  while (from <= text.size() && pattern.find(text, groups, from)) {
    const auto begin = groups[0].data() == nullptr ? from : static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    use(groups, begin, end);
    from = end == begin ? end + character_at(text, end) : end;
  }
}

/// As Python's findall chooses: the whole match without groups, the group of one, of several the first that holds something.
std::optional<std::string> chosen_group(const std::vector<std::string_view>& groups, std::size_t count) {
  if (count == 0) return std::string(groups[0]);
  if (count == 1) return std::string(groups.size() > 1 ? groups[1] : std::string_view());
  for (std::size_t group = 1; group < groups.size(); ++group) {
    if (!groups[group].empty()) return std::string(groups[group]);
  }
  return std::nullopt;
}

std::optional<double> number_in(std::string_view text) {
  std::string digits;
  for (const char c : trim(text)) {
    if (c != ',' && c != '$' && c != ' ' && c != '%') digits += c;
  }
  while (digits.ends_with('.')) digits.pop_back();
  return parse_double(digits);
}

}  // namespace

Result<Extractor> Extractor::compile(const Filter& filter) {
  PAWL_ASSIGN(codec::Pattern pattern, codec::Pattern::compile_search(filter.pattern, true));
  return Extractor(std::move(pattern), filter.group_select);
}

std::string Extractor::extract(std::string_view response) const {
  std::vector<std::optional<std::string>> found;
  const std::size_t count = pattern_.groups();
  each_match(pattern_, response, [&](const auto& groups, std::size_t, std::size_t) { found.push_back(chosen_group(groups, count)); });
  const auto size = static_cast<std::int64_t>(found.size());
  const std::int64_t index = group_select_ < 0 ? size + group_select_ : group_select_;
  if (index < 0 || index >= size) return std::string(kInvalid);
  const std::optional<std::string>& chosen = found[static_cast<std::size_t>(index)];
  return chosen ? std::string(trim(*chosen)) : std::string(kInvalid);
}

Result<Matcher> Matcher::compile(const MatchRules& rules) {
  Matcher out;
  for (const std::string& pattern : rules.ignored) {
    PAWL_ASSIGN(codec::Pattern compiled, codec::Pattern::compile_search(pattern, true));
    out.ignored_.push_back(std::move(compiled));
  }
  out.ignore_case_ = rules.ignore_case;
  out.ignore_punctuation_ = rules.ignore_punctuation;
  return out;
}

std::string Matcher::normalised(std::string_view text) const {
  std::string out(text);
  for (const codec::Pattern& pattern : ignored_) {
    std::string kept;
    std::size_t from = 0;
    each_match(pattern, out, [&](const auto&, std::size_t begin, std::size_t end) {
      kept.append(out, from, begin - from);
      from = end;
    });
    kept.append(out, from);
    out = std::move(kept);
  }
  if (ignore_case_) {
    for (char& c : out) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
  }
  if (ignore_punctuation_) std::erase_if(out, [](char c) { return std::ispunct(static_cast<unsigned char>(c)) != 0; });
  return out;
}

bool Matcher::equal(std::string_view extracted, std::string_view target) const { return normalised(extracted) == normalised(target); }

bool numeric_equal(std::string_view extracted, std::string_view target) {
  const std::size_t marker = target.rfind("#### ");
  const auto a = number_in(extracted), b = number_in(marker == std::string_view::npos ? target : target.substr(marker + 5));
  return a && b && *a == *b;
}

Score score(std::int64_t passed, std::int64_t n) {
  if (n < 1) return {model::kUnknown, model::kUnknown};
  const double p = static_cast<double>(passed) / static_cast<double>(n);
  if (n < 2) return {p, model::kUnknown};
  return {p, std::sqrt(p * (1 - p) / static_cast<double>(n - 1))};
}

}  // namespace pawl::evals
