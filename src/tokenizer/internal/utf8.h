#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::tokenizer {

/// Bytes of the character that begins with `lead`, in well-formed UTF-8.
[[nodiscard]] inline std::size_t utf8_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The character at `at` of well-formed UTF-8.
[[nodiscard]] inline char32_t utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
  switch (utf8_length(text[at])) {
    case 1:
      return byte(0);
    case 2:
      return ((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F);
    case 3:
      return ((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F);
    default:
      return ((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F);
  }
}

void append_utf8(std::string& out, char32_t character);

/// Any bytes as UTF-8: each maximal part that begins a character but does not end it becomes one U+FFFD, as the
/// Encoding Standard and the reference libraries do.
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);

/// Byte-level vocabularies write each byte as a printable character: the byte of one, or −1.
[[nodiscard]] int byte_of_printable(char32_t character);

/// The bytes that a text of a byte-level vocabulary stands for; false when a character is none of the 256.
[[nodiscard]] bool printable_to_bytes(std::string_view text, std::string& out);

}  // namespace pawl::tokenizer
