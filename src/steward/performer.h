#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "model/baseline.h"
#include "steward/catalogue_cache.h"
#include "steward/judge.h"
#include "steward/policy.h"
#include "steward/world.h"

namespace pawl::steward {

/// What performing a command came to: something happened, or nothing more is to say, or it has to be done again later.
struct Answer {
  std::optional<control::Event> event;
  std::int64_t later_s = 0;  ///< above 0: the same command again after so many seconds
};

/// Performs the commands of `control` against the seams. Every one may be repeated: a crash between the effect and its
/// record leads to a second call with the same arguments. Before every mutation the change request is looked at again;
/// what a person did in between is the answer then, and the mutation does not happen.
class Performer {
 public:
  explicit Performer(const StewardWorld& world) : world_(world) {}

  /// `fence`: of the holder on whose behalf it is done; what a former holder has not done yet is not done any more.
  Result<Answer> perform(const control::Candidate& candidate, const control::Command& command, std::int64_t fence, std::stop_token stop);
  /// What people did to the change request, read now; nothing when all is as we left it.
  Result<std::optional<control::Event>> look(const control::Candidate& candidate);

  // The steps that a person may do by hand; they change nothing outside.
  Result<Answer> review_overlap(const control::Candidate& candidate);
  Result<Answer> preflight_baseline(const control::Candidate& candidate);
  Result<Answer> check_capacity(const control::Candidate& candidate);
  /// The four proofs (changelog is main's bytes and one entry; the gate takes it; the matrix is the base's; nothing else
  /// differs), that the request is a draft at our head, and that every baseline point is in the matrix.
  Result<Answer> check_final(const control::Candidate& candidate);

  /// Null while there is none.
  Result<std::shared_ptr<const model::Baseline>> frozen_baseline(const std::string& id);
  Result<const Policy*> policy(const std::string& profile);
  Result<std::shared_ptr<CommitCatalogue>> catalogue(const std::string& commit);
  [[nodiscard]] CatalogueCache& cache() { return world_.catalogues != nullptr ? *world_.catalogues : own_catalogues_; }

 private:
  /// Looks at the request and at the fence immediately before a mutation; what a person did, or another holder, ends the
  /// command.
  Status guard(const control::Candidate& candidate);
  Status comment(const control::Candidate& candidate, const std::string& part, const std::string& body);
  Result<std::string> main_head();
  /// Whether the last passed capacity check still counts. One from the future (the calendar was set back) does not, nor
  /// one of this life that is too old by a clock that nobody sets.
  [[nodiscard]] bool capacity_fresh(const control::Candidate& candidate) const;

  Result<Answer> claim_family(const control::Candidate& candidate);
  Result<Answer> research(const control::Candidate& candidate);
  Result<Answer> commit_image(const control::Candidate& candidate, const control::Command& command);
  Result<Answer> open_request(const control::Candidate& candidate);
  Result<Answer> freeze_baseline(const control::Candidate& candidate);
  Result<Answer> write_body(const control::Candidate& candidate);

  /// Pushes under a stored intent; an intent of the same command is finished instead of making another.
  Result<std::string> push(const control::Candidate& candidate, const control::Command& command, const io::CommitRequest& request, const std::string& base);
  struct Intent {
    std::int64_t version = 0;
    io::CommitRequest request;
    std::string base;
  };
  Result<std::optional<Intent>> push_intent(const std::string& id);

  Result<Answer> dispatch(const control::Candidate& candidate, bool final);
  Result<Answer> rerun(const control::Candidate& candidate);
  Result<Answer> cancel_doubled(const control::Candidate& candidate);
  Result<Answer> await_run(const control::Candidate& candidate, std::stop_token stop);
  Result<Answer> watch_run(const control::Candidate& candidate);
  Result<Answer> judge_run(const control::Candidate& candidate, bool final);
  Result<Answer> diagnose(const control::Candidate& candidate);
  Result<Answer> commit_repair(const control::Candidate& candidate, const control::Command& command);
  Result<Answer> append_changelog(const control::Candidate& candidate, const control::Command& command);
  Result<Answer> mark_ready(const control::Candidate& candidate);
  Status report_attempt(const control::Candidate& candidate);
  Status report_one(const control::Candidate& candidate, const control::Attempt& attempt);
  Result<Expectation> expectation(const control::Candidate& candidate, const control::Attempt& attempt, const model::Baseline* baseline);

  Result<std::vector<io::RunStatus>> owned_runs(const control::Candidate& candidate);
  /// Cancels a run of ours; its state afterwards, terminal or, where cancelling takes its time, not yet.
  Result<io::RunStatus> end_run(const control::Candidate& candidate, RunId run);
  Result<Answer> cancel_runs(const control::Candidate& candidate);
  Result<Answer> close_request(const control::Candidate& candidate);
  Result<Answer> delete_branch(const control::Candidate& candidate);
  Result<Answer> collect_runs(const control::Candidate& candidate);
  Result<Answer> watch_late(const control::Candidate& candidate);

  const StewardWorld& world_;
  std::map<std::string, MonoTime> capacity_seen_;  ///< when a check of this life passed, by candidate
  CatalogueCache own_catalogues_;
  std::map<std::string, std::shared_ptr<const model::Baseline>> baselines_;  ///< by candidate
  [[nodiscard]] bool disturbed() const { return interrupted_.has_value() || taken_over_; }
  std::optional<control::Event> interrupted_;  ///< what a person did while a command was performed
  std::int64_t fence_ = 0;
  bool taken_over_ = false;  ///< another holder has the candidate
};

/// The run as the ledger of the candidate keeps it.
[[nodiscard]] control::OwnedRun owned_run(const io::RunStatus& status);
/// What a terminal run without success was (upgrade-loop 16).
[[nodiscard]] control::RunClass run_class(const io::RunStatus& status);

}  // namespace pawl::steward
