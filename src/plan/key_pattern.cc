#include "plan/key_pattern.h"

#include <string>

#include "base/text.h"

namespace pawl::plan {
namespace {

/// The characters of UTF-8. A byte that is none becomes U+DC00 + byte, which no text holds: so Python passes on arguments.
std::u32string characters(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (length == 1) {
      out.push_back(lead);
    } else if (is_utf8(text.substr(i, length)) && i + length <= text.size()) {
      char32_t c = lead & (0x7Fu >> length);
      for (std::size_t k = 1; k < length; ++k) c = (c << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
      out.push_back(c);
    } else {
      out.push_back(0xDC00u + lead);
      ++i;
      continue;
    }
    i += length;
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
