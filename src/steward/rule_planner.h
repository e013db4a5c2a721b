#pragma once

#include "io/domain/planner.h"
#include "playbook/playbook.h"

namespace pawl::steward {

/// Repairs by the rules of the playbook: an unknown launch flag of which the engine's source shows what became of it.
/// Everything else is nothing, never a guess. Deterministic.
class RulePlanner final : public io::Planner {
 public:
  explicit RulePlanner(playbook::Playbook book) : book_(std::move(book)) {}
  Result<std::optional<io::Proposal>> propose(const io::Briefing& briefing) override;

 private:
  playbook::Playbook book_;
};

}  // namespace pawl::steward
