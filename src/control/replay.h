#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/decide.h"

namespace pawl::control {

/// One entry of a candidate's journal.
struct JournalEntry {
  std::string at;             ///< ISO 8601, UTC
  std::string before, after;  ///< states, as recorded
  bool ignored = false;
  std::string answers;  ///< the command that the event answered; empty: it came from outside
  Event event;
};
BOOST_DESCRIBE_STRUCT(JournalEntry, (), (at, before, after, ignored, answers, event))

/// A journal as `pawl upgrade explain --json` writes it.
struct Journal {
  std::string schema = "pawl.candidate-history/1";
  Candidate candidate;  ///< as it is now
  Candidate initial;    ///< as it was recorded first
  std::vector<JournalEntry> events;
};
BOOST_DESCRIBE_STRUCT(Journal, (), (schema, candidate, initial, events))

struct ReplayedStep {
  std::string at, before, after, why;  ///< `why`: one sentence
  std::vector<std::string> commands;   ///< what it ordered
  bool agrees = true;                  ///< with what was recorded
};
BOOST_DESCRIBE_STRUCT(ReplayedStep, (), (at, before, after, why, commands, agrees))

struct Replayed {
  std::vector<ReplayedStep> steps;
  bool agrees = true;  ///< every step, and the candidate at the end
};

/// Decides every entry again from the first record on. Pure. kInvalid for a time that cannot be read.
[[nodiscard]] Result<Replayed> replay(const Journal& journal);

}  // namespace pawl::control
