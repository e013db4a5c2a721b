#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "codec/yaml.h"

namespace pawl::plan {

// Readings of YAML nodes under the two typing modes of recipes-matrix-changelog 3. Nothing: the node does not fit.

/// `int` lax: integers, booleans, finite integral floats, texts of digits.
[[nodiscard]] std::optional<std::int64_t> lax_int(const codec::YamlNode& node);
/// `int` strict: integers only.
[[nodiscard]] std::optional<std::int64_t> strict_int(const codec::YamlNode& node);
/// `bool` lax: booleans, 0 and 1, and the words that stand for them.
[[nodiscard]] std::optional<bool> lax_bool(const codec::YamlNode& node);
/// The words that stand for a boolean, whatever their case: 1 true t yes y on, 0 false f no n off.
[[nodiscard]] std::optional<bool> bool_of_text(std::string_view text);
/// `float` lax; may be infinite or no number.
[[nodiscard]] std::optional<double> lax_float(const codec::YamlNode& node);
/// A literal `true` or `false`: the boolean or a number equal to it.
[[nodiscard]] bool is_literal(const codec::YamlNode& node, bool wanted);
[[nodiscard]] bool is_null(const codec::YamlNode& node);
/// True as Python has it: not null, false, zero, and not empty.
[[nodiscard]] bool truthy(const codec::YamlNode& node);
/// What a node is, for a message: "the integer 8", "the text 'a'", "a list".
[[nodiscard]] std::string describe(const codec::YamlNode& node);

// The same for values already read, in rows and in entries of the changelog.
[[nodiscard]] std::optional<std::int64_t> lax_int(const codec::Json& value);
[[nodiscard]] std::optional<bool> lax_bool(const codec::Json& value);

// Values of rows, as Python computes with them.

/// An integral number that keeps being a float when it was written as one.
struct Number {
  std::int64_t value = 0;
  bool is_float = false;
  [[nodiscard]] codec::Json json() const;
};
/// Integers, booleans (as 0 and 1) and integral floats; nothing for texts and everything else.
[[nodiscard]] std::optional<Number> number_of(const codec::Json& value);
/// `str(value)`: "True", "1.0", the text itself.
[[nodiscard]] std::string python_text(const codec::Json& value);
[[nodiscard]] bool truthy(const codec::Json& value);

}  // namespace pawl::plan
