#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/processes.h"

namespace pawl::io {

struct CommandSpec {
  std::vector<std::string> argv;                         ///< argv[0] is looked up in PATH unless it holds a slash
  std::vector<std::pair<std::string, std::string>> env;  ///< added to the environment of pawl
  std::filesystem::path folder;                          ///< working folder; empty: that of pawl
  std::uint64_t max_output_bytes = 256u << 20;           ///< of each of its two outputs; one byte more is an error
};

struct CommandOutput {
  ProcessEnd end;
  std::string out, err;
};

/// Runs short commands of other programs (sbatch, squeue, podman) to their end and gives back what they printed.
/// Thread-safe.
class Commands {
 public:
  virtual ~Commands() = default;
  /// A command that ran is a success here, whatever its exit status. Errors: kNotFound when there is no such program;
  /// kUnknownOutcome when it ran longer than `limit` (it is killed with what it started: what it did is not known);
  /// kExhausted when it printed too much; kCancelled when `stop` fired (killed too).
  virtual Result<CommandOutput> run(const CommandSpec& spec, Nanos limit, std::stop_token stop) = 0;
};

}  // namespace pawl::io
