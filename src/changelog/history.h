#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "changelog/ledger_entry.h"

namespace pawl::changelog {

/// How an entry of the ledger touches keys.
enum class Touch {
  kNone,
  kSibling,  ///< only a sibling of a wanted key: the same recipe with parts added or left out behind ("-mtp", "-agentic")
  kKey
};

/// What an entry has to do with the keys that a glob (`*`, `?`) names. `known`: the keys of a catalogue, so that wildcards
/// of entries can be resolved; may be empty, then a wildcard touches a key when it could match the glob's own text.
[[nodiscard]] Touch touch_of(const LedgerEntry& entry, std::string_view glob, const std::vector<std::string>& known);

}  // namespace pawl::changelog
