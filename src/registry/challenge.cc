#include "registry/challenge.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace pawl::registry {
namespace {

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Takes `name=value` or `name="value"` from the front, with the comma or semicolon after it.
std::optional<std::pair<std::string, std::string>> take_parameter(std::string_view& text) {
  text = trim(text);
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  std::string name = small(trim(text.substr(0, equals)));
  text = trim(text.substr(equals + 1));
  std::string value;
  if (text.starts_with('"')) {
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      value += text[i];
    }
    if (i >= text.size()) return std::nullopt;
    text.remove_prefix(i + 1);
  } else {
    const auto end = std::min(text.find_first_of(",; "), text.size());
    value = text.substr(0, end);
    text.remove_prefix(end);
  }
  text = trim(text);
  if (text.starts_with(',') || text.starts_with(';')) text.remove_prefix(1);
  return std::pair(std::move(name), std::move(value));
}

}  // namespace

std::optional<Challenge> parse_challenge(std::string_view field) {
  field = trim(field);
  const auto blank = field.find(' ');
  Challenge challenge{small(field.substr(0, blank)), {}};
  if (challenge.scheme.empty()) return std::nullopt;
  if (blank == std::string_view::npos) return challenge;
  field.remove_prefix(blank + 1);
  while (!trim(field).empty()) {
    auto parameter = take_parameter(field);
    if (!parameter) return std::nullopt;
    challenge.parameters.insert(std::move(*parameter));
  }
  return challenge;
}

std::optional<std::string> next_link(std::string_view field) {
  while (true) {
    const auto open = field.find('<');
    const auto close = open == std::string_view::npos ? open : field.find('>', open);
    if (close == std::string_view::npos) return std::nullopt;
    std::string target(field.substr(open + 1, close - open - 1));
    field.remove_prefix(close + 1);
    const std::string_view parameters = field.substr(0, field.find('<'));
    std::string_view rest = parameters.substr(std::min(parameters.find(';'), parameters.size()));
    while (rest.starts_with(';') || rest.starts_with(',') || rest.starts_with(' ')) rest.remove_prefix(1);
    while (!trim(rest).empty()) {
      const auto parameter = take_parameter(rest);
      if (!parameter) break;
      if (parameter->first == "rel" && small(parameter->second) == "next") return target;
    }
  }
}

}  // namespace pawl::registry
