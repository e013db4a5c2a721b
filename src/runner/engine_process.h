#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "io/clock.h"
#include "io/files.h"
#include "io/processes.h"
#include "model/job.h"

namespace pawl::runner {

/// A value, or why the job has none.
template <class T>
using JobOutcome = std::expected<T, model::JobFailure>;

/// The engine of one job, as a child process with output to server.log in the folder of the job. The kernel ends it
/// when the thread that launched it ends: launch it on a thread that lives as long as the job.
class EngineProcess {
 public:
  /// Picks a free port of 127.0.0.1 for `{port}` in argv and starts the engine in `folder`. References outlive it.
  /// Failures: kConfig (no such program), kInfrastructure (no port, no process).
  static JobOutcome<std::unique_ptr<EngineProcess>> launch(const model::EngineSpec& spec, const std::filesystem::path& folder, io::Clock& clock,
                                                           io::Files& files, io::Processes& processes);
  /// Ends it and everything it started: SIGTERM, after 2 s SIGKILL.
  ~EngineProcess();
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  /// Until it serves: its health path answers 200 and then one real generation of one token succeeds (engines answer
  /// the first before they can do the second). Failures: kEngine with the last lines of its log when it ended, kTimeout
  /// saying what was waited for when `limit` or the time of its spec is over, kCancelled when `stop` fired.
  JobOutcome<void> wait_ready(Nanos limit, std::stop_token stop);

  /// Waits until it has ended, at most `limit`. Thread-safe.
  [[nodiscard]] bool ended(Nanos limit, std::stop_token stop);
  /// What happened to an engine that has ended by itself: kEngine, its exit status, its last lines. `when` completes
  /// "the engine ended …".
  [[nodiscard]] model::JobFailure death(std::string_view when);
  /// Its last log lines, for the evidence of a failure.
  [[nodiscard]] std::vector<std::string> last_lines() const;
  /// What GET /version says; empty when it does not say.
  [[nodiscard]] std::string version(std::stop_token stop) const;
  /// What really serves, and with which arguments: the command line of the process on its port, and what its log says.
  [[nodiscard]] std::optional<std::vector<std::string>> command_line() const;
  [[nodiscard]] std::optional<std::string> config() const;
  /// "http://127.0.0.1:PORT"
  [[nodiscard]] const std::string& url() const { return url_; }
  void stop();

 private:
  EngineProcess(model::EngineSpec spec, std::filesystem::path log, std::string url, io::ProcessId id, io::Clock& clock, io::Files& files,
                io::Processes& processes)
      : spec_(std::move(spec)), log_(std::move(log)), url_(std::move(url)), id_(std::move(id)), clock_(clock), files_(files), processes_(processes) {}

  const model::EngineSpec spec_;
  const std::filesystem::path log_;
  const std::string url_;
  const io::ProcessId id_;
  io::Clock& clock_;
  io::Files& files_;
  io::Processes& processes_;
  bool stopped_ = false;
};

/// The last `count` lines of a log that are not blank, fit for JSON and a screen: no terminal escapes, of a line that
/// was overwritten (carriage return) its last state, no bytes that are not UTF-8, at most 1,000 bytes each. Pure.
[[nodiscard]] std::vector<std::string> readable_tail(std::string_view log, std::size_t count);

}  // namespace pawl::runner
