#include "http/target.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace pawl::http {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex(text[i + 1]), low = hex(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
      if (c == '\0') return std::nullopt;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return std::nullopt;
    } else if (c == '+' && plus_is_blank) {
      c = ' ';
    }
    out += c;
  }
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::size_t slash = text.find('/', scheme.size());
    text = slash == std::string_view::npos ? std::string_view("/") : text.substr(slash);
  }
  if (!text.starts_with('/') || text.find('#') != std::string_view::npos) return bad_input("the request target is not a path");
  const std::size_t mark = text.find('?');
  Target target;
  const auto path = decode(text.substr(0, mark), false);
  if (!path) return bad_input("the path holds a broken escape or a control character");
  target.path = *path;
  if (mark == std::string_view::npos) return target;
  for (const std::string_view part : split(text.substr(mark + 1), '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const auto name = decode(part.substr(0, equals), true);
    const auto value = decode(equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), true);
    if (!name || !value) return bad_input("the query holds a broken escape or a control character");
    target.query.emplace_back(*name, *value);
  }
  return target;
}

std::string escape_component(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace pawl::http
