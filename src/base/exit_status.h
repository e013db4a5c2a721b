#pragma once

namespace pawl {

/// What a finished `pawl` process says to the script that called it. The table for users stands in docs/operating.md.
enum class ExitStatus : int {
  kDone = 0,          ///< what was asked for happened
  kFoundWanting = 1,  ///< checked and found wanting: a gate, a comparison, a review; an INVALID bench
  kUsage = 2,         ///< the command line cannot be understood
  kBadInput = 3,      ///< a file or value given by the user is wrong
  kMachine = 4,       ///< this machine: port, disk, permission, descriptors
  kPeer = 5,          ///< another service: registry, forge, results API
  kRunFailed = 6,     ///< the engine or a run failed, or pawl itself met something unexpected
  kDeferred = 7,      ///< not now: capacity, readiness
  kStopped = 8,       ///< somebody asked to stop
  kInterrupted = 130  ///< SIGINT or SIGTERM
};

}  // namespace pawl
