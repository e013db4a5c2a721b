#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/container_command.h"
#include "exec/job_executor.h"
#include "exec/slurm_records.h"
#include "io/clock.h"
#include "io/commands.h"
#include "io/files.h"

namespace pawl::exec {

inline constexpr std::string_view kSlurmFile = "slurm.json";         ///< which job this is; written before it is submitted
inline constexpr std::string_view kSlurmEndFile = "slurm.end.json";  ///< how it ended, once seen
inline constexpr std::string_view kSlurmExitFile = "slurm.exit";     ///< exit status, written by the batch script itself
inline constexpr std::string_view kSlurmScriptFile = "slurm.sh";

/// How a job gets into the image of its engine on the node.
enum class SlurmContainer { kNone, kPodman, kPyxis };
BOOST_DESCRIBE_ENUM(SlurmContainer, kNone, kPodman, kPyxis)

struct SlurmSettings {
  std::string owner = "pawl";                          ///< stands in every job's name: tells two workspaces on one cluster apart
  std::string partition, account, qos, gres, exclude;  ///< empty: not given to sbatch
  std::int64_t jobs_at_once = 10'000;                  ///< queued or running
  std::int64_t time_limit_minutes = 0;                 ///< 0: that of the partition
  std::vector<std::string> options;                    ///< further options of sbatch, as they are
  SlurmContainer container = SlurmContainer::kNone;
  ContainerSettings container_settings;
  Nanos poll = Seconds{2};          ///< between two looks at the queue; one look serves all jobs
  Nanos find_again = Seconds{60};   ///< how long a submit without an answer is looked for by name before a second one
  Nanos record_lag = Seconds{600};  ///< a job that neither queue nor accounting knows counts as lost after this
  Nanos command_limit = Seconds{30};
};

/// Runs each job as a Slurm batch job: `SELF job spec.json` in the folder of the job, which all nodes must share.
/// No process and no connection is held for a job: one `squeue --json` answers for all of them.
///
/// Exactly once: slurm.json is written before sbatch runs, and the job's name is unique for good. A submit whose answer
/// was lost is looked for by that name before another one; further live jobs of the name (a restarted controller can
/// bring back one that was cancelled, or give an id out again) are cancelled and counted. The end of a job is read from
/// the queue, or from what its own batch script wrote; accounting is asked only when both are silent, and may be absent.
class SlurmExecutor final : public JobExecutor {
 public:
  /// The references outlive it. `self_program` is the path of pawl on the nodes.
  SlurmExecutor(io::Commands& commands, io::Files& files, const io::Clock& clock, std::string self_program, SlurmSettings settings)
      : commands_(commands), files_(files), clock_(clock), self_(std::move(self_program)), settings_(std::move(settings)) {}

  [[nodiscard]] std::string name() const override { return "slurm"; }
  [[nodiscard]] std::int64_t width() const override { return settings_.jobs_at_once; }
  [[nodiscard]] bool elsewhere() const override { return true; }
  /// Errors: kConflict when the folder belongs to another key, kNotFound without spec.json, kInvalid when Slurm refuses
  /// the request for good (partition, account, limits), kTransient when the controller does not answer and the job is not
  /// to be found: the next call looks for it again first.
  Result<JobHandle> submit(const std::string& key, const std::filesystem::path& folder) override;
  Result<std::optional<JobHandle>> recover(const std::string& key, const std::filesystem::path& folder) override;
  Status forget(const std::string& key, const std::filesystem::path& folder) override;
  /// kUnknown when the controller does not answer or does not know the job yet.
  Result<JobState> wait(const JobHandle& handle, Nanos limit, std::stop_token stop) override;
  Status cancel(const JobHandle& handle) override;
  [[nodiscard]] codec::Json counts() const override;
  Result<std::optional<model::JobFailure>> failure(const JobHandle& handle) override;

  /// Jobs of our names that were cancelled because another one of the name is the right one.
  [[nodiscard]] std::int64_t duplicates_cancelled() const;
  /// Runs of squeue so far.
  [[nodiscard]] std::int64_t looks() const;

 private:
  struct Known;
  Result<std::optional<Known>> read(const std::string& key, const std::filesystem::path& folder) const;
  Status write(const Known& known, const std::filesystem::path& folder) const;
  Result<std::vector<SlurmRecord>> queue(bool fresh);
  Result<std::vector<SlurmRecord>> accounting(std::int64_t id);
  Result<std::int64_t> look_for(const Known& known);
  Result<std::string> job_command(const Known& known, const std::filesystem::path& folder) const;
  Result<std::int64_t> run_sbatch(const Known& known, const std::filesystem::path& folder);
  Result<SlurmVerdict> look(const Known& known, const std::filesystem::path& folder, bool fresh);
  Status scancel(std::int64_t id);
  Result<std::optional<JobHandle>> find(const std::string& key, const std::filesystem::path& folder);

  io::Commands& commands_;
  io::Files& files_;
  const io::Clock& clock_;
  std::string self_;
  SlurmSettings settings_;
  std::mutex submitting_;  ///< two threads with one key submit once

  mutable std::mutex queue_mutex_;  ///< guards what follows
  std::vector<SlurmRecord> queue_;
  std::optional<MonoTime> queue_fresh_until_;
  std::int64_t looks_ = 0, duplicates_ = 0;
  bool no_accounting_ = false;  ///< the cluster keeps none
};

}  // namespace pawl::exec
