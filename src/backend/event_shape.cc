#include "backend/event_shape.h"

#include <algorithm>
#include <cstring>

namespace pawl::backend {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101, kTops = 0x8080808080808080;

/// The top bit of each byte that is 0.
constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kOnes) & ~word & kTops; }

/// The first byte at or after `at` that does not stand for itself in a JSON string: a quote, a backslash, a control byte, one outside of ASCII.
std::size_t plain_end(std::string_view text, std::size_t at) {
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t control = (word - kOnes * 0x20) & ~word & kTops;
    if (((zero_bytes(word ^ (kOnes * '"')) | zero_bytes(word ^ (kOnes * '\\')) | control | word) & kTops) != 0) break;
  }
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') break;
    ++at;
  }
  return at;
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A whole number without sign, as JSON writes one.
bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit) && (text.size() == 1 || text[0] != '0'); }

}  // namespace

void EventShape::learn(std::string_view json, std::string_view text, const std::string_view* free, std::size_t n) {
  n_ = 0;
  if (json.size() > kBytes || text.empty()) return;
  const auto put = [&](std::string_view part, bool number, bool is_text) {
    const auto begin = static_cast<std::uint16_t>(part.data() - json.data());
    holes_[n_++] = {begin, static_cast<std::uint16_t>(begin + part.size()), number, is_text};
  };
  put(text, false, true);
  for (std::size_t i = 0; i < n && n_ < kHoles; ++i) {
    const bool quoted = free[i].data() > json.data() && free[i].data()[-1] == '"';
    if (quoted || is_number(free[i])) put(free[i], !quoted, false);
  }
  std::sort(holes_.begin(), holes_.begin() + static_cast<std::ptrdiff_t>(n_), [](const Hole& a, const Hole& b) { return a.begin < b.begin; });
  bytes_.assign(json);
}

bool EventShape::fits(std::string_view json, std::string_view& text) const {
  std::size_t at = 0, from = 0;  // in `json`, in the pattern
  for (std::size_t i = 0; i < n_; ++i) {
    const Hole& hole = holes_[i];
    const std::size_t fixed = hole.begin - from;
    if (json.size() - at < fixed || std::memcmp(json.data() + at, bytes_.data() + from, fixed) != 0) return false;
    at += fixed;
    const std::size_t begin = at;
    if (hole.number) {
      while (at < json.size() && is_digit(json[at])) ++at;
      if (at == begin || (json[begin] == '0' && at > begin + 1)) return false;
    } else {
      at = plain_end(json, at);
    }
    if (hole.text) {
      if (at == begin) return false;
      text = json.substr(begin, at - begin);
    }
    from = hole.end;
  }
  return n_ > 0 && json.size() - at == bytes_.size() - from && std::memcmp(json.data() + at, bytes_.data() + from, bytes_.size() - from) == 0;
}

}  // namespace pawl::backend
