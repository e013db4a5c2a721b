#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::twin {

/// What goes wrong. docs/twin.md, "Faults", has the keys of each and what a client sees.
enum class FaultKind {
  kLateStart,
  kOutOfMemory,
  kRejectFlag,
  kAmbiguousFlag,
  kHang,
  kOverload,
  kCutStream,
  kMalformedChunk,
  kWrongAnswers,
  kDegrade,
  kNoInstances,
  kLeak,
  kRestart,
  kSlowFirstRequest,
  kSlowRank,
  kLogLine,
};
BOOST_DESCRIBE_ENUM(FaultKind, kLateStart, kOutOfMemory, kRejectFlag, kAmbiguousFlag, kHang, kOverload, kCutStream, kMalformedChunk, kWrongAnswers, kDegrade,
                    kNoInstances, kLeak, kRestart, kSlowFirstRequest, kSlowRank, kLogLine)

struct Fault {
  FaultKind kind = FaultKind::kLateStart;
  std::optional<std::string> at;    ///< out-of-memory: "load", "graph-capture"; malformed-chunk: "json", "framing"; log-line: "start", "ready"
  std::optional<std::string> text;  ///< log-line: as it is, may have several lines
  std::optional<std::string> flag;  ///< reject-flag, ambiguous-flag
  std::optional<std::vector<std::string>> could_match;  ///< ambiguous-flag
  std::optional<std::int64_t> after_requests;      ///< hang, restart: this many are served; overload: from then on; log-line: with the request after so many
  std::optional<std::int64_t> after_tokens;        ///< cut-stream, malformed-chunk
  std::optional<std::int64_t> above_running;       ///< overload: when more are in the engine
  std::optional<std::int64_t> status;              ///< overload: 503
  std::optional<std::int64_t> tokens_per_request;  ///< leak
  std::optional<std::int64_t> rank;                ///< slow-rank
  double seconds = 0;                              ///< late-start, slow-first-request, restart (how long nobody listens)
  double share = 1;                                ///< of requests; absent: all
  double factor = 1;                               ///< slow-rank
  double per_minute = 0;                           ///< degrade: by which share steps become longer
};
BOOST_DESCRIBE_STRUCT(Fault, (),
                      (kind, at, text, flag, could_match, after_requests, after_tokens, above_running, status, tokens_per_request, rank, seconds, share, factor,
                       per_minute))

/// Reads `faults:` of a YAML text and checks that each has what it needs. `file` is its name in messages.
[[nodiscard]] Result<std::vector<Fault>> read_faults(std::string text, const std::string& file);

}  // namespace pawl::twin
