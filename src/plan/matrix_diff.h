#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "plan/generator.h"

namespace pawl::plan {

/// A field that two versions of a row differ in. A missing field is null.
struct FieldChange {
  std::string path;  ///< "image", "prefill.tp"
  codec::Json before, after;
};

/// How a row of one matrix is found in another.
struct RowChange {
  enum class Kind { kAdded, kRemoved, kChanged };
  Kind kind = Kind::kChanged;
  std::string recipe;               ///< config key
  codec::Json row;                  ///< as it is after; of a removed one as it was
  std::vector<FieldChange> fields;  ///< kChanged: in the row's order
};

/// What differs between two matrices, recipe by recipe in the order of `after`, recipes that are gone last. Rows of a
/// recipe are matched by load, topology and concurrency; of those that are left, the most alike of one load and
/// concurrency are taken for one point that changed. Equal rows are not named.
[[nodiscard]] std::vector<RowChange> diff_matrices(const Matrix& before, const Matrix& after);

}  // namespace pawl::plan
