#include "http/message.h"

#include <algorithm>

namespace pawl::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::optional<std::string> find_field(const Fields& fields, std::string_view name) {
  for (const auto& [key, value] : fields) {
    if (std::ranges::equal(key, name, {}, lower, lower)) return value;
  }
  return std::nullopt;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace pawl::http
