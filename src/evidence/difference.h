#pragma once

#include <boost/describe.hpp>
#include <string>
#include <vector>

#include "evidence/extraction.h"

namespace pawl::evidence {

struct ValueChange {
  std::string name, old_value, new_value;
};
BOOST_DESCRIBE_STRUCT(ValueChange, (), (name, old_value, new_value))

/// A name that went and one that came, taken for one thing. `similarity`: 0 to 1.
struct Renaming {
  std::string old_text, new_text;
  double similarity = 0;
};
BOOST_DESCRIBE_STRUCT(Renaming, (), (old_text, new_text, similarity))

/// What another version of an engine says otherwise.
struct Difference {
  std::vector<ValueChange> facts;  ///< an absent one is an empty text
  std::vector<ValueChange> settings_changed, settings_new, settings_gone;
  std::vector<Renaming> settings_renamed;  ///< names that share most of their words, at the same place among their neighbours
  std::vector<Notice> notices_new, notices_gone;
  std::vector<Renaming> notices_renamed;  ///< lines that share most of their words
  std::int64_t notices_unchanged = 0;
  std::vector<Deprecation> deprecations_new, deprecations_gone;
  std::int64_t deprecations_unchanged = 0;
};
BOOST_DESCRIBE_STRUCT(Difference, (),
                      (facts, settings_changed, settings_new, settings_gone, settings_renamed, notices_new, notices_gone, notices_renamed, notices_unchanged,
                       deprecations_new, deprecations_gone, deprecations_unchanged))

/// From `before` to `after`. What changes from run to run (numbers, times, ports, folders) is no difference between notices; of settings it is one.
[[nodiscard]] Difference difference(const Evidence& before, const Evidence& after);

/// Something of a run that a person must look at.
struct Finding {
  std::string kind;  ///< "never-ready", "traceback", "crash", "restart", "http-error", "deprecation"
  std::string text;
  std::int64_t count = 0, line = 0;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (kind, text, count, line))

/// What there is to look at, in the order of the log: nothing for a run without fault. Tracebacks and crashes before a shutdown was asked for;
/// answers 5xx and 429 after readiness; restarts; an engine that never became ready; with `against`, deprecations that it does not have.
[[nodiscard]] std::vector<Finding> findings(const Evidence& evidence, const Evidence* against);

}  // namespace pawl::evidence
