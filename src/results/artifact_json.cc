#include <algorithm>
#include <charconv>

#include "results/row_mapper.h"

namespace pawl::results {
namespace {

bool ends_token(char c) { return c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ':'; }

}  // namespace

Result<codec::Json> parse_artifact_json(std::string_view text, const std::string& name, std::size_t max_bytes) {
  if (text.size() > max_bytes) return bad_input(name + ": larger than what is read of one artifact");
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      std::size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
      plain.append(text, i, end - i);
      i = end;
      continue;
    }
    const bool number = c == '-' || (c >= '0' && c <= '9');
    if (!number && c != 'N' && c != 'I') {
      plain += c;
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && !ends_token(text[end])) ++end;
    const std::string_view token = text.substr(i, end - i);
    double value = 0;
    if (token == "NaN" || token == "Infinity" || token == "-Infinity") {
      plain.append("\"").append(token).append("\"");
    } else if (number && std::from_chars(token.data(), token.data() + token.size(), value).ec == std::errc::result_out_of_range) {
      // Too large for a double, or too small: only the former is a loss.
      const auto exponent = token.find_first_of("eE");
      const bool tiny = exponent != std::string_view::npos && exponent + 1 < token.size() && token[exponent + 1] == '-';
      plain += tiny ? "0.0" : token[0] == '-' ? "\"-Infinity\"" : "\"Infinity\"";
    } else {
      plain += token;
    }
    i = end;
  }
  return codec::parse_json(plain, name, max_bytes + (1u << 20));
}

}  // namespace pawl::results
