#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "control/candidate.h"
#include "model/baseline.h"
#include "report/style.h"

/// Every text of a change request's thread, English and Simplified Chinese from the same values. Identifiers, numbers
/// and tables appear once, in the English part; the Chinese part points to them (upgrade-loop 21).
namespace pawl::report {

/// One condition that was looked at, with what was found. The text for each code stands in thread.cc.
struct Check {
  std::string code;  ///< "jobs-succeeded", "rows-present", "image-matches", "numbers-valid", "evals-clean", "evals-pass"
  bool ok = false;
  std::int64_t found = 0, wanted = 0;
};

/// The check as an English sentence with its numbers: "evals at or above their threshold: 0/1".
[[nodiscard]] std::string check_sentence(const Check& check);

/// What an attempt's comment shows besides the candidate itself.
struct AttemptFacts {
  std::int64_t run = 0, run_attempt = 1, jobs = 0;
  std::string scale;  ///< "1/32"
  bool simulated = false;
  std::vector<Check> checks;
  std::optional<compare::Comparison> comparison;
  std::vector<std::string> smoke_points;  ///< labels, for the initial attempt
};

[[nodiscard]] std::string request_title(const control::Candidate& candidate);

/// The body while there is no frozen baseline yet.
[[nodiscard]] std::string request_placeholder(const control::Candidate& candidate);

/// The body, rendered once from the frozen baseline.
[[nodiscard]] std::string request_body(const Style& style, const control::Candidate& candidate, const model::Baseline& baseline);

/// The one comment of an attempt, from queued to its end.
[[nodiscard]] std::string attempt_comment(const Style& style, const control::Candidate& candidate, const control::Attempt& attempt, const AttemptFacts& facts);

/// Why a candidate is put off for lack of room: how far it came, that nothing speaks against the image. No telemetry.
[[nodiscard]] std::string deferral_comment(const Style& style, const control::Candidate& candidate);

/// A session ended because nothing is left but waiting: for which runs.
[[nodiscard]] std::string parked_comment(const Style& style, const control::Candidate& candidate);

/// A session took over with the same ledger.
[[nodiscard]] std::string resumed_comment(const Style& style, const control::Candidate& candidate);

/// The reuse command for the merge, naming the validated run. `candidate` has a proof.
[[nodiscard]] std::string reuse_comment(const Style& style, const control::Candidate& candidate);

/// "cleanup pending" before owned runs are cancelled.
[[nodiscard]] std::string pending_receipt(const Style& style, const control::Candidate& candidate);

/// The last comment: outcome, repairs, every owned run, what became of request and branch.
[[nodiscard]] std::string completion_receipt(const Style& style, const control::Candidate& candidate);

}  // namespace pawl::report
