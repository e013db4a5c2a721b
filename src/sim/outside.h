#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/clock.h"
#include "io/domain/capacity_source.h"
#include "io/domain/forge.h"
#include "io/domain/planner.h"
#include "io/domain/results_source.h"
#include "io/domain/sweep_runner.h"
#include "sim/scenario.h"

namespace pawl::sim {

inline constexpr const char* kRecipe = "demo-fp8-h200-sglang";
inline constexpr const char* kOldImage = "lmsysorg/sglang:v0.5.14-cu130";
inline constexpr const char* kNewImage = "lmsysorg/sglang:v0.5.19-cu130";
inline constexpr const char* kScriptPath = "benchmarks/single_node/fixed_seq_len/demo_fp8_h200_sglang.sh";
inline constexpr const char* kChangelog = "perf-changelog.yaml";

/// The process ends here. Thrown through the steward; nothing but what is durable is left.
struct Crash {};

/// A defect of the world that a test plants.
struct Planted {
  bool no_idempotency = false;     ///< a dispatch with a known marker makes another run
  bool comment_keys_lost = false;  ///< every comment is a new one
  bool stale_reads = false;        ///< the request is read once and remembered
  bool partial_owned = false;      ///< siblings are never listed
};

struct Commit {
  std::string parent, onto;
  std::map<std::string, std::string> files;  ///< whole tree
};

struct Run {
  std::int64_t id = 0, attempt = 1;
  io::SweepRequest request;
  std::string head;
  Fate fate = Fate::kPass;
  io::RunState state = io::RunState::kQueued;
  io::RunEnd end = io::RunEnd::kPlain;
  bool gate_only = false, cancelled_by_us = false, gone = false;
  std::string reason;
  std::int64_t starts_at = 0, ends_at = 0;  ///< seconds
  std::int64_t cancelled_at = 0, made_at = 0;
  const std::pair<std::vector<codec::Json>, std::vector<codec::Json>>* rows = nullptr;  ///< that it leaves when it passes
};

/// What a mutation was, for whoever checks.
struct Mutation {
  std::string
      kind;  ///< "commit", "open", "edit", "comment", "label-on", "label-off", "ready", "draft", "close", "delete-branch", "dispatch", "rerun", "cancel"
  std::string key, text;
  std::int64_t run = 0;
};

/// Everything outside of the database, deterministic, on a clock of its own. It outlives every steward. One call of a
/// seam is one point; faults strike at points.
class Outside final : public io::Forge, public io::SweepRunner, public io::ResultsSource, public io::CapacitySource, public io::Planner, public io::Clock {
 public:
  /// `variant`: above 0, the recipe has a key of its own, so that many worlds can share one database.
  explicit Outside(const Scenario& scenario, Planted planted = {}, std::int64_t variant = 0);
  [[nodiscard]] const std::string& recipe() const { return recipe_; }

  /// Called before every mutation of the steward takes effect.
  std::function<void(const Mutation&)> on_mutation;
  /// Called when something strikes that is not of this class: `handles`.
  std::function<void(FaultKind)> on_fault;
  [[nodiscard]] bool handles(FaultKind kind) const;

  /// Where the candidate stands now: faults may be placed by state.
  void stands_in(control::State state) { state_ = state; }
  /// What is placed between two steps of this state strikes; the process and the next command are the caller's.
  struct Between {
    bool crash = false, defect = false;
  };
  Between between_steps();

