#include "codec/json_scan.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace pawl::codec {
namespace {

/// Bytes that stand in a string for themselves: printable ASCII but the quote and the backslash.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Length of the UTF-8 sequence at the front, 0 when it is none (RFC 3629: no overlong forms, no surrogates).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

void JsonScan::blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
}

JsonScan::Kind JsonScan::peek() {
  if (failed_) return Kind::kBroken;
  blanks();
  if (at_ == text_.size()) return Kind::kBroken;
  switch (text_[at_]) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
      return Kind::kTrue;
    case 'f':
      return Kind::kFalse;
    case 'n':
      return Kind::kNull;
    default:
      return text_[at_] == '-' || is_digit(text_[at_]) ? Kind::kNumber : Kind::kBroken;
  }
}

bool JsonScan::open(char kind) {
  if (failed_) return false;
  blanks();
  if (at_ == text_.size() || text_[at_] != kind) {
    skip();
    return false;
  }
  if (++depth_ > kDepthLimit) {
    fail();
    return false;
  }
  ++at_;
  first_ = true;
  return true;
}

bool JsonScan::enter_object() { return open('{'); }
bool JsonScan::enter_array() { return open('['); }

bool JsonScan::next_key(std::string_view& key) {
  if (failed_) return false;
  blanks();
  if (at_ == text_.size()) return fail(), false;
  if (text_[at_] == '}') {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (text_[at_] != ',') return fail(), false;
    ++at_;
    blanks();
  }
  first_ = false;
  const std::size_t begin = at_ + 1;
  if (!string_value()) return false;
  key = text_.substr(begin, at_ - begin - 1);
  blanks();
  if (at_ == text_.size() || text_[at_] != ':') return fail(), false;
  ++at_;
  return true;
}

bool JsonScan::next_element() {
  if (failed_) return false;
  blanks();
  if (at_ == text_.size()) return fail(), false;
  if (text_[at_] == ']') {
    ++at_;
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (text_[at_] != ',') return fail(), false;
    ++at_;
  }
  first_ = false;
  return true;
}

bool JsonScan::string_value() {
  if (at_ == text_.size() || text_[at_] != '"') return fail(), false;
  ++at_;
  for (;;) {
    while (at_ < text_.size() && kPlain[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ == text_.size()) return fail(), false;
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return true;
    }
    if (c == '\\') {
      if (at_ + 1 == text_.size()) return fail(), false;
      const char kind = text_[at_ + 1];
      if (kind == 'u') {
        if (text_.size() - at_ < 6) return fail(), false;
        for (std::size_t i = 2; i < 6; ++i) {
          if (hex_value(text_[at_ + i]) < 0) return fail(), false;
        }
        at_ += 6;
      } else if (std::strchr("\"\\/bfnrt", kind) != nullptr && kind != '\0') {
        at_ += 2;
      } else {
        return fail(), false;
      }
      continue;
    }
    const std::size_t length = static_cast<unsigned char>(c) < 0x80 ? 0 : sequence_length(text_.substr(at_, 4));
    if (length == 0) return fail(), false;  // a control byte, or no UTF-8
    at_ += length;
  }
}

bool JsonScan::number_value(bool& integral) {
  integral = true;
  const auto digits = [&] {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > begin;
  };
  if (text_[at_] == '-') ++at_;
  if (at_ < text_.size() && text_[at_] == '0') {
    ++at_;
  } else if (!digits()) {
    return fail(), false;
  }
  if (at_ < text_.size() && text_[at_] == '.') {
    integral = false;
    ++at_;
    if (!digits()) return fail(), false;
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    integral = false;
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    if (!digits()) return fail(), false;
  }
  return true;
}

bool JsonScan::word(std::string_view expected) {
  if (!text_.substr(at_).starts_with(expected)) return fail(), false;
  at_ += expected.size();
  return true;
}

bool JsonScan::value() {
  bool integral = false;
  switch (peek()) {
    case Kind::kString:
      return string_value();
    case Kind::kNumber:
      return number_value(integral);
    case Kind::kTrue:
      return word("true");
    case Kind::kFalse:
      return word("false");
    case Kind::kNull:
      return word("null");
    case Kind::kObject: {
      if (!enter_object()) return false;
      for (std::string_view key; next_key(key);) {
        if (!value()) return false;
      }
      return !failed_;
    }
    case Kind::kArray: {
      if (!enter_array()) return false;
      while (next_element()) {
        if (!value()) return false;
      }
      return !failed_;
    }
    case Kind::kBroken:
      break;
  }
  return fail(), false;
}

std::string_view JsonScan::skip() {
  if (failed_) return {};
  blanks();
  const std::size_t begin = at_;
  return value() ? text_.substr(begin, at_ - begin) : std::string_view{};
}

std::optional<std::string_view> JsonScan::raw_string() {
  if (peek() != Kind::kString) {
    skip();
    return std::nullopt;
  }
  const std::size_t begin = at_ + 1;
  if (!string_value()) return std::nullopt;
  return text_.substr(begin, at_ - begin - 1);
}

std::optional<std::int64_t> JsonScan::integer() {
  if (peek() != Kind::kNumber) {
    skip();
    return std::nullopt;
  }
  const std::size_t begin = at_;
  bool integral = false;
  if (!number_value(integral) || !integral) return std::nullopt;
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, out);
  if (error != std::errc{} || end != text_.data() + at_) return std::nullopt;
  return out;
}

std::optional<double> JsonScan::number() {
  if (peek() != Kind::kNumber) {
    skip();
    return std::nullopt;
  }
  const std::size_t begin = at_;
  bool integral = false;
  if (!number_value(integral)) return std::nullopt;
  double out = 0;
  const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, out);
  if (error != std::errc{} || end != text_.data() + at_ || !std::isfinite(out)) return std::nullopt;
  return out;
}

std::optional<bool> JsonScan::boolean() {
  const Kind kind = peek();
  skip();
  if (failed_ || (kind != Kind::kTrue && kind != Kind::kFalse)) return std::nullopt;
  return kind == Kind::kTrue;
}

bool JsonScan::finish() {
  blanks();
  return !failed_ && depth_ == 0 && at_ == text_.size();
}

namespace {

unsigned unit_at(std::string_view raw, std::size_t at) {
  unsigned unit = 0;
  for (std::size_t i = 0; i < 4; ++i) unit = unit * 16 + static_cast<unsigned>(hex_value(raw[at + i]));
  return unit;
}

void append_utf8(unsigned code, std::string& out) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

constexpr bool is_high(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
constexpr bool is_low(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

}  // namespace

void append_unescaped(std::string_view raw, std::string& out) {
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t slash = raw.find('\\', at);
    out.append(raw.substr(at, slash - at));
    if (slash == std::string_view::npos || slash + 1 >= raw.size()) return;
    const char kind = raw[slash + 1];
    at = slash + 2;
    switch (kind) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        unsigned code = unit_at(raw, at);
        at += 4;
        if (is_high(code) && raw.substr(at).starts_with("\\u") && raw.size() - at >= 6 && is_low(unit_at(raw, at + 2))) {
          code = 0x10000 + ((code - 0xD800) << 10) + (unit_at(raw, at + 2) - 0xDC00);
          at += 6;
        } else if (is_high(code) || is_low(code)) {
          code = 0xFFFD;
        }
        append_utf8(code, out);
        break;
      }
      default:
        out += kind;
    }
  }
}

}  // namespace pawl::codec
