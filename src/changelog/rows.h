#pragma once

#include <string>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::changelog {

/// The four layouts of a matrix row.
enum class RowShape { kSingleFixed, kMultiFixed, kSingleAgentic, kMultiAgentic };

/// The layout that a row of the generator has: agentic by its scenario-type, on several nodes by its prefill.
[[nodiscard]] RowShape shape_of(const codec::Json& row);

/// The row as the changelog matrix shows it (recipes-matrix-changelog 12.9): values coerced to their types, nulls
/// dropped, defaults written, keys in the layout's order. Errors: a missing or unknown key, a value of a wrong type.
[[nodiscard]] Result<codec::Json> normal_row(RowShape shape, const codec::Json& row);

/// What makes rows one recipe: all fields except conc, exp-name and recipe-fingerprint.
[[nodiscard]] codec::Json recipe_of(const codec::Json& row);
/// SHA-256 of `recipe_of` as PY-COMPACT text with sorted keys (12.8), over the raw values.
[[nodiscard]] std::string recipe_fingerprint(const codec::Json& row);

}  // namespace pawl::changelog
