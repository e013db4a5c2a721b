#include "images/version.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace pawl::images {
namespace {

constexpr std::size_t kTextMax = 64, kNumbersMax = 8, kDigitsMax = 18;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_joint(char c) { return c == '.' || c == '-' || c == '_'; }

/// Takes a number from the front; nothing when there is none or it is too long.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  if (n == 0 || n > kDigitsMax) return std::nullopt;
  const auto value = parse_int(text.substr(0, n));
  text.remove_prefix(n);
  return value;
}

/// Takes `word` with the joints before it and the number after it: ".post1", "rc14", "-dev.1". 0 without a number.
std::optional<std::int64_t> take_word(std::string_view& text, std::string_view word) {
  std::string_view rest = text;
  if (!rest.empty() && is_joint(rest.front())) rest.remove_prefix(1);
  if (!rest.starts_with(word)) return std::nullopt;
  rest.remove_prefix(word.size());
  std::string_view number = rest;
  if (number.size() > 1 && is_joint(number[0]) && is_digit(number[1])) number.remove_prefix(1);
  std::int64_t value = 0;
  if (!number.empty() && is_digit(number.front())) {
    const auto taken = take_number(number);
    if (!taken) return std::nullopt;
    value = *taken;
    rest = number;
  }
  text = rest;
  return value;
}

}  // namespace

std::optional<Version> Version::parse(std::string_view text) {
  if (text.size() > kTextMax) return std::nullopt;
  Version v;
  while (true) {
    const auto number = take_number(text);
    if (!number) return std::nullopt;
    v.release_.push_back(*number);
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) break;
    if (v.release_.size() == kNumbersMax) return std::nullopt;
    text.remove_prefix(1);
  }
  struct Spelling {
    std::string_view word;
    char kind;
  };
  for (const auto& [word, kind] :
       {Spelling{"alpha", 'a'}, Spelling{"beta", 'b'}, Spelling{"rc", 'r'}, Spelling{"a", 'a'}, Spelling{"b", 'b'}, Spelling{"c", 'r'}}) {
    if (const auto number = take_word(text, word)) {
      v.pre_ = {kind, *number};
      break;
    }
  }
  v.post_ = take_word(text, "post");
  v.dev_ = take_word(text, "dev");
  if (!text.empty()) return std::nullopt;
  return v;
}

std::pair<std::pair<int, std::int64_t>, std::pair<std::int64_t, std::int64_t>> Version::suffix_key() const {
  // PEP 440: a bare dev release comes before every pre-release of its version, a final one after all of them.
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::pair<int, std::int64_t> pre{4, 0};
  if (pre_) {
    pre = {pre_->first == 'a' ? 1 : pre_->first == 'b' ? 2 : 3, pre_->second};
  } else if (dev_ && !post_) {
    pre = {0, 0};
  }
  return {pre, {post_.value_or(-1), dev_.value_or(kLast)}};
}

std::strong_ordering Version::operator<=>(const Version& other) const {
  const std::size_t n = std::max(release_.size(), other.release_.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t a = i < release_.size() ? release_[i] : 0, b = i < other.release_.size() ? other.release_[i] : 0;
    if (a != b) return a <=> b;
  }
  return suffix_key() <=> other.suffix_key();
}

Channel Version::channel() const {
  if (dev_ || (pre_ && pre_->first != 'r')) return Channel::kDevelopment;
  return pre_ ? Channel::kCandidate : Channel::kStable;
}

bool Version::is_calendar() const {
  const std::int64_t first = release_.front();
  return (first >= 1990 && first <= 2999) || (first >= 19900101 && first <= 29991231);
}

}  // namespace pawl::images
