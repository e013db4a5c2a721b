#include "plan/key_pattern.h"

#include <string>

namespace pawl::plan {
namespace {

std::u32string characters(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t extra = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    char32_t c = extra == 0 ? lead : lead & (0x3Fu >> extra);
    for (std::size_t k = 1; k <= extra && i + k < text.size(); ++k) c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    out.push_back(c);
    i += extra + 1;
  }
  return out;
}

/// The end (the `]`) of the set that begins at `at` with `[`, or npos: then the bracket is an ordinary character.
std::size_t set_end(std::u32string_view pattern, std::size_t at) {
  std::size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == U'!') ++i;
  if (i < pattern.size() && pattern[i] == U']') ++i;
  return pattern.find(U']', i);
}

bool in_set(std::u32string_view set, char32_t c) {
  const bool negated = set.starts_with(U'!');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == U'-') {
      found = found || (set[i] <= c && c <= set[i + 2]);
      i += 2;
    } else {
      found = found || set[i] == c;
    }
  }
  return found != negated;
}

}  // namespace

bool is_pattern(std::string_view key) { return key.find_first_of("*?") != std::string_view::npos; }

bool pattern_matches(std::string_view pattern_bytes, std::string_view text_bytes) {
  const std::u32string pattern = characters(pattern_bytes), text = characters(text_bytes);
  std::size_t p = 0, t = 0, star = std::u32string::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == U'*') {
      star = p++;
      mark = t;
      continue;
    }
    std::size_t next = p + 1;
    bool fits = false;
    if (p < pattern.size()) {
      const std::size_t end = pattern[p] == U'[' ? set_end(pattern, p) : std::u32string::npos;
      if (end != std::u32string::npos) {
        fits = in_set(std::u32string_view(pattern).substr(p + 1, end - p - 1), text[t]);
        next = end + 1;
      } else {
        fits = pattern[p] == U'?' || pattern[p] == text[t];
      }
    }
    if (fits) {
      p = next;
      ++t;
    } else if (star != std::u32string::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == U'*') ++p;
  return p == pattern.size();
}

}  // namespace pawl::plan
