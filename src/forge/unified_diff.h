#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::forge {

/// What `git diff` prints for one file: header with `a/` and `b/`, index line with abbreviated blob ids, hunks with
/// three lines of context. Absent `before`: a new file; absent `after`: a deleted one. Equal texts give an empty text.
/// Pure but for libgit2's own state; thread-safe.
[[nodiscard]] Result<std::string> unified_diff(const std::string& path, std::optional<std::string_view> before, std::optional<std::string_view> after);

}  // namespace pawl::forge
