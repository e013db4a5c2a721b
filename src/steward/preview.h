#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/decide.h"
#include "steward/policy.h"

namespace pawl::steward {

struct PreviewedStep {
  std::string command;
  std::string effect;    ///< what changes outside, or that nothing does
  bool mutates = false;  ///< it changes something outside
};
BOOST_DESCRIBE_STRUCT(PreviewedStep, (), (command, effect, mutates))

/// What performing these commands, and what follows when each succeeds, would do: up to the end or to the first run whose
/// outcome nobody knows yet. `told`: taken in first, e.g. a stop. Pure: nothing is performed.
[[nodiscard]] std::vector<PreviewedStep> preview(control::Candidate candidate, std::vector<control::Command> pending, const std::optional<control::Event>& told,
                                                 const Policy& policy, WallTime now);

/// The event that a command answers with when it succeeds; nothing when it answers with none.
[[nodiscard]] std::optional<control::EventKind> success_of(control::CommandKind kind);

}  // namespace pawl::steward
