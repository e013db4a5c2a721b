#pragma once

#include <string>

#include "codec/json.h"

namespace pawl::control {

/// The machine as a table of text, one line a row. Rows that exist for many states stand once, after the others, with the
/// number of states; which those are is said below the table.
[[nodiscard]] std::string table_text();

/// The same rows, each state by itself: {"rule", "from", "event", "guard", "to", "commands", "any_state", "overlay"}.
[[nodiscard]] codec::Json table_json();

/// The machine as a Mermaid state diagram: every change of state but those that may happen in any state.
[[nodiscard]] std::string diagram_text();

}  // namespace pawl::control
