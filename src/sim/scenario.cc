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
  // Short runs: a poll that finds nothing new is like the poll before it.
  const std::uint64_t length = draw.below(16);
  s.queue_seconds = length < 14 ? 40 : 60;
  s.run_seconds = length < 14 ? 100 : length == 14 ? 900 : 2000;
  const auto any_fate = [&] { return static_cast<Fate>(draw.below(static_cast<std::uint64_t>(Fate::kVanished) + 1)); };
  // Most worlds have one kind of trouble; a few have many.
  const std::uint64_t runs = draw.below(9);
  for (std::uint64_t i = 0; i < runs; ++i) s.fates.push_back(draw.below(2) == 0 ? Fate::kPass : any_fate());
  if (draw.below(12) == 0) s.fates.assign(8, Fate::kOwnFailure);
  if (draw.below(20) == 0) s.fates = {Fate::kPass, Fate::kPass, any_fate()};
  if (draw.below(5) == 0) {
    const std::int64_t first = 1 + static_cast<std::int64_t>(draw.below(8)), count = 1 + static_cast<std::int64_t>(draw.below(8));
    for (std::int64_t i = 0; i < count; ++i) s.full_at.push_back(first + i);
  }
  if (draw.below(4) == 0) s.planner = static_cast<PlannerMood>(draw.below(static_cast<std::uint64_t>(PlannerMood::kBreaks) + 1));
  if (draw.below(25) == 0) s.baseline = static_cast<BaselineMood>(draw.below(static_cast<std::uint64_t>(BaselineMood::kGoneLater) + 1));
  // Half of the faults fall anywhere; the others each aim at a state, so that short states get their share.
  const auto place = [&](FaultKind kind) -> Fault {
    if (draw.below(2) == 0) return {1 + static_cast<std::int64_t>(draw.below(draw.below(2) == 0 ? 70 : 160)), kind};
    const auto state = static_cast<control::State>(draw.below(static_cast<std::uint64_t>(control::State::kHandedOff) + 1));
    return {static_cast<std::int64_t>(draw.below(draw.below(3) == 0 ? 12 : 4)), kind, state};
  };
  const std::uint64_t faults = 1 + draw.below(5);
  for (std::uint64_t i = 0; i < faults; ++i) {
    const bool crash = draw.below(3) != 0;
    const Fault fault = place(crash ? static_cast<FaultKind>(draw.below(static_cast<std::uint64_t>(FaultKind::kBreak) + 1))
                                    : static_cast<FaultKind>(draw.below(static_cast<std::uint64_t>(FaultKind::kImageGoneTold) + 1)));
    if (fault.kind == FaultKind::kOtherSteward && draw.below(2) == 0) s.faults.push_back({fault.at, FaultKind::kClockForward, fault.in});  // the lease is over
    s.faults.push_back(fault);
    if (fault.kind == FaultKind::kLabelIgnored && draw.below(2) == 0) s.faults.push_back(fault);
    if (fault.kind == FaultKind::kBreak && draw.below(2) == 0) {  // an error that stays
      for (std::int64_t more = 1; more < 6; ++more) s.faults.push_back({fault.at + more, fault.kind, fault.in});
    }
  }
  // What takes several things together is drawn together.
  switch (draw.below(40)) {
    case 0:  // a gate stops the final run when no repair is left
      s.policy = "2026-09";
      s.fates.assign(5, Fate::kOwnFailure);
      s.planner = PlannerMood::kFixes;
      s.baseline = BaselineMood::kThere;
      s.full_at.clear();
      s.faults = {{1 + static_cast<std::int64_t>(draw.below(14)), FaultKind::kMainMoves, control::State::kFinalDispatching}};
      break;
    case 1: {  // the capacity check is old when the run is to run again
      const bool final = draw.below(2) == 0;
      s.fates = final ? std::vector<Fate>{Fate::kPass, Fate::kInfrastructure} : std::vector<Fate>{Fate::kInfrastructure};
      s.full_at.clear();
      s.faults.push_back(
          {static_cast<std::int64_t>(draw.below(40)), FaultKind::kClockForward, final ? control::State::kFinalRunning : control::State::kSmokeRunning});
      break;
    }
    default:
      break;
  }
  return s;
}

std::string write_scenario(const Scenario& scenario) { return codec::write_json_pretty(codec::to_json(scenario)); }

Result<Scenario> read_scenario(const std::string& text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name));
  return codec::from_json<Scenario>(json, name);
}

}  // namespace pawl::sim
