#include "changelog/rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shown.h"

namespace pawl::changelog {

Error broken(std::string_view rule, std::string_view what) { return {ErrorClass::kInvalid, ExitStatus::kFoundWanting, fmt::format("{}: {}", rule, what)}; }

Error broken_at(std::string_view rule, std::string_view what, const std::string& name, std::string_view bytes, std::size_t at) {
  return broken(rule, what).at(line_place(name, bytes, at));
}

std::string rule_of(const Error& error) {
  const auto colon = error.message.find(": ");
  if (!error.message.starts_with("C-") || colon == std::string::npos || colon > 6) return {};
  return error.message.substr(0, colon);
}

SourcePlace line_place(const std::string& name, std::string_view bytes, std::size_t at) {
  // The byte after a final line end belongs to the last line: that is what a person can look at.
  at = std::min(at, bytes.empty() ? 0 : bytes.size() - 1);
  const auto before = at == 0 ? std::string_view::npos : bytes.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
  const int line = 1 + static_cast<int>(std::ranges::count(bytes.substr(0, begin), '\n'));
  return {name, line, 1, shown_line(bytes.substr(begin, end - begin))};
}

}  // namespace pawl::changelog
