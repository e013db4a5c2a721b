// Key patterns against a second matcher: a table over characters instead of backtracking. Input: pattern, line feed, text.
#include <array>
#include <vector>

#include "base/text.h"
#include "fuzz_target.h"
#include "plan/key_pattern.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 64;

namespace {

/// One element of a pattern: any run, any one character, a set, or one character.
struct Element {
  enum class Kind { kRun, kAny, kSet, kOne } kind = Kind::kOne;
  bool negated = false;
  std::size_t begin = 0, end = 0;  ///< of a set: its inside, in characters
  unsigned one = 0;
};

struct Text {
  std::array<unsigned, kInputMax> at{};
  std::size_t size = 0;
};

/// The characters of UTF-8; nothing of a text that is none (keys come from checked files).
bool decode(std::string_view bytes, Text& out) {
  if (!is_utf8(bytes)) return false;
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t n = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
    if (n == 0 || i + n > bytes.size()) return false;
    unsigned c = n == 1 ? lead : lead & (0x7Fu >> n);
    for (std::size_t k = 1; k < n; ++k) {
      const unsigned next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xC0u) != 0x80u) return false;
      c = (c << 6) | (next & 0x3Fu);
    }
    out.at[out.size++] = c;
    i += n;
  }
  return true;
}

bool in_set(const Text& p, const Element& e, unsigned c) {
  bool found = false;
  for (std::size_t i = e.begin; i < e.end;) {
    if (i + 2 < e.end && p.at[i + 1] == '-') {
      found |= p.at[i] <= c && c <= p.at[i + 2];
      i += 3;
    } else {
      found |= p.at[i++] == c;
    }
  }
  return found != e.negated;
}

bool second_opinion(const Text& p, const Text& t) {
  std::array<Element, kInputMax> elements{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < p.size;) {
    Element& e = elements[count++];
    if (p.at[i] == '*') {
      e.kind = Element::Kind::kRun;
    } else if (p.at[i] == '?') {
      e.kind = Element::Kind::kAny;
    } else if (p.at[i] == '[') {
      std::size_t from = i + 1;
      const bool negated = from < p.size && p.at[from] == '!';
      from += negated ? 1 : 0;
      std::size_t close = from < p.size && p.at[from] == ']' ? from + 1 : from;
      while (close < p.size && p.at[close] != ']') ++close;
      if (close < p.size) {
        e = {Element::Kind::kSet, negated, from, close, 0};
        i = close;
      } else {
        e.one = '[';
      }
    } else {
      e.one = p.at[i];
    }
    ++i;
  }
  std::array<bool, kInputMax + 1> reach{};  // prefixes of the text that the elements so far match
  reach[0] = true;
  for (std::size_t k = 0; k < count; ++k) {
    const Element& e = elements[k];
    std::array<bool, kInputMax + 1> next{};
    for (std::size_t i = 0; i <= t.size; ++i) {
      if (e.kind == Element::Kind::kRun) {
        next[i] = reach[i] || (i > 0 && next[i - 1]);
      } else if (i > 0 && reach[i - 1]) {
        const unsigned c = t.at[i - 1];
        next[i] = e.kind == Element::Kind::kAny || (e.kind == Element::Kind::kSet ? in_set(p, e, c) : e.one == c);
      }
    }
    reach = next;
  }
  return reach[t.size];
}

}  // namespace

bool one_input(std::string_view input) {
  const auto cut = input.find('\n');
  if (cut == std::string_view::npos) return false;
  const std::string_view pattern = input.substr(0, cut), text = input.substr(cut + 1);
  const bool matches = plan::pattern_matches(pattern, text);
  if (!plan::is_pattern(pattern) && pattern.find('[') == std::string_view::npos) PAWL_FUZZ_CHECK(matches == (pattern == text));
  Text p, t;
  if (decode(pattern, p) && decode(text, t)) PAWL_FUZZ_CHECK(matches == second_opinion(p, t));
  return true;
}

}  // namespace pawl::fuzz
