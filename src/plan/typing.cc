#include "plan/typing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace pawl::plan {
namespace {

using codec::Json;
using codec::YamlNode;
using Type = YamlNode::Type;

/// The value of a scalar that is a number or a boolean.
std::optional<Json> scalar_value(const YamlNode& node) {
  static const codec::YamlDocument nowhere{};
  auto value = codec::yaml_value(nowhere, node);
  if (!value) return std::nullopt;
  return std::move(*value);
}

bool is_scalar(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar; }

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\n\r\v\f").contains(text.front())) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\n\r\v\f").contains(text.back())) text.remove_suffix(1);
  return text;
}

bool digit(char c) { return c >= '0' && c <= '9'; }

/// Digits with single underscores between them.
bool grouped_digits(std::string_view text) {
  if (text.empty() || !digit(text.front()) || !digit(text.back())) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (!digit(text[i]) && (text[i] != '_' || text[i - 1] == '_')) return false;
  }
  return true;
}

std::optional<std::int64_t> int_of_text(std::string_view text) {
  text = trim_blanks(text);
  bool negative = false;
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  if (const auto dot = text.find('.'); dot != std::string_view::npos) {
    const auto zeros = text.substr(dot + 1);
    if (zeros.empty() || zeros.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
    text = text.substr(0, dot);
  }
  if (!grouped_digits(text)) return std::nullopt;
  return parse_int((negative ? "-" : "") + replace_all(std::string(text), "_", ""));
}

std::optional<std::int64_t> int_of_float(double value) {
  constexpr double kLimit = 9223372036854775808.0;
  if (!std::isfinite(value) || value != std::trunc(value) || value < -kLimit || value >= kLimit) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<double> float_of(const YamlNode& node) {
  const std::string clean = replace_all(node.text, "_", "");
  if (clean.ends_with("inf") || clean.ends_with("Inf") || clean.ends_with("INF")) return std::numeric_limits<double>::infinity() * (clean[0] == '-' ? -1 : 1);
  if (clean.ends_with("nan") || clean.ends_with("NaN") || clean.ends_with("NAN")) return std::numeric_limits<double>::quiet_NaN();
  const auto value = scalar_value(node);
  if (!value) return std::numeric_limits<double>::infinity();
  return value->get<double>();
}

}  // namespace

std::optional<std::int64_t> strict_int(const YamlNode& node) {
  if (!is_scalar(node) || node.type() != Type::kInt) return std::nullopt;
  const auto value = scalar_value(node);
  if (!value) return std::nullopt;
  return value->get<std::int64_t>();
}

std::optional<std::int64_t> lax_int(const YamlNode& node) {
  if (!is_scalar(node)) return std::nullopt;
  switch (node.type()) {
    case Type::kInt:
      return strict_int(node);
    case Type::kBool:
      return scalar_value(node)->get<bool>() ? 1 : 0;
    case Type::kFloat:
      return int_of_float(*float_of(node));
    case Type::kText:
      return int_of_text(node.text);
    case Type::kNull:
    case Type::kTimestamp:
      break;
  }
  return std::nullopt;
}

std::optional<bool> bool_of_text(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const char* yes : {"1", "true", "t", "yes", "y", "on"}) {
    if (lower == yes) return true;
  }
  for (const char* no : {"0", "false", "f", "no", "n", "off"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

std::optional<bool> lax_bool(const YamlNode& node) {
  if (!is_scalar(node)) return std::nullopt;
  switch (node.type()) {
    case Type::kBool:
      return scalar_value(node)->get<bool>();
    case Type::kInt:
    case Type::kFloat: {
      const auto value = lax_int(node);
      if (!value || (*value != 0 && *value != 1)) return std::nullopt;
      return *value == 1;
    }
    case Type::kText:
      return bool_of_text(node.text);
    case Type::kNull:
    case Type::kTimestamp:
      break;
  }
  return std::nullopt;
}

std::optional<double> lax_float(const YamlNode& node) {
  if (!is_scalar(node)) return std::nullopt;
  switch (node.type()) {
    case Type::kInt:
    case Type::kFloat:
      return float_of(node);
    case Type::kBool:
      return scalar_value(node)->get<bool>() ? 1.0 : 0.0;
    case Type::kText: {
      std::string_view text = trim_blanks(node.text);
      if (text.starts_with('+')) text.remove_prefix(1);
      double value = 0;
      const std::string clean = replace_all(std::string(text), "_", "");
      const auto [end, error] = std::from_chars(clean.data(), clean.data() + clean.size(), value);
      if (clean.empty() || end != clean.data() + clean.size() || error == std::errc::invalid_argument) return std::nullopt;
      return value;
    }
    case Type::kNull:
    case Type::kTimestamp:
      break;
  }
  return std::nullopt;
}

bool is_literal(const YamlNode& node, bool wanted) {
  if (!is_scalar(node) || node.type() == Type::kText) return false;
  const auto value = lax_int(node);
  return value && *value == (wanted ? 1 : 0);
}

bool is_null(const YamlNode& node) { return is_scalar(node) && node.type() == Type::kNull; }

bool truthy(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kSequence:
      return !node.items.empty();
    case YamlNode::Kind::kMapping:
      return !node.entries.empty();
    case YamlNode::Kind::kScalar:
      break;
  }
  switch (node.type()) {
    case Type::kNull:
      return false;
    case Type::kText:
      return !node.text.empty();
    case Type::kTimestamp:
      return true;
    case Type::kFloat:
      return *float_of(node) != 0;
    case Type::kBool:
    case Type::kInt:
      break;
  }
  const auto value = lax_int(node);
  return !value || *value != 0;
}

std::string describe(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kSequence) return "a list";
  if (node.kind == YamlNode::Kind::kMapping) return "a mapping";
  const std::string shown = node.text.size() > 60 ? std::string(node.text.substr(0, 57)) + "…" : std::string(node.text);
  switch (node.type()) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "the boolean " + shown;
    case Type::kInt:
      return "the integer " + shown;
    case Type::kFloat:
      return "the number " + shown;
    case Type::kTimestamp:
      return "the date " + shown;
    case Type::kText:
      break;
  }
  return "the text '" + shown + "'";
}

