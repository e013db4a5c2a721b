#include "report/style.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace pawl::report {
namespace {

std::string trim_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string with_thousands(std::string text) {
  auto end = text.find('.');
  if (end == std::string::npos) end = text.size();
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = end; at > begin + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace

std::string number(const Style& style, double value, int decimals) {
  if (!std::isfinite(value)) return "N/A";
  std::string text = fmt::format("{:.{}f}", value, decimals);
  return style.trim_zeros ? with_thousands(trim_zeros(std::move(text))) : text;
}

std::string delta(const Style& style, double percent) {
  if (!std::isfinite(percent)) return {};
  std::string digits = fmt::format("{:.1f}", std::abs(percent));
  // The sign belongs to the number as printed: a change that rounds to nothing has none to show but plus.
  const bool negative = percent < 0 && digits != "0.0";
  if (style.trim_zeros) digits = trim_zeros(std::move(digits));
  return (negative ? (style.unicode_minus ? "−" : "-") : "+") + digits + "%";
}

std::string neutral(std::string_view text, std::size_t max) {
  std::string out;
  for (const char c : text) {
    if (out.size() >= max) {
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) out.pop_back();
      if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xC0) out.pop_back();
      out += "…";
      break;
    }
    switch (c) {
      case '\n':
      case '\r':
      case '\t':
        out += ' ';
        break;
      case '<':
        out += "‹";
        break;
      case '>':
        out += "›";
        break;
      case '|':
        out += "¦";
        break;
      case '@':
        out += "＠";
        break;
      case '`':
        out += '\'';
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace pawl::report
