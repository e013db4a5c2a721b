#include "base/shown.h"

#include <cstdint>

#include "base/text.h"

namespace pawl {
namespace {

constexpr std::string_view kInstead = "\xEF\xBF\xBD";

std::string shown(std::string_view text, std::size_t most, bool lines) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < most;) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      if ((first >= 0x20 && first != 0x7F) || ((first == '\n' || first == '\t') && lines))
        out += text[i];
      else
        out += kInstead;
      ++i;
      continue;
    }
    std::size_t length = 2;
    while (length < 4 && i + length < text.size() && !is_utf8(text.substr(i, length))) ++length;
    const std::string_view character = text.substr(i, length);
    const bool good = is_utf8(character), control = first == 0xC2 && good && static_cast<unsigned char>(character[1]) < 0xA0;
    out += good && !control ? character : kInstead;
    i += good ? character.size() : 1;
  }
  return out;
}

}  // namespace

std::string shown_text(std::string_view text) { return shown(text, SIZE_MAX, true); }

std::string shown_line(std::string_view line) {
  constexpr std::size_t kShown = 160;
  return shown(line, kShown, false);
}

}  // namespace pawl