std::optional<std::int64_t> lax_int(const Json& value) {
  if (const auto number = number_of(value)) return number->value;
  return value.is_string() ? int_of_text(value.get_ref<const std::string&>()) : std::nullopt;
}

std::optional<bool> lax_bool(const Json& value) {
  if (value.is_string()) return bool_of_text(value.get_ref<const std::string&>());
  const auto number = number_of(value);
  if (!number || (number->value != 0 && number->value != 1)) return std::nullopt;
  return number->value == 1;
}

Json Number::json() const { return is_float ? Json(static_cast<double>(value)) : Json(value); }

std::optional<Number> number_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return Number{value.get<bool>() ? 1 : 0, false};
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return Number{value.get<std::int64_t>(), false};
    case Json::value_t::number_float: {
      const auto whole = int_of_float(value.get<double>());
      if (!whole) return std::nullopt;
      return Number{*whole, true};
    }
    default:
      return std::nullopt;
  }
}

std::string python_text(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return value.get<std::string>();
    case Json::value_t::boolean:
      return value.get<bool>() ? "True" : "False";
    case Json::value_t::null:
      return "None";
    default:
      return codec::write_json(value, codec::JsonForm::kPySpaced);
  }
}

bool truthy(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return false;
    case Json::value_t::boolean:
      return value.get<bool>();
    case Json::value_t::string:
      return !value.get_ref<const std::string&>().empty();
    case Json::value_t::array:
    case Json::value_t::object:
      return !value.empty();
    default:
      return value.get<double>() != 0;
  }
}

}  // namespace pawl::plan
