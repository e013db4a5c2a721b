#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/candidate.h"
#include "io/assets.h"
#include "plan/expansion.h"
#include "report/style.h"

namespace pawl::steward {

/// One generation's way of running and writing upgrades: data/policies/PROFILE.yaml. What decisions depend on (`rules`)
/// is frozen into a candidate when it starts; the rest is read whenever it is needed.
struct Policy {
  report::Style style;
  control::Rules rules;
  plan::SmokeEval smoke_eval = plan::SmokeEval::kSmokeConcurrency;
  std::string sweep_label;    ///< the one primary label that starts the full sweep
  std::string handoff_label;  ///< set by a maintainer, never by pawl: pawl lets go of the candidate
  bool fail_fast = true;
  std::int64_t utilisation_below_percent = 80;  ///< of the nodes of every target cluster: at this share the gate fails
};

/// kNotFound with the profiles there are; kInvalid with file, line and key for a profile that cannot be read.
[[nodiscard]] Result<Policy> load_policy(const io::Assets& assets, const std::string& profile);
/// The same from the file's text. `name`: for errors.
[[nodiscard]] Result<Policy> parse_policy(const std::string& text, const std::string& name);
/// The keys of a policy file, in the order of the shipped ones.
[[nodiscard]] std::vector<std::string> policy_keys();

}  // namespace pawl::steward
