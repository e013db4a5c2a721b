#pragma once

#include <string>

#include "cli.h"
#include "workbench.h"

namespace pawl::app {

/// The steps of the upgrade loop that a person may do by hand: `pawl upgrade preflight`, `check-capacity`,
/// `check-final`, `finish`, `release`, `watch`, `replay`. Each is the code that the loop itself uses.
void add_upgrade_steps(Cli& cli, CLI::App& upgrade);

/// The candidate with this id, or the one whose id begins with it.
[[nodiscard]] Result<control::Candidate> candidate_of(Workbench& bench, const std::string& id);

/// `--dry-run`: prints every effect that going on with this candidate would have. `told` is taken in first.
[[nodiscard]] Result<ExitStatus> print_preview(World& world, const CommonFlags& common, Workbench& bench, const control::Candidate& candidate,
                                               const std::optional<control::Event>& told);

/// What became of a candidate that was worked on: its outcome, or that it is parked.
[[nodiscard]] ExitStatus print_result(const CommonFlags& common, const control::Candidate& candidate);

}  // namespace pawl::app
