#include "changelog/lax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/text.h"

namespace pawl::changelog {
namespace {

using codec::Json;

std::optional<std::int64_t> integral(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!std::isfinite(value) || value != std::floor(value) || value < -kLimit || value >= kLimit) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::int64_t> int_of_text(std::string_view text) {
  text = trim(text);
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const std::string_view zeros = text.substr(dot + 1);
    if (zeros.empty() || zeros.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
    text = text.substr(0, dot);
  }
  std::string digits;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    if (text[0] == '-') digits = "-";
    text.remove_prefix(1);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == '_' && i > 0 && i + 1 < text.size() && digit(text[i - 1]) && digit(text[i + 1]);
    if (!digit(text[i]) && !between) return std::nullopt;
    if (digit(text[i])) digits += text[i];
  }
  return text.empty() ? std::nullopt : parse_int(digits);
}

/// Booleans and integral floats as integers, keys sorted by the writer: one spelling for one value.
Json plain(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_float()) {
    const auto whole = integral(value.get<double>());
    return whole ? Json(*whole) : value;
  }
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& item : value) out.push_back(plain(item));
    return out;
  }
  if (value.is_object()) {
    Json out = Json::object();
    for (auto it = value.begin(); it != value.end(); ++it) out[it.key()] = plain(it.value());
    return out;
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> lax_int(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return integral(value.get<double>());
  if (value.is_string()) return int_of_text(value.get_ref<const std::string&>());
  return std::nullopt;
}

std::optional<bool> lax_bool(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) {
    const double number = value.get<double>();
    return number == 0 ? std::optional(false) : number == 1 ? std::optional(true) : std::nullopt;
  }
  if (!value.is_string()) return std::nullopt;
  std::string word = value.get<std::string>();
  std::ranges::transform(word, word.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  constexpr std::array<std::string_view, 6> kTrue{"1", "true", "t", "yes", "y", "on"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "false", "f", "no", "n", "off"};
  if (std::ranges::find(kTrue, word) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, word) != kFalse.end()) return false;
  return std::nullopt;
}

std::string data_key(const Json& value) { return codec::write_json_sorted(plain(value)); }
bool same_data(const Json& a, const Json& b) { return data_key(a) == data_key(b); }

}  // namespace pawl::changelog
