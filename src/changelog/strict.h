#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "changelog/ledger_entry.h"

namespace pawl::changelog {

/// The bytes of one entry of a file: from its `- config-keys:` to the next one or the end.
struct EntrySpan {
  std::size_t begin = 0;
  std::size_t content_end = 0;  ///< without the blank lines behind it
  std::size_t end = 0;
};

/// A ledger that passed the strict parse.
struct StrictFile {
  std::string name;  ///< as people know the file, for errors
  std::string bytes;
  std::vector<LedgerEntry> entries;
  std::vector<EntrySpan> spans;  ///< one an entry
};

/// The strict parse of one file (recipes-matrix-changelog 11.5). Errors name the first rule of C-20 to C-28 that is
/// broken, with the line.
[[nodiscard]] Result<StrictFile> parse_strict(std::string bytes, const std::string& name, bool no_evals = false);

/// What head changes, when it may.
struct StrictChanges {
  std::size_t additions = 0;
  std::vector<std::size_t> corrections;  ///< indices of the entries whose link was corrected
};

/// The strict semantic comparison (11.6), C-30 to C-36. `pr_number`: of the request that head belongs to; none on main.
[[nodiscard]] Result<StrictChanges> compare_entries(const StrictFile& base, const StrictFile& head, std::optional<std::int64_t> pr_number);

/// The strict comparison of the bytes (11.7), C-40 to C-47.
[[nodiscard]] Status compare_bytes(const StrictFile& base, const StrictFile& head, const StrictChanges& changes);

/// All of the above in this order: 11.5 of base, of head, 11.6, 11.7.
[[nodiscard]] Result<StrictChanges> check_strict(const std::string& base, const std::string& head, std::optional<std::int64_t> pr_number,
                                                 const std::string& base_name = "base", const std::string& head_name = "head", bool no_evals = false);

/// The link of a request in the reference's repository.
[[nodiscard]] std::string canonical_link(std::string_view number);
/// "XXX" alone, or the canonical link with XXX in the place of the number.
[[nodiscard]] bool is_placeholder_link(std::string_view link);

}  // namespace pawl::changelog
