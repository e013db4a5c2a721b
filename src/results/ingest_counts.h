#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pawl::results {

/// What became of everything that an ingest or import read. Nothing is skipped silently (api-dashboard 2.5.3).
struct IngestCounts {
  std::int64_t files = 0, runs = 0, rows = 0, evals = 0, changelog = 0, stats = 0;
  std::int64_t unit_rule_not_applied = 0;                 ///< rows of scaled runs: the rule of held rows does not fit them
  std::map<std::string, std::int64_t> skipped;            ///< by reason: failedRun, unknownModel, badZip, nonFiniteThroughput, …
  std::map<std::string, std::int64_t> held;               ///< by reason: unitSlip, unitMixed
  std::map<std::string, std::int64_t> non_finite_metric;  ///< by metric
  std::map<std::string, std::int64_t> unmapped;           ///< "model x", "hardware y", …
  std::vector<std::string> notes;                         ///< one sentence a thing that a person should look at; the first 100
};
BOOST_DESCRIBE_STRUCT(IngestCounts, (), (files, runs, rows, evals, changelog, stats, unit_rule_not_applied, skipped, held, non_finite_metric, unmapped, notes))

inline void note(IngestCounts& counts, std::string text) {
  constexpr std::size_t kNotesMax = 100;
  if (counts.notes.size() < kNotesMax) counts.notes.push_back(std::move(text));
}

}  // namespace pawl::results
