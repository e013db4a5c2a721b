#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "changelog/ledger_entry.h"
#include "codec/json.h"
#include "plan/catalogue.h"

namespace pawl::changelog {

/// One call of the matrix generator's `test-config`.
struct GeneratorCall {
  enum class Evals {
    kNone,  ///< `--no-evals`
    kOnly,  ///< `--evals-only`
    kAll    ///< `--evals-only --all-evals`
  };
  std::vector<std::string> keys;
  Evals evals = Evals::kNone;
  bool fixed = true, agentic = true;  ///< the scenarios that are generated; at least one
  bool operator==(const GeneratorCall&) const = default;
};

/// One revision of the catalogue, as processing sees it.
struct CatalogueSide {
  std::vector<std::pair<std::string, codec::Json>> configs;  ///< key → raw data, in load order
  std::function<Result<std::vector<codec::Json>>(const GeneratorCall&)> generate;
  /// The fingerprint of a throughput row (12.8; from 2026-09b on see october-layout 4.1).
  std::function<Result<std::string>(const codec::Json& row)> fingerprint;
  bool trim_agentic = false;  ///< `--trim-conc` also trims multi-node agentic rows
  bool no_evals = false;      ///< entries may say no-evals
};

/// A loaded catalogue as a side, after all its entries are validated. `catalogue` must outlive it.
[[nodiscard]] Result<CatalogueSide> side_of(const plan::Catalogue& catalogue);

struct ProcessOptions {
  bool trim_conc = false;
  bool all_evals = false;
  bool evals_only = false;
  std::string base_ref, head_ref;  ///< as the metadata shows them
};

/// Added entries → the bucketed matrix (recipes-matrix-changelog 12.2 to 12.9), all seven keys in order.
/// `base`: the catalogue at the base, needed for append-only entries alone; null where there is none (C-61).
/// Errors: C-53 to C-70, those of the generator and of `normal_row`.
[[nodiscard]] Result<codec::Json> process(const std::vector<LedgerEntry>& added, const CatalogueSide& head, const CatalogueSide* base,
                                          const ProcessOptions& options);

/// COMPACT-UTF8 with one line end.
[[nodiscard]] std::string matrix_text(const codec::Json& matrix);

/// The keys that these patterns select (12.3): `*` is any run of characters, everything else literal; first-seen order.
/// Errors: C-55, C-56 with the nearest key.
[[nodiscard]] Result<std::vector<std::string>> select_keys(const std::vector<std::string>& patterns, const CatalogueSide& side);

}  // namespace pawl::changelog
