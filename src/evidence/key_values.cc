#include "evidence/key_values.h"

#include "base/text.h"

namespace pawl::evidence {
namespace {

bool of_a_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-'; }

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front()) return text.substr(1, text.size() - 2);
  return text;
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 100) return false;
  for (const char c : text) {
    if (!of_a_name(c)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> key_values(std::string_view list) {
  std::vector<std::pair<std::string, std::string>> out;
  std::size_t begin = 0, divider = std::string_view::npos;
  int depth = 0;
  char quote = 0;
  const auto end_part = [&](std::size_t end) {
    if (divider != std::string_view::npos) {
      const std::string_view name = unquoted(list.substr(begin, divider - begin));
      if (is_name(name)) out.emplace_back(name, unquoted(list.substr(divider + 1, end - divider - 1)));
    }
    begin = end + 1;
    divider = std::string_view::npos;
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    // An apostrophe inside a word is none that opens a text.
    if ((c == '\'' || c == '"') && (i == 0 || !of_a_name(list[i - 1]))) {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) {  // the list itself ends here
        end_part(i);
        return out;
      }
      --depth;
    } else if (depth == 0 && c == ',') {
      end_part(i);
    } else if (depth == 0 && divider == std::string_view::npos && (c == '=' || (c == ':' && i + 1 < list.size() && list[i + 1] == ' '))) {
      divider = i;
    }
  }
  if (depth == 0 && quote == 0) end_part(list.size());
  return out;
}

}  // namespace pawl::evidence
