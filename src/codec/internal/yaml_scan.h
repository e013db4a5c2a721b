#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::codec::internal {

/// What PyYAML refuses and libyaml reads, found on the bytes beside libyaml's events (recipes-matrix-changelog 2).
struct ScanProblem {
  std::size_t at = 0;  ///< byte
  std::string what;
};

/// A scalar that libyaml found.
struct ScalarSpan {
  enum class Style { kPlain, kQuoted, kBlock };
  std::size_t begin = 0, end = 0;  ///< bytes; begins at its anchor or tag when it has one
  Style style = Style::kPlain;
};

/// The first character that no YAML file may hold (controls, U+FFFE, U+FFFF). The text is valid UTF-8.
[[nodiscard]] std::optional<ScanProblem> find_forbidden_character(std::string_view bytes);

/// Tabs outside quoted text, block text and comments; a comment glued to a block indicator; U+FEFF at the start of a
/// later line. `scalars` in the order of the text, without overlaps.
[[nodiscard]] std::optional<ScanProblem> find_lenience(std::string_view bytes, const std::vector<ScalarSpan>& scalars);

/// Line and column (from 1, in characters) of a byte, with every line break of YAML 1.1 counted; and the text of that line.
struct LineColumn {
  int line = 1, column = 1;
};
[[nodiscard]] LineColumn locate(std::string_view bytes, std::size_t at);
[[nodiscard]] std::string line_text(std::string_view bytes, int line);

}  // namespace pawl::codec::internal
