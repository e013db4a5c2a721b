#include "sim/scenario.h"

#include "codec/describe.h"
#include "sim/draw.h"

namespace pawl::sim {

Scenario scenario_of(std::int64_t seed) {
  Draw draw(static_cast<std::uint64_t>(seed));
  Scenario s;
  s.seed = seed;
  s.policy = draw.below(3) == 0 ? "2026-09" : "2026-10";
  s.runs_by_itself = draw.below(4) != 0;
  s.siblings = draw.below(3) == 0;
  s.checkpointed = draw.below(8) == 0;
  // Most worlds have one kind of trouble; a few have many.
  const std::uint64_t runs = draw.below(9);
  for (std::uint64_t i = 0; i < runs; ++i) {
    s.fates.push_back(draw.below(2) == 0 ? Fate::kPass : static_cast<Fate>(draw.below(static_cast<std::uint64_t>(Fate::kVanished) + 1)));
  }
  if (draw.below(12) == 0) s.fates.assign(8, Fate::kOwnFailure);
  if (draw.below(20) == 0) s.fates = {Fate::kPass, Fate::kPass, static_cast<Fate>(draw.below(static_cast<std::uint64_t>(Fate::kVanished) + 1))};
  if (draw.below(5) == 0) {
    const std::int64_t first = 1 + static_cast<std::int64_t>(draw.below(8)), length = 1 + static_cast<std::int64_t>(draw.below(8));
    for (std::int64_t i = 0; i < length; ++i) s.full_at.push_back(first + i);
  }
  if (draw.below(4) == 0) s.planner = static_cast<PlannerMood>(draw.below(static_cast<std::uint64_t>(PlannerMood::kBreaks) + 1));
  if (draw.below(25) == 0) s.baseline = static_cast<BaselineMood>(draw.below(static_cast<std::uint64_t>(BaselineMood::kGoneLater) + 1));
  const std::uint64_t faults = 1 + draw.below(5);
  for (std::uint64_t i = 0; i < faults; ++i) {
    const bool crash = draw.below(3) != 0;
    const auto kind = crash ? static_cast<FaultKind>(draw.below(static_cast<std::uint64_t>(FaultKind::kBreak) + 1))
                            : static_cast<FaultKind>(draw.below(static_cast<std::uint64_t>(FaultKind::kOtherBranch) + 1));
    const std::int64_t at = 1 + static_cast<std::int64_t>(draw.below(draw.below(2) == 0 ? 90 : 220));
    if (kind == FaultKind::kOtherSteward && draw.below(2) == 0) s.faults.push_back({at, FaultKind::kClockForward});  // the lease has run out
    s.faults.push_back({at, kind});
    if (kind == FaultKind::kBreak && draw.below(2) == 0) {  // an error that stays
      for (std::int64_t more = 1; more < 6; ++more) s.faults.push_back({at + more, kind});
    }
  }
  return s;
}

std::string write_scenario(const Scenario& scenario) { return codec::write_json_pretty(codec::to_json(scenario)); }

Result<Scenario> read_scenario(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name));
  return codec::from_json<Scenario>(json, name);
}

}  // namespace pawl::sim
