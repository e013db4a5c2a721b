#pragma once

#include <mutex>
#include <string>

#include "exec/job_executor.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/processes.h"

namespace pawl::exec {

/// Runs each job as a process of this machine: `SELF job spec.json` in the folder of the job, output to job.log there.
/// The process outlives pawl; process.json in the folder names it for the next life.
///
/// Exactly once: a folder with process.json is never started again, also when that process died without a result (`forget`
/// is the only way to a second life). A
/// pawl that died between the start and process.json leaves a process that holds job.lock; it is found there, and a
/// second start beside it ends by itself.
class ProcessExecutor final : public JobExecutor {
 public:
  /// The references outlive it. `self_program` is the path of pawl.
  ProcessExecutor(io::Processes& processes, io::Files& files, io::Clock& clock, std::string self_program)
      : processes_(processes), files_(files), clock_(clock), self_(std::move(self_program)) {}

  [[nodiscard]] std::string name() const override { return "process"; }
  /// Errors: kConflict when the folder belongs to another key, kNotFound without spec.json, those of a launch.
  Result<JobHandle> submit(const std::string& key, const std::filesystem::path& folder) override;
  Result<std::optional<JobHandle>> recover(const std::string& key, const std::filesystem::path& folder) override;
  Status forget(const std::string& key, const std::filesystem::path& folder) override;
  /// kRunning when `limit` has passed; kCancelled as error when `stop` fired first.
  Result<JobState> wait(const JobHandle& handle, Nanos limit, std::stop_token stop) override;
  /// SIGTERM, after 3 s SIGKILL, to the group. Fine for a job that has ended.
  Status cancel(const JobHandle& handle) override;

 private:
  /// The process that holds job.lock, if it lives.
  [[nodiscard]] std::optional<io::ProcessId> lock_holder(const std::filesystem::path& folder) const;
  Result<std::optional<JobHandle>> find(const std::string& key, const std::filesystem::path& folder) const;

  io::Processes& processes_;
  io::Files& files_;
  io::Clock& clock_;
  std::string self_;
  std::mutex submitting_;  ///< two threads with one key start one process
};

}  // namespace pawl::exec
