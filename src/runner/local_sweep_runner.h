#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/job_executor.h"
#include "io/clock.h"
#include "io/domain/sweep_runner.h"
#include "io/files.h"
#include "io/progress.h"
#include "runner/collection.h"
#include "runner/job_plan.h"
#include "store/database.h"
#include "store/workspace.h"

namespace pawl::runner {

/// Tables runner_run, runner_job, runner_try and runner_step.
[[nodiscard]] store::Schema runner_schema();

/// The newest published rows of a recipe that are not those of `run`; nothing when there are none.
using PublishedSource = std::function<Result<std::optional<PublishedRows>>(const std::string& recipe, RunId run)>;

/// What the runner works with. References outlive it.
struct RunnerWorld {
  store::Database& database;
  const store::Workspace& workspace;
  const io::Clock& clock;
  const io::Files& files;
  exec::JobExecutor& executor;
  EngineSource engines;
  io::Progress& progress;
  PublishedSource published;  ///< what compare-results compares with; empty: nothing
};

/// One job of a run, for people who look.
struct JobState {
  std::string job, kind, family, state, folder;  ///< folder: empty for a job that measures nothing
  std::string name;                              ///< as people and run statistics read it
  double gpu_hours = 0;                          ///< of all its executions in this attempt of the run
  std::string note;                              ///< of a failed one: why
};
BOOST_DESCRIBE_STRUCT(JobState, (), (job, kind, family, state, folder, name, gpu_hours, note))

/// GPU hours of a run, by attempt.
struct AttemptHours {
  std::int64_t attempt = 1;
  double gpu_hours = 0;
  std::int64_t tries = 0;  ///< executions of jobs
};
BOOST_DESCRIBE_STRUCT(AttemptHours, (), (attempt, gpu_hours, tries))

/// Our own sweep runner: the job graph of sweep-run-results 1.3 (see `graph_steps`). Jobs in their order on one executor, as many at once as it takes, every
/// state in the database before the effect that it announces. `wait` does the work on the calling thread; after a crash the next `wait` finds the jobs of the
/// last one by their keys and goes on. `cancel` may come from another process: `wait` looks between short waits. One thread per object.
class LocalSweepRunner final : public io::SweepRunner {
 public:
  explicit LocalSweepRunner(RunnerWorld world) : world_(std::move(world)) {}

  Result<RunId> dispatch(const io::SweepRequest& request) override;
  Result<std::optional<RunId>> find(const std::string& marker) override;
  Result<io::RunStatus> status(RunId run) override;
  Result<io::RunStatus> wait(RunId run, std::stop_token stop) override;
  Result<io::RunStatus> rerun(RunId run, std::int64_t expected_attempt, bool whole) override;
  /// By marker alone: nothing but a dispatch makes a run here.
  Result<std::vector<io::RunStatus>> owned(const io::OwnedQuery& query) override;
  Status cancel(RunId run) override;
  Result<io::RunEvidence> evidence(RunId run) override;

  [[nodiscard]] Result<std::vector<io::RunStatus>> list();
  /// The jobs of the newest attempt, in their order: every job of the graph.
  [[nodiscard]] Result<std::vector<JobState>> jobs(RunId run);
  [[nodiscard]] Result<std::vector<AttemptHours>> gpu_hours(RunId run);

 private:
  struct Job {
    model::JobSpec spec;
    std::string state;    ///< "queued", "running", "succeeded", "failed", "cancelled", "skipped"
    std::string failure;  ///< JSON text, empty: none
  };

  Result<io::SweepRequest> request_of(RunId run);
  Result<std::vector<Job>> jobs_of(RunId run, std::int64_t attempt);
  Result<bool> cancel_requested(RunId run);
  /// A job that is with the executor.
  struct Active {
    const Job* job;
    exec::JobHandle handle;
    std::filesystem::path folder;
    std::optional<MonoTime> deadline;  ///< set once it runs: waiting in a cluster's queue does not count
    int retries = 0;                   ///< measured again for reasons of infrastructure, uncharged
    bool taken_up = false;             ///< was with the executor before this life of pawl
    std::int64_t own_start_ms = 0;     ///< of its result, when nobody saw it run
  };
  /// How waiting for a job ended: with a result.json, without one, by a cancel of its run, by the stop token.
  enum class JobEnd { kResult, kNothing, kCancelled, kStopped };
  Result<std::vector<Active>> start_jobs(const std::vector<const Job*>& jobs);
  Status submit(Active& active);
  /// Looks at it for at most `limit`. Nothing: it goes on.
  Result<std::optional<JobEnd>> look_at(const io::RunStatus& run, Active& active, Nanos limit, std::stop_token stop);
  /// What its end means: its new state, or nothing when it runs again.
  Result<std::optional<std::string>> settle(Active& active, JobEnd end, std::stop_token stop);
  [[nodiscard]] model::JobFailure no_result(const Active& active) const;
  /// Ends those that are with the executor and belong to a family that failed. Returns how many.
  Result<std::int64_t> cancel_failed(std::vector<Active>& active, const std::set<std::string>& failed_families);
  Result<bool> run_jobs(const io::RunStatus& run, const io::SweepRequest& request, const std::vector<Job>& jobs, std::stop_token stop);
  Status set_job(const model::JobSpec& spec, const std::string& state, const std::string& failure);
  Status begin_try(const Active& active);
  Status end_try(const Active& active, const std::string& outcome, const std::string& failure_class, const std::string& node);
  Result<std::map<std::string, std::vector<Try>>> tries_of(RunId run, std::int64_t attempt);
  Result<std::vector<StepState>> steps_of(RunId run, std::int64_t attempt);
  Result<RunPicture> picture_of(const io::RunStatus& run);
  /// Does the work of a job that measures nothing: what it returns is a note for people. An error of it is a failed job,
  /// which says so; only a stop ends it without a trace.
  Status run_step(const io::RunStatus& run, const std::string& name, const std::function<Result<std::string>()>& work);
  Status skip_step(const io::RunStatus& run, const std::string& name, const std::string& why);
  Result<io::RunStatus> finish(const io::RunStatus& run, io::RunState state);
  /// The jobs after the measuring ones.
  Status conclude(const io::RunStatus& run);
  Status write_artifact(const io::RunStatus& run, const std::string& path, std::string_view bytes);
  Status write_manifest(const io::RunStatus& run);

  RunnerWorld world_;
};

}  // namespace pawl::runner
