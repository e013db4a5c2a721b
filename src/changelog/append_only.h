#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "changelog/process.h"

namespace pawl::changelog {

/// Scenarios that entries select.
struct Scope {
  bool fixed = false;
  bool agentic = false;
};

/// What an append-only change may touch (12.7): selected keys must exist in base (C-60), other keys stay as they are
/// (C-62), and of a selected key the scenarios that are not selected (C-63 to C-65). On raw data.
[[nodiscard]] Status check_scope(const CatalogueSide& base, const CatalogueSide& head, const std::map<std::string, Scope>& selected);

/// The new points among the head rows of one group (12.7): C-66 to C-70.
[[nodiscard]] Result<std::vector<codec::Json>> new_points(const std::vector<codec::Json>& base, const std::vector<codec::Json>& head);

}  // namespace pawl::changelog
