#include "control/replay.h"

#include <fmt/format.h>

#include "codec/describe.h"
#include "control/iso_time.h"

namespace pawl::control {
namespace {

std::string why(const JournalEntry& entry, const Decision& decision) {
  std::string text = entry.answers.empty() ? fmt::format("{} was told", codec::enum_text(entry.event.kind))
                                           : fmt::format("{} answered {}", codec::enum_text(entry.event.kind), entry.answers);
  if (entry.event.run != 0) text += fmt::format(", run {}", entry.event.run);
  if (!entry.event.reason.empty()) text += fmt::format(", reason {}", entry.event.reason);
  if (decision.stale) return text + ": ignored, it answers a command of an earlier state";
  if (decision.ignored) return text + ": ignored, no row of the table takes it in this state";
  const Transition& row = transition_table().at(static_cast<std::size_t>(decision.row));
  text += fmt::format(": rule {}", row.rule);
  if (row.guard != Guard::kAlways) text += fmt::format(", because of {}", codec::enum_text(row.guard));
  if (row.any_state && !row.overlay) text += "; what was ordered before is dropped";
  return text;
}

}  // namespace

Result<Replayed> replay(const Journal& journal) {
  Replayed replayed;
  Candidate candidate = journal.initial;
  for (const JournalEntry& entry : journal.events) {
    PAWL_ASSIGN(const WallTime now, parse_iso_utc(entry.at));
    const Decision decision = decide(candidate, entry.event, now);
    ReplayedStep step{
        .at = entry.at, .before = codec::enum_text(candidate.state), .after = codec::enum_text(decision.candidate.state), .why = why(entry, decision)};
    for (const Command& command : decision.commands) step.commands.push_back(codec::enum_text(command.kind));
    step.agrees = step.before == entry.before && step.after == entry.after && decision.ignored == entry.ignored;
    replayed.agrees = replayed.agrees && step.agrees;
    replayed.steps.push_back(std::move(step));
    candidate = decision.candidate;
  }
  replayed.agrees = replayed.agrees && codec::to_json(candidate) == codec::to_json(journal.candidate);
  return replayed;
}

}  // namespace pawl::control