  // What checkers read.
  /// The request of the candidate; null while there is none.
  [[nodiscard]] const io::ChangeRequest* our_request() const;
  [[nodiscard]] std::int64_t now_s() const { return now_s_; }
  [[nodiscard]] std::int64_t mono_s() const { return mono_s_; }
  [[nodiscard]] std::int64_t points() const { return points_; }
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] const std::map<std::string, std::string>& branches() const { return branches_; }
  [[nodiscard]] const std::map<std::string, io::Comment>& all_comments() const { return comments_; }
  [[nodiscard]] const Commit& commit_at(const std::string& id) const;
  [[nodiscard]] bool read_just_before() const { return last_read_ == points_ - 1; }  ///< the call before this one read the request
  [[nodiscard]] std::int64_t last_capacity_pass() const { return capacity_passed_at_; }
  [[nodiscard]] std::int64_t capacity_bound() const { return capacity_bound_; }
  [[nodiscard]] std::int64_t capacity_checks() const { return capacity_checks_; }
  [[nodiscard]] std::int64_t closed_at_point() const { return closed_at_point_; }
  [[nodiscard]] std::int64_t closed_at_s() const { return closed_at_s_; }
  [[nodiscard]] std::int64_t handed_off_at_point() const { return handed_off_at_point_; }
  [[nodiscard]] std::int64_t last_read_point() const { return last_read_; }
  [[nodiscard]] bool foreign_push() const { return foreign_push_; }
  /// Runs that were there when they were listed last.
  [[nodiscard]] std::int64_t listed_runs() const { return listed_runs_; }
  [[nodiscard]] bool ready_by_person() const { return ready_by_person_; }
  [[nodiscard]] bool listing_partial() const { return listing_partial_; }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3u; }
  void mix(const std::string& text);
  /// Lets time pass without anybody doing anything.
  void pass_time(std::int64_t seconds);
  /// A person does it now.
  void strike(FaultKind kind);
  void close_by_person() { strike(FaultKind::kPersonCloses); }

  // io::Clock
  [[nodiscard]] MonoTime now() const override { return {Seconds{mono_s_}}; }
  [[nodiscard]] WallTime wall() const override { return {Seconds{now_s_}}; }
  bool sleep_until(MonoTime deadline, std::stop_token stop) const override;

  // io::Forge
  Result<std::optional<std::string>> head(const std::string& branch) override;
  Result<std::string> read(const std::string& commit, const std::string& path) override;
  Result<std::string> commit(const io::CommitRequest& request) override;
  Result<bool> delete_branch(const std::string& branch, const std::string& expected_head) override;
  Result<ChangeRequestId> open(const std::string& branch, const std::string& title, const std::string& body, const std::string& author) override;
  Result<io::ChangeRequest> get(ChangeRequestId id) override;
  Result<std::vector<io::ChangeRequest>> list() override;
  Status edit(ChangeRequestId id, const std::string& title, const std::string& body) override;
  Status comment(ChangeRequestId id, const std::string& key, const std::string& author, const std::string& body) override;
  Result<std::vector<io::Comment>> comments(ChangeRequestId id) override;
  Status set_label(ChangeRequestId id, const std::string& label, bool present) override;
  Status set_ready(ChangeRequestId id, bool ready) override;
  Status close(ChangeRequestId id, const std::string& by) override;

  // io::SweepRunner
  Result<RunId> dispatch(const io::SweepRequest& request) override;
  Result<std::optional<RunId>> find(const std::string& marker) override;
  Result<io::RunStatus> status(RunId run) override;
  Result<io::RunStatus> wait(RunId run, std::stop_token stop) override;
  [[nodiscard]] bool runs_by_itself() const override { return scenario_.runs_by_itself; }
  Result<io::RunStatus> rerun(RunId run, std::int64_t expected_attempt, bool whole) override;
  Result<std::vector<io::RunStatus>> owned(const io::OwnedQuery& query) override;
  Status cancel(RunId run) override;
  Result<io::RunEvidence> evidence(RunId run) override;

  Result<std::optional<model::Baseline>> newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) override;
  Result<io::Capacity> check(const std::string& runner, std::int64_t below_percent) override;
  /// The registry.
  Result<bool> image_there();
  Result<std::optional<io::Proposal>> propose(const io::Briefing& briefing) override;

 private:
  template <class T, class Work>
  Result<T> call(const Mutation* mutation, const Work& work);
  void advance(std::int64_t seconds) const;
  void settle();
  void end_run(Run& run);
  Run& run_at(RunId id) { return runs_.at(static_cast<std::size_t>(id.value) - 1); }
  [[nodiscard]] bool known_run(RunId id) const {
    return id.value >= 1 && id.value <= static_cast<std::int64_t>(runs_.size()) && !runs_[static_cast<std::size_t>(id.value) - 1].gone;
  }
  [[nodiscard]] io::RunStatus status_of(const Run& run) const;
  Run& make_run(const io::SweepRequest& request);
  std::string store(Commit commit);
  /// Main gets another changelog entry, and its master file the replacement of a text.
  void move_main(const std::string& what = {}, const std::string& by = {});
  io::ChangeRequest* own_request();
  /// Whether the fault strikes at the present call, or, with `between`, between two steps.
  [[nodiscard]] bool due(std::size_t fault, bool between) const;

  const Scenario& scenario_;
  Planted planted_;
  std::string recipe_, first_main_;
  std::vector<bool> struck_;  ///< of the scenario's faults
  control::State state_ = control::State::kDiscovered;
  std::array<std::int64_t, static_cast<std::size_t>(control::State::kHandedOff) + 1> calls_in_{};
  mutable std::int64_t now_s_ = 1'790'000'000, mono_s_ = 1000;
  std::int64_t points_ = 0, last_read_ = -10;
  std::map<std::string, std::string> branches_;
  std::vector<io::ChangeRequest> requests_;
  std::map<std::string, io::Comment> comments_;
  std::vector<Run> runs_;
  std::map<std::string, Commit> own_commits_;
  std::optional<io::ChangeRequest> remembered_;
  std::int64_t capacity_checks_ = 0, capacity_bound_ = 0, capacity_passed_at_ = 0, baseline_reads_ = 0, main_moves_ = 0, failures_ = 0, lost_comments_ = 0;
  std::int64_t closed_at_point_ = 0, closed_at_s_ = 0, handed_off_at_point_ = 0;
  std::size_t attempts_made_ = 0;
  bool image_gone_ = false, double_next_ = false, lose_next_ = false, conflicted_ = false, cancel_pending_ = false, listing_partial_ = false,
       foreign_push_ = false, ready_by_person_ = false;
  int ignored_labels_ = 0;
  std::int64_t listed_runs_ = 0;
  int partial_left_ = 0;
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace pawl::sim
