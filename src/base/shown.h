#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pawl {

/// `text` for a screen: what is no UTF-8 and control characters (C0, DEL, C1; a terminal would obey them) replaced by U+FFFD; line feeds and tabs stay.
/// Everything that comes from a file or another service goes through this before it is printed.
[[nodiscard]] std::string shown_text(std::string_view text);

/// The same for one line, cut at 160 bytes; line feeds and tabs are replaced too.
[[nodiscard]] std::string shown_line(std::string_view line);

}  // namespace pawl
