#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::io {

/// What a repair would change, and why. `files` holds whole new contents; everything outside the recipe's scope is
/// refused by the steward, whoever proposed it (upgrade-loop 17).
struct Proposal {
  std::string change;  ///< one sentence, English
  std::string change_zh;
  std::string cause;
  std::map<std::string, std::string> files;
};

/// Proposes the next repair from the ledger of a candidate: rules, an agent command, or a model.
class Planner {
 public:
  virtual ~Planner() = default;
  /// `ledger`: frozen baseline, attempts so far, last diagnosis, remaining budget (upgrade-loop 18.3).
  virtual Result<Proposal> propose(const codec::Json& ledger) = 0;
};

}  // namespace pawl::io
