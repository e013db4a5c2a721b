#pragma once

#include <string_view>

namespace pawl::plan {

/// True when the key is a pattern: it holds `*` or `?` (6.1).
[[nodiscard]] bool is_pattern(std::string_view key);

/// Whole-text, case-sensitive match in the shell's manner: `*`, `?`, `[abc]`, `[a-z]`, `[!a]`; characters, not bytes.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view text);

}  // namespace pawl::plan
