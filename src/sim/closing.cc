#include "sim/closing.h"

#include "codec/describe.h"

namespace pawl::sim {

using control::State;

namespace {

/// No process is there while a candidate is parked: the next look is that of `pawl upgrade watch`.
constexpr std::int64_t kWatchSeconds = 30, kNextLifeSeconds = 3;

}  // namespace

std::string CloseCase::name() const { return codec::enum_text(state) + (parked ? ", parked" : ""); }

const std::vector<CloseCase>& close_cases() {
  static const std::vector<Fate> repaired{Fate::kOwnFailure};
  static const std::vector<CloseCase> cases{{State::kCrDraft, false, {}},          {State::kBaselineFrozen, false, {}},  {State::kSmokeGate, false, {}},
                                            {State::kSmokeDispatching, false, {}}, {State::kSmokeRunning, false, {}},    {State::kSmokeRunning, true, {}},
                                            {State::kDiagnosing, false, repaired}, {State::kRepairing, false, repaired}, {State::kChangelog, false, {}},
                                            {State::kFinalPreflight, false, {}},   {State::kFinalGate, false, {}},       {State::kFinalDispatching, false, {}},
                                            {State::kFinalRunning, false, {}},     {State::kFinalRunning, true, {}},     {State::kVerifying, false, {}},
                                            {State::kPublishing, false, {}},       {State::kReadying, false, {}}};
  return cases;
}

Closed close_in(Player& player, const CloseCase& where) {
  Scenario scenario;
  scenario.seed = 2;  // the workspace is locked, and the next life comes soon
  scenario.fates = where.fates;
  Closed result;
  std::int64_t struck_at = 0;
  player.on_step = [&](Outside& outside, const control::Candidate& c) {
    if (!result.struck && c.state == where.state && c.cr != 0 && c.parked.has_value() == where.parked) {
      result.struck = true;
      struck_at = outside.now_s();
      outside.close_by_person();
      if (where.parked) {
        outside.pass_time(kWatchSeconds - kNextLifeSeconds);
        throw Crash{};
      }
    }
    if (result.struck && result.reaction_s < 0 && (control::ending(c.state) || control::terminal(c.state))) result.reaction_s = outside.now_s() - struck_at;
    if (!control::terminal(c.state)) return;
    result.live_runs = result.receipts = 0;
    for (const Run& run : outside.runs()) result.live_runs += io::terminal(run.state) ? 0 : 1;
    result.branch_gone = !outside.branches().contains(c.branch);
    for (const auto& [key, comment] : outside.all_comments()) {
      result.receipts += key.ends_with("/receipt") && comment.body.find("**stopped**") != std::string::npos ? 1 : 0;
    }
  };
  result.played = player.play(scenario);
  player.on_step = nullptr;
  return result;
}

}  // namespace pawl::sim
