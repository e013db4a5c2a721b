#pragma once

#include <string>

namespace pawl::upstream {

/// The first `most` bytes of a UTF-8 text, never half a character.
[[nodiscard]] inline std::string clip(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text;
}

}  // namespace pawl::upstream
