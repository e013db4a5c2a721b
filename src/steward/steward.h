#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "control/decide.h"
#include "io/assets.h"
#include "io/clock.h"
#include "io/domain/capacity_source.h"
#include "io/domain/forge.h"
#include "io/domain/planner.h"
#include "io/domain/results_source.h"
#include "io/domain/sweep_runner.h"
#include "io/progress.h"
#include "model/baseline.h"
#include "store/database.h"

namespace pawl::steward {

/// Tables steward_candidate, steward_journal, steward_outbox, steward_baseline, steward_proposal.
[[nodiscard]] store::Schema steward_schema();

/// What the steward works with. References outlive it.
struct StewardWorld {
  store::Database& database;
  const io::Clock& clock;
  const io::Assets& assets;
  io::Forge& forge;
  io::SweepRunner& runner;
  io::ResultsSource& results;
  io::CapacitySource& capacity;
  io::Planner* planner = nullptr;  ///< null: nothing is repaired
  io::Progress& progress;
  /// Asked from another thread while a run is awaited: has somebody closed this request? May be empty.
  std::function<bool(std::int64_t request)> closed_by_person;
};

struct StartRequest {
  std::string recipe, image, policy, eval_task;
  model::Scale scale;
};

/// The durable shell around `control::decide`: one transaction writes state, journal and outbox; commands of the outbox
/// are performed afterwards, each under its key, and answer with an event. Whatever happened to an earlier process, the
/// next `run` goes on where the database says. One thread per object; one steward per workspace.
class Steward {
 public:
  explicit Steward(StewardWorld world) : world_(std::move(world)) {}

  /// Claims the recipe and records the candidate. A candidate of this recipe and image that has not ended yet is
  /// returned as it is. Errors: unknown recipe, bad image, unknown policy.
  Result<control::Candidate> start(const StartRequest& request);
  /// Works until the candidate has ended. Errors leave the state as it is: kCancelled when `stop` fired, anything else
  /// when a command could not be performed; calling again resumes.
  Result<control::Candidate> run(const std::string& id, std::stop_token stop);

  Result<std::optional<control::Candidate>> find(const std::string& id);
  Result<std::vector<control::Candidate>> list();
  Result<std::optional<model::Baseline>> frozen_baseline(const std::string& id);

 private:
  struct Pending {
    std::int64_t seq = 0;
    control::Command command;
  };
  using Answer = Result<std::optional<control::Event>>;

  Result<std::optional<Pending>> next_command(const std::string& id);
  /// The one transaction: marks the command performed, journals the event, writes the new state and its commands.
  Status absorb(const std::string& id, const Pending* answered, const std::optional<control::Event>& event);
  Answer perform(const control::Candidate& candidate, const control::Command& command, std::stop_token stop);
  Result<bool> stopped_by_person(const control::Candidate& candidate);

  Answer research(const control::Candidate& candidate);
  Answer commit_image(const control::Candidate& candidate);
  Answer open_request(const control::Candidate& candidate);
  Answer freeze_baseline(const control::Candidate& candidate);
  Answer dispatch(const control::Candidate& candidate, bool final);
  Answer await_run(const control::Candidate& candidate, std::stop_token stop);
  Answer judge_run(const control::Candidate& candidate, bool final);
  Answer diagnose(const control::Candidate& candidate);
  Answer commit_repair(const control::Candidate& candidate);
  Answer append_changelog(const control::Candidate& candidate);
  Answer check_final(const control::Candidate& candidate);
  Answer cancel_runs(const control::Candidate& candidate, std::stop_token stop);
  Answer close_request(const control::Candidate& candidate);
  Status report_attempt(const control::Candidate& candidate);
  Status comment(const control::Candidate& candidate, const std::string& part, const std::string& body);

  StewardWorld world_;
};

}  // namespace pawl::steward
