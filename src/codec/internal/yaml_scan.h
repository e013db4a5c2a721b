#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

/// True when every byte is printable ASCII, a tab or a line break: nothing to check then, and characters are bytes.
[[nodiscard]] bool all_plain_ascii(std::string_view bytes);

/// The first character that no YAML file may hold (controls, U+FFFE, U+FFFF). The text is valid UTF-8.
[[nodiscard]] std::optional<ScanProblem> find_forbidden_character(std::string_view bytes);

/// Tabs outside quoted text, block text and comments; a comment glued to a block indicator; U+FEFF at the start of a
/// later line. Takes the scalars as they are read, in the order of the text; one that overlaps an earlier one is passed over.
class LenienceFinder {
 public:
  explicit LenienceFinder(std::string_view bytes) : bytes_(bytes) {}
  void scalar(const ScalarSpan& span);
  /// Looks at the rest of the text; the first problem of all.
  [[nodiscard]] std::optional<ScanProblem> finish();

 private:
  void outside(std::size_t from, std::size_t to);
  void no_tab(std::size_t from, std::size_t to);
  [[nodiscard]] bool starts_line(std::size_t at) const;

  std::string_view bytes_;
  std::size_t at_ = 0;  ///< looked at so far
  std::optional<ScanProblem> problem_;
};

/// Line and column (from 1, in characters) of a byte, with every line break of YAML 1.1 counted; and the text of that line.
struct LineColumn {
  int line = 1, column = 1;
};
[[nodiscard]] LineColumn locate(std::string_view bytes, std::size_t at);
[[nodiscard]] std::string line_text(std::string_view bytes, int line);
/// The text of the line that holds the byte `at`, from the line's beginning; cut at 200 bytes.
[[nodiscard]] std::string line_at(std::string_view bytes, std::size_t at);

}  // namespace pawl::codec::internal
