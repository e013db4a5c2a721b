#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "changelog/ledger_entry.h"
#include "changelog/process.h"

namespace pawl::changelog {

/// The two versions of the ledger that a gate compares.
struct GateInput {
  std::string base;                       ///< bytes at the base
  std::string head;                       ///< bytes at the head
  std::optional<std::string> merge_base;  ///< bytes where head left the base; absent: the base itself
  std::string file = "perf-changelog.yaml";
  bool no_evals = false;  ///< the generation knows that field of entries
  bool compat = false;    ///< as the reference: the two trees, read by the first characters of a diff's lines
};

struct GateReport {
  std::vector<LedgerEntry> added;
  codec::Json matrix;          ///< what `process` makes of them
  std::size_t base_ahead = 0;  ///< entries that the base got after head left it; with `compat` always 0
};

/// What head adds (11.4 step 1, 12.1): head must end in a newline (C-10), then the errors of `added_text` and
/// `added_entries`. Without `compat` the comparison starts from the merge base, so that a branch that is merely behind
/// deletes nothing.
[[nodiscard]] Result<std::vector<LedgerEntry>> gate_additions(const GateInput& input);

/// The gate (11.4): `gate_additions`, then `process` of what was added. `base`: as `process` takes it.
[[nodiscard]] Result<GateReport> check_gate(const GateInput& input, const CatalogueSide& head, const CatalogueSide* base, const ProcessOptions& options);

}  // namespace pawl::changelog
