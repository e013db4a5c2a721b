#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pawl::io {

/// Names one process for good: a process id alone is reused by the kernel, together with its start time it is not.
/// Can be written down and recognised after a restart of pawl (not of the machine: `boot` differs then).
struct ProcessId {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat
  std::string boot;              ///< boot id of the machine
  bool operator==(const ProcessId&) const = default;
};

struct ProcessSpec {
  std::vector<std::string> argv;                         ///< argv[0] is looked up in PATH unless it holds a slash
  std::vector<std::pair<std::string, std::string>> env;  ///< added to the environment of pawl
  std::filesystem::path folder;                          ///< working folder; empty: that of pawl
  std::filesystem::path output_file;                     ///< standard output and error are appended here; empty: discarded
  bool ends_with_parent = false;                         ///< killed by the kernel when the thread that launched it dies
};

/// How a process ended: `code` if it exited, `signal` if one ended it.
struct ProcessEnd {
  std::optional<int> code;
  std::optional<int> signal;
  [[nodiscard]] bool ok() const { return code == 0; }
  [[nodiscard]] std::string text() const {
    if (signal) return "signal " + std::to_string(*signal);
    return "exit status " + std::to_string(code.value_or(-1));
  }
};

/// Starts and ends processes. Each one is the leader of a process group of its own, so that what it starts ends with
/// it. Thread-safe.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual Result<ProcessId> launch(const ProcessSpec& spec) = 0;
  /// Waits until it has ended, at most `limit`. Nothing: still running (limit or stop). Works for children and, with
  /// unknown `code`, for processes of an earlier pawl.
  virtual Result<std::optional<ProcessEnd>> wait(const ProcessId& id, Nanos limit, std::stop_token stop) = 0;
  [[nodiscard]] virtual bool alive(const ProcessId& id) const = 0;
  /// Asks the whole group to end (SIGTERM), and makes it (SIGKILL) after `grace`. Returns when the leader is gone.
  virtual Status end_group(const ProcessId& id, Nanos grace) = 0;
};

}  // namespace pawl::io
