#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::codec::internal {

// What plain text means under YAML 1.1 as PyYAML's safe loader reads it (recipes-matrix-changelog 2).

[[nodiscard]] bool is_null_text(std::string_view text);
/// `yes no on off true false` in lower, Capitalised or UPPER case.
[[nodiscard]] std::optional<bool> plain_bool(std::string_view text);
/// The same words in any case: what an explicit `!!bool` takes.
[[nodiscard]] std::optional<bool> tagged_bool(std::string_view text);
[[nodiscard]] bool is_int_text(std::string_view text);
[[nodiscard]] bool is_float_text(std::string_view text);
[[nodiscard]] bool is_timestamp_text(std::string_view text);

/// The decimal digits (with a `-` when negative) of an integer of any size: octal, hexadecimal, binary, base 60 and
/// underscores resolved. Nothing when it is no integer ("0b", "08").
[[nodiscard]] std::optional<std::string> integer_digits(std::string_view text);
/// The same when it fits.
[[nodiscard]] std::optional<std::int64_t> integer_value(std::string_view text);
/// Floats as the implicit form and `!!float` read them; may be infinite. Nothing when it is no number.
[[nodiscard]] std::optional<double> float_value(std::string_view text);
/// Empty when a text of the form of a date is one, else what is wrong with it.
[[nodiscard]] std::string date_problem(std::string_view text);

}  // namespace pawl::codec::internal
