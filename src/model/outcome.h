#pragma once

#include <boost/describe.hpp>

#include "base/exit_status.h"

namespace pawl::model {

/// How a candidate ends (upgrade-loop 20.3).
enum class Outcome {
  kValidated,
  kCapacityDeferred,
  kReadinessBlocked,
  kIncompatible,
  kUncertain,
  kFailed,
  kDuplicate,
  kRetired,
  kAlreadyUpdated,
  kHandoff,
  kUnexpectedError,
  kStopped
};
BOOST_DESCRIBE_ENUM(Outcome, kValidated, kCapacityDeferred, kReadinessBlocked, kIncompatible, kUncertain, kFailed, kDuplicate, kRetired, kAlreadyUpdated,
                    kHandoff, kUnexpectedError, kStopped)

[[nodiscard]] constexpr ExitStatus exit_status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kValidated:
    case Outcome::kDuplicate:
    case Outcome::kAlreadyUpdated:
    case Outcome::kRetired:
    case Outcome::kHandoff:
      return ExitStatus::kDone;
    case Outcome::kFailed:
    case Outcome::kIncompatible:
    case Outcome::kUncertain:
      return ExitStatus::kFoundWanting;
    case Outcome::kCapacityDeferred:
    case Outcome::kReadinessBlocked:
      return ExitStatus::kDeferred;
    case Outcome::kStopped:
      return ExitStatus::kStopped;
    case Outcome::kUnexpectedError:
      return ExitStatus::kRunFailed;
  }
  return ExitStatus::kRunFailed;
}

}  // namespace pawl::model
