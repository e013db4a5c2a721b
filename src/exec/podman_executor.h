#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "exec/container_command.h"
#include "exec/job_executor.h"
#include "io/clock.h"
#include "io/commands.h"
#include "io/files.h"
#include "io/processes.h"

namespace pawl::exec {

inline constexpr std::string_view kPodmanFile = "podman.json";         ///< which container this is; written before it starts
inline constexpr std::string_view kPodmanEndFile = "podman.end.json";  ///< why it did not run, or how podman itself ended

struct PodmanSettings {
  std::string owner = "pawl";  ///< begins every container's name: tells two workspaces on one machine apart
  ContainerSettings container;
  std::int64_t jobs_at_once = 1;
  Nanos command_limit = Seconds{60};
  Nanos pull_limit = Seconds{3600};
  Nanos poll = Millis{500};  ///< between two looks at a container whose podman is not a child of this pawl
};

/// Runs each job inside the image of its engine: `podman run … IMAGE pawl job spec.json`, output to job.log. The image is
/// resolved to its digest once a job, pulled when it is not there, and run by that digest. podman has no daemon: what a
/// job leaves belongs to whoever runs pawl, and the container is gone when the job has ended.
///
/// Exactly once: podman.json stands before podman starts, and the container's name is unique for good. Jobs end with
/// pawl when it is told to stop, as those of the process executor do.
class PodmanExecutor final : public JobExecutor {
 public:
  /// The references outlive it. `self_program` is the path of pawl on this machine.
  PodmanExecutor(io::Commands& commands, io::Processes& processes, io::Files& files, const io::Clock& clock, std::string self_program, PodmanSettings settings)
      : commands_(commands), processes_(processes), files_(files), clock_(clock), self_(std::move(self_program)), settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const override { return "podman"; }
  [[nodiscard]] std::int64_t width() const override { return settings_.jobs_at_once; }
  /// Errors: kConflict when the folder belongs to another key, kNotFound without spec.json or without podman. An image
  /// that cannot be had is no error: the job has ended then, and `failure` says why.
  Result<JobHandle> submit(const std::string& key, const std::filesystem::path& folder) override;
  Result<std::optional<JobHandle>> recover(const std::string& key, const std::filesystem::path& folder) override;
  Status forget(const std::string& key, const std::filesystem::path& folder) override;
  Result<JobState> wait(const JobHandle& handle, Nanos limit, std::stop_token stop) override;
  /// SIGTERM inside the container, after 3 s it is gone with all that it started.
  Status cancel(const JobHandle& handle) override;
  Result<std::optional<model::JobFailure>> failure(const JobHandle& handle) override;

 private:
  struct Known;
  struct Pulled {
    std::string digest;
    std::optional<std::string> trouble;
  };
  Result<std::optional<Known>> read(const std::string& key, const std::filesystem::path& folder) const;
  Status write(const Known& known, const std::filesystem::path& folder) const;
  Status write_end(const std::filesystem::path& folder, model::FailureClass cls, const std::string& why) const;
  Result<Pulled> digest_of(const std::string& image);
  Result<bool> container_exists(const std::string& name);
  Result<std::optional<JobHandle>> find(const std::string& key, const std::filesystem::path& folder);

  io::Commands& commands_;
  io::Processes& processes_;
  io::Files& files_;
  const io::Clock& clock_;
  std::string self_;
  PodmanSettings settings_;
  std::mutex submitting_;  ///< two threads with one key start one container
};

}  // namespace pawl::exec
