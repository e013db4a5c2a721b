#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace pawl::changelog {

/// The request that a ledger is prepared for.
struct MergeTarget {
  std::int64_t number = 0;
  std::string repository = "SemiAnalysisAI/InferenceX";  ///< any other one cannot pass C-35
  bool no_evals = false;                                 ///< the generation of the ledger knows that field of entries
};

/// `head` with the placeholder links of its new entries replaced by the request's link (recipes-matrix-changelog 13).
/// Without additions head as it is. Everything else keeps its bytes. Errors: those of `check_strict`, before and after.
[[nodiscard]] Result<std::string> canonicalize(const std::string& base, const std::string& head, const MergeTarget& target);

/// The ledger that a conflicted merge ends in: main's bytes, then the request's new entries with its link; or main's
/// bytes with the links that the request corrects. Main's bytes are kept to the last one.
/// Errors: the strict checks of the three files; `no changelog contribution` when main has every new entry; a correction
/// that main's entry does not allow.
[[nodiscard]] Result<std::string> resolve_conflict(const std::string& merge_base, const std::string& request, const std::string& main,
                                                   const MergeTarget& target);

}  // namespace pawl::changelog
