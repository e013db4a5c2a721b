#pragma once

#include <string>

#include "base/result.h"
#include "io/assets.h"
#include "plan/expansion.h"
#include "report/style.h"

namespace pawl::steward {

/// One generation's way of running and writing upgrades: data/policies/PROFILE.yaml.
struct Policy {
  report::Style style;
  plan::SmokeEval smoke_eval = plan::SmokeEval::kSmokeConcurrency;
  std::string sweep_label;
  bool fail_fast = true;
};

/// kNotFound with the profiles there are; kInvalid with file, line and key for a profile that cannot be read.
[[nodiscard]] Result<Policy> load_policy(const io::Assets& assets, const std::string& profile);

}  // namespace pawl::steward
