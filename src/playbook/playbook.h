#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::playbook {

/// What kind of repair a failure may get.
enum class RepairClass { kFlag, kMemory, kInfrastructure, kImage, kEngine };
BOOST_DESCRIBE_ENUM(RepairClass, kFlag, kMemory, kInfrastructure, kImage, kEngine)

/// One row: a pattern (ECMAScript, case ignored, on single lines) and what it means.
struct Signature {
  std::string row;  ///< number in the failure playbook
  RepairClass cls = RepairClass::kEngine;
  std::string pattern, summary;
};

/// What a flag's disappearance means, shown by the engine's source.
enum class FlagVerdict { kRenamed, kDefault, kRemoved };
BOOST_DESCRIBE_ENUM(FlagVerdict, kRenamed, kDefault, kRemoved)

struct FlagChange {
  std::string engine, flag;
  FlagVerdict verdict = FlagVerdict::kRemoved;
  std::string replacement;  ///< words for the command line; empty when there are none
  std::string evidence;
};
BOOST_DESCRIBE_STRUCT(FlagChange, (), (engine, flag, verdict, replacement, evidence))

/// What was recognised in a log.
struct Diagnosis {
  std::string row, summary, line;  ///< `line`: the one that matched
  RepairClass cls = RepairClass::kEngine;
  std::vector<std::string> flags;  ///< of a flag failure: the flags named
};

/// The rules, from data/playbook/. Immutable.
class Playbook {
 public:
  /// `signatures`, `flags`: the texts of the two files. Errors carry the place; a pattern that is none is refused.
  static Result<Playbook> parse(const std::string& signatures, const std::string& flags);
  /// The earliest line that any row matches; nothing when none does.
  [[nodiscard]] std::optional<Diagnosis> classify(const std::vector<std::string>& lines) const;
  /// What became of a flag; nothing when the table does not know it.
  [[nodiscard]] std::optional<FlagChange> find_flag(const std::string& engine, const std::string& flag) const;

 private:
  std::vector<Signature> signatures_;
  std::vector<FlagChange> flags_;
};

}  // namespace pawl::playbook
