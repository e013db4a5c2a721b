#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "changelog/ledger_entry.h"

namespace pawl::changelog {

/// How the lines of a diff are read.
enum class DiffReading {
  kBytes,     ///< as what they are
  kReference  ///< by their first characters, as the reference reads the text of `git diff`: an added line that begins
              ///< with `++` and a deleted one that begins with `--` vanish, CRLF becomes LF
};

/// What head has and base does not.
struct AddedText {
  std::string text;             ///< the added lines, joined by line feeds
  std::vector<int> head_lines;  ///< for each line of `text` its line in head, from 1
};

/// The added text of two versions of a file (recipes-matrix-changelog 12.1). When base is a byte prefix of head it is
/// the suffix, otherwise the added lines of a shortest line diff. Blank lines may go. Errors: C-50 with the first
/// deleted line (line of base), C-51 when nothing but blank lines came, or when a NUL among the first 8000 bytes of a
/// side makes git call the file binary; text near a change that is not UTF-8.
[[nodiscard]] Result<AddedText> added_text(const std::string& base, const std::string& head, const std::string& file, DiffReading reading);

/// The entries in an added text (11.2). Errors: YAML that cannot be read, C-52 when there is none, those of
/// `read_entry`; their lines are those of head.
[[nodiscard]] Result<std::vector<LedgerEntry>> added_entries(const AddedText& added, const std::string& file, bool no_evals = false);

/// One changed stretch of a line diff, [begin, end) in lines from 0. Either side may be empty.
struct LineChange {
  std::size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
  bool operator==(const LineChange&) const = default;
};

/// A shortest line diff. A stretch that could lie in several places lies in the lowest one where it begins with an item
/// of a top-level list, or else in the lowest. Beyond 2000 differing lines the whole differing part counts as replaced.
/// Lines include their line end.
[[nodiscard]] std::vector<LineChange> line_changes(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after);

/// Splits after every line feed; the parts point into `bytes`.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view bytes);

}  // namespace pawl::changelog
