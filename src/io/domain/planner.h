#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "codec/json.h"
#include "model/job.h"
#include "model/outcome.h"

namespace pawl::io {

/// What a planner is given (upgrade-loop 18.3). It needs no earlier conversation.
struct Briefing {
  codec::Json ledger;                        ///< candidate with its attempts, frozen baseline, remaining budget
  std::string engine;                        ///< "SGLang"
  std::optional<model::JobFailure> failure;  ///< first failure of the last run, with its evidence lines
  std::map<std::string, std::string> files;  ///< what may be edited: path → bytes at the head
};

/// What a repair would change, and why. The steward refuses files that were not in the briefing, whoever proposes.
struct Proposal {
  std::string change, change_zh;             ///< one sentence each
  std::string cause;                         ///< the first error, with the row of the playbook that explains it
  std::map<std::string, std::string> files;  ///< whole new contents
  /// Instead of a change: how the candidate ends. kIncompatible, kReadinessBlocked, kUncertain or kFailed; with `cause`.
  std::optional<model::Outcome> verdict;
};
BOOST_DESCRIBE_STRUCT(Proposal, (), (change, change_zh, cause, files, verdict))

/// Proposes the next repair: rules, an agent command, or a model.
class Planner {
 public:
  virtual ~Planner() = default;
  /// Nothing when it knows no repair that is in scope.
  virtual Result<std::optional<Proposal>> propose(const Briefing& briefing) = 0;
};

}  // namespace pawl::io
