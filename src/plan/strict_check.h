#pragma once

#include <vector>

#include "plan/schema.h"

namespace pawl::plan {

/// What the reference accepts and a person hardly means (recipes-matrix-changelog 18), beyond `validate`:
///   O-2  a key spelled with '_', which the generator does not read
///   O-6  a runner label that runners.yaml does not have: its jobs can never be scheduled
///   O-18 a sequence whose bucket no job reads
///   O-27 a config key twice in one file: the last one wins
/// In the order of the files.
[[nodiscard]] std::vector<Violation> strict_findings(const Catalogue& catalogue);

}  // namespace pawl::plan
