#include "codec/internal/yaml_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pawl::codec::internal {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

/// The length of the line break at `at`, 0 when there is none: CR LF, LF, CR, NEL, U+2028, U+2029.
std::size_t break_at(std::string_view bytes, std::size_t at) {
  switch (bytes[at]) {
    case '\n':
      return 1;
    case '\r':
      return at + 1 < bytes.size() && bytes[at + 1] == '\n' ? 2 : 1;
    case '\xC2':
      return bytes.substr(at).starts_with("\xC2\x85") ? 2 : 0;
    case '\xE2':
      return bytes.substr(at).starts_with("\xE2\x80\xA8") || bytes.substr(at).starts_with("\xE2\x80\xA9") ? 3 : 0;
    default:
      return 0;
  }
}

std::size_t line_end(std::string_view bytes, std::size_t at) {
  while (at < bytes.size() && break_at(bytes, at) == 0) ++at;
  return at;
}

/// Where the text of a scalar begins: after its anchor, its tag, and what stands between.
std::size_t content_begin(std::string_view bytes, const ScalarSpan& scalar) {
  std::size_t at = scalar.begin;
  while (at < scalar.end) {
    const char c = bytes[at];
    if (c == '&' || c == '!') {
      while (at < scalar.end && bytes[at] != ' ' && bytes[at] != '\t' && break_at(bytes, at) == 0) ++at;
    } else if (c == '#') {
      at = line_end(bytes, at);
    } else if (c == ' ' || c == '\t') {
      ++at;
    } else if (const std::size_t n = break_at(bytes, at); n > 0) {
      at += n;
    } else {
      break;
    }
  }
  return std::min(at, scalar.end);
}

}  // namespace

void LenienceFinder::scalar(const ScalarSpan& span) {
  if (problem_ || span.begin < at_) return;
  const std::size_t inside = content_begin(bytes_, span);
  outside(at_, inside);
  at_ = span.end;
  if (span.style == ScalarSpan::Style::kPlain) {
    no_tab(inside, span.end);
  } else if (span.style == ScalarSpan::Style::kBlock) {
    std::size_t header = inside + 1;
    while (header < span.end && std::string_view("+-0123456789").contains(bytes_[header])) ++header;
    if (!problem_ && header < bytes_.size() && bytes_[header] == '#')
      problem_ = ScanProblem{header, "a comment glued to a block indicator: put a blank before the '#'"};
    outside(header, std::min(line_end(bytes_, header), span.end));
  }
}

std::optional<ScanProblem> LenienceFinder::finish() {
  outside(at_, bytes_.size());
  return problem_;
}

void LenienceFinder::no_tab(std::size_t from, std::size_t to) {
  if (problem_ || from >= to) return;
  const auto tab = bytes_.substr(from, to - from).find('\t');
  if (tab != std::string_view::npos) problem_ = ScanProblem{from + tab, "a tab: YAML takes it only inside quotes, block text and comments; use blanks"};
}

/// Text between scalars: indicators, blanks and comments.
void LenienceFinder::outside(std::size_t from, std::size_t to) {
  if (problem_) return;
  for (std::size_t at = from; at < to;) {
    const char c = bytes_[at];
    if (c == '#') {
      at = line_end(bytes_, at);
    } else if (c == '\t') {
      return no_tab(at, at + 1);
    } else if (c == '\xEF' && at > 0 && bytes_.substr(at).starts_with(kBom) && starts_line(at)) {
      problem_ = ScanProblem{at, "a byte-order mark (U+FEFF) at the start of a later line"};
      return;
    } else {
      ++at;
    }
  }
}

bool LenienceFinder::starts_line(std::size_t at) const {
  if (at == kBom.size() && bytes_.starts_with(kBom)) return true;  // a second one in front
  for (std::size_t n = 1; n <= 3 && n <= at; ++n) {
    if (break_at(bytes_, at - n) == n) return true;
  }
  return false;
}

bool all_plain_ascii(std::string_view bytes) {
  static constexpr auto kOther = [] {
    std::array<unsigned char, 256> other{};
    for (std::size_t c = 0; c < 256; ++c) other[c] = (c >= 0x20 && c < 0x7F) || c == '\t' || c == '\n' || c == '\r' ? 0 : 1;
    return other;
  }();
  unsigned char seen = 0;
  for (const char c : bytes) seen |= kOther[static_cast<unsigned char>(c)];
  return seen == 0;
}

std::optional<ScanProblem> find_forbidden_character(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    const auto next = [&](std::size_t k) { return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u; };
    if (c >= 0x20 && c < 0x7F) continue;
    if (c == '\t' || c == '\n' || c == '\r') continue;
    if (c < 0x20 || c == 0x7F) return ScanProblem{i, fmt::format("the control character U+{:04X}", c)};
    if (c == 0xC2 && next(1) < 0xA0 && next(1) != 0x85) return ScanProblem{i, fmt::format("the control character U+{:04X}", next(1))};
    if (c == 0xEF && next(1) == 0xBF && next(2) >= 0xBE) return ScanProblem{i, fmt::format("the character U+FF{:02X}, which is none", next(2) + 0x40u)};
  }
  return std::nullopt;
}

LineColumn locate(std::string_view bytes, std::size_t at) {
  LineColumn place;
  std::size_t i = bytes.starts_with(kBom) ? kBom.size() : 0;
  while (i < at && i < bytes.size()) {
    if (const std::size_t n = break_at(bytes, i); n > 0) {
      ++place.line;
      place.column = 1;
      i += n;
    } else {
      ++i;
      while (i < bytes.size() && (static_cast<unsigned char>(bytes[i]) & 0xC0u) == 0x80u) ++i;
      ++place.column;
    }
  }
  return place;
}

std::string line_text(std::string_view bytes, int line) {
  std::size_t at = bytes.starts_with(kBom) ? kBom.size() : 0;
  for (int i = 1; i < line; ++i) {
    at = line_end(bytes, at);
    if (at >= bytes.size()) return {};
    at += break_at(bytes, at);
  }
  return std::string(bytes.substr(at, std::min<std::size_t>(line_end(bytes, at) - at, 200)));
}

std::string line_at(std::string_view bytes, std::size_t at) {
  const std::size_t first = bytes.starts_with(kBom) ? kBom.size() : 0;
  std::size_t begin = std::min(at, bytes.size());
  const auto after_break = [&](std::size_t here) {
    if (bytes[here - 1] == '\n' || bytes[here - 1] == '\r') return true;
    return (here >= 2 && break_at(bytes, here - 2) == 2) || (here >= 3 && break_at(bytes, here - 3) == 3);
  };
  while (begin > first && !after_break(begin)) --begin;
  return std::string(bytes.substr(begin, std::min<std::size_t>(line_end(bytes, begin) - begin, 200)));
}

}  // namespace pawl::codec::internal
