#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// Splits at every `separator`; n separators give n+1 parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split(std::string&& text, char separator) = delete;  // the parts would dangle
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string replace_all(std::string text, std::string_view from, std::string_view to);

/// Whole-text decimal integer, optional sign; nothing else, no surrounding blanks.
[[nodiscard]] std::optional<std::int64_t> parse_int(std::string_view text);
/// Whole-text finite decimal number.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);

/// Shell-style whole-text match: `*` any run, `?` any one character, everything else literal.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);

/// The candidate with the smallest edit distance to `wanted`, if it is near enough to be a likely slip of the pen
/// (at most a third of the length), else the shortest candidate that begins with `wanted`, else nothing. First of equals.
[[nodiscard]] std::optional<std::string> nearest(std::string_view wanted, std::span<const std::string> candidates);

/// True when `text` is well-formed UTF-8 (no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace pawl
