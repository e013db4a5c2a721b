#include "tokenizer/internal/utf8.h"

#include <array>

namespace pawl::tokenizer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool prints_itself(int byte) { return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF); }

/// GPT-2's table: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and up, in their order.
std::array<std::int16_t, 0x144> make_table() {
  std::array<std::int16_t, 0x144> table{};
  table.fill(-1);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    table[prints_itself(byte) ? static_cast<std::size_t>(byte) : next++] = static_cast<std::int16_t>(byte);
  }
  return table;
}

}  // namespace

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    if (lead < 0x80) {
      out += bytes[at++];
      continue;
    }
    std::size_t wanted = lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
    std::size_t have = 1;
    for (; have < wanted && at + have < bytes.size(); ++have) {
      const auto next = static_cast<unsigned char>(bytes[at + have]);
      unsigned low = 0x80, high = 0xBF;
      if (have == 1) {
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
      }
      if (next < low || next > high) break;
    }
    if (have == wanted) {
      out += bytes.substr(at, have);
    } else {
      out += kReplacement;
    }
    at += have;
  }
  return out;
}

int byte_of_printable(char32_t character) {
  static const auto table = make_table();
  return character < table.size() ? table[character] : -1;
}

bool printable_to_bytes(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    const int byte = byte_of_printable(utf8_at(text, at));
    if (byte < 0) return false;
    out += static_cast<char>(byte);
  }
  return true;
}

}  // namespace pawl::tokenizer
