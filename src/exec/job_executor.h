#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "codec/json.h"
#include "model/job.h"

namespace pawl::exec {

/// What an executor needs to find a job again after a restart: written down by the caller before anything else.
struct JobHandle {
  std::string key;     ///< `RUN.ATTEMPT.JOB`: unique for good; a second submit with it is the same job
  std::string folder;  ///< absolute; holds spec.json, result.json, server.log
  std::string native;  ///< the executor's own name for it (process id and start, Slurm job id); JSON text
};
BOOST_DESCRIBE_STRUCT(JobHandle, (), (key, folder, native))

enum class JobState { kUnknown, kQueued, kRunning, kEnded };
BOOST_DESCRIBE_ENUM(JobState, kUnknown, kQueued, kRunning, kEnded)

/// Runs one job: `pawl job SPEC.json` as a process, in podman, under Slurm. Its result is the file result.json in its
/// folder; a job that ended without one failed. Thread-safe.
class JobExecutor {
 public:
  virtual ~JobExecutor() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// How many jobs it takes at once. One machine measures one thing at a time; a cluster queues the rest by itself.
  [[nodiscard]] virtual std::int64_t width() const { return 1; }
  /// Whether jobs run elsewhere and go on when pawl is told to stop: the next life takes them up. Otherwise they are ended.
  [[nodiscard]] virtual bool elsewhere() const { return false; }
  /// Starts it once, however often it is called with one key. spec.json stands in `folder` already.
  virtual Result<JobHandle> submit(const std::string& key, const std::filesystem::path& folder) = 0;
  /// The job of an earlier life of this program; nothing when it was never started.
  virtual Result<std::optional<JobHandle>> recover(const std::string& key, const std::filesystem::path& folder) = 0;
  /// Removes what an ended job left for `submit` and `recover` to find, so that the same key can run again. kConflict
  /// while it is alive. Its result, if there is one, stays.
  virtual Status forget(const std::string& key, const std::filesystem::path& folder) = 0;
  /// Until it has ended, at most `limit`; then its state. kCancelled when `stop` fires first: the job runs on.
  virtual Result<JobState> wait(const JobHandle& handle, Nanos limit, std::stop_token stop) = 0;
  /// Ends the job and everything that it started; returns when it is gone.
  virtual Status cancel(const JobHandle& handle) = 0;
  /// What it counted for whoever asks later, such as jobs that it had to cancel because they were there twice.
  [[nodiscard]] virtual codec::Json counts() const { return codec::Json::object(); }
  /// Why a job that ended without a result did so, as far as the executor itself knows (its node failed, its limit of
  /// time). Nothing: the log of the job decides.
  virtual Result<std::optional<model::JobFailure>> failure(const JobHandle& /*handle*/) { return std::optional<model::JobFailure>(); }
};

}  // namespace pawl::exec
