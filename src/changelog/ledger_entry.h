#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace pawl::changelog {

/// One entry of the ledger as anybody may have written it (recipes-matrix-changelog 11.2).
struct LedgerEntry {
  std::vector<std::string> config_keys;  ///< keys, or patterns with `*`; at least one
  std::vector<std::string> description;  ///< at least one
  std::string pr_link;                   ///< any text
  bool evals_only = false;
  bool all_evals = false;
  bool append_only = false;
  std::optional<bool> no_evals;  ///< absent where the generation has no such field
  std::optional<std::int64_t> eval_min_prefill_ep;
  std::optional<std::vector<std::string>> scenario_type;  ///< absent: both scenarios
  codec::Json data;                                       ///< the parsed values as written, for comparing
  SourcePlace place;                                      ///< where the entry begins
};

/// Reads one item of the list. `no_evals`: the generation knows that field. Lax typing, unknown keys refused, kebab-case and snake_case spellings.
/// Errors: C-28 and the nearer rule C-01 to C-05 in the message, at the line that breaks it.
[[nodiscard]] Result<LedgerEntry> read_entry(const codec::YamlDocument& document, const codec::YamlNode& node, bool no_evals = false);

/// The entry as `changelog_metadata` shows it: typed, defaults written, nulls dropped, in the schema's order.
[[nodiscard]] codec::Json entry_json(const LedgerEntry& entry);

}  // namespace pawl::changelog
