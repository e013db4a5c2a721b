#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/outcome.h"
#include "model/scale.h"

namespace pawl::control {

/// Where a candidate stands (upgrade-loop 8.1).
enum class State {
  kClaimed,
  kResearching,
  kEditing,
  kCrDraft,
  kSmokeGate,
  kSmokeDispatching,
  kSmokeRunning,
  kDiagnosing,
  kRepairing,
  kChangelog,
  kFinalPreflight,
  kFinalGate,
  kFinalDispatching,
  kFinalRunning,
  kVerifying,
  kPublishing,
  kReadying,
  kValidated,
  kStopping,
  kCancelling,
  kClosing,
  kClosed
};
BOOST_DESCRIBE_ENUM(State, kClaimed, kResearching, kEditing, kCrDraft, kSmokeGate, kSmokeDispatching, kSmokeRunning, kDiagnosing, kRepairing, kChangelog,
                    kFinalPreflight, kFinalGate, kFinalDispatching, kFinalRunning, kVerifying, kPublishing, kReadying, kValidated, kStopping, kCancelling,
                    kClosing, kClosed)

[[nodiscard]] constexpr bool terminal(State state) { return state == State::kValidated || state == State::kClosed; }

enum class AttemptKind { kInitial, kRepair, kFinal };
BOOST_DESCRIBE_ENUM(AttemptKind, kInitial, kRepair, kFinal)
enum class AttemptStatus { kQueued, kRunning, kPassed, kFailed, kCancelled, kDeferred };
BOOST_DESCRIBE_ENUM(AttemptStatus, kQueued, kRunning, kPassed, kFailed, kCancelled, kDeferred)

/// What follows an attempt; the report says it in both languages.
enum class NextStep { kAwaitRun, kChangelogAndSweep, kFinish, kRepair, kStop };
BOOST_DESCRIBE_ENUM(NextStep, kAwaitRun, kChangelogAndSweep, kFinish, kRepair, kStop)

/// One edit and one run of it. A terminal attempt never changes again.
struct Attempt {
  std::int64_t number = 1;  ///< counts all attempts of the candidate, from 1
  AttemptKind kind = AttemptKind::kInitial;
  std::int64_t repair = 0;  ///< N of repair N; 0 otherwise
  AttemptStatus status = AttemptStatus::kQueued;
  std::int64_t run = 0;
  std::string head;     ///< commit measured
  std::string started;  ///< ISO 8601, UTC
  NextStep next = NextStep::kAwaitRun;
  std::string change, change_zh;  ///< of a repair: what it changed and why, one sentence in each language
  std::string finding;            ///< first error of a failed attempt, English
  std::string reason;             ///< its code: "run-failed", "evals-pass"…
};
BOOST_DESCRIBE_STRUCT(Attempt, (), (number, kind, repair, status, run, head, started, next, change, change_zh, finding, reason))

/// Everything durable about one candidate: a recipe and the image it shall move to. Written only by `decide`.
struct Candidate {
  std::string schema = "pawl.candidate/1";
  std::string id;  ///< 16 hex of (file + key), "-", 16 hex of the current image
  std::string recipe, file, image_old, image_new, digest_new, runner, engine;
  std::string policy;  ///< "2026-09"
  model::Scale scale;
  std::string eval_task;
  std::string branch, base, head;
  std::string created;  ///< ISO 8601, UTC
  State state = State::kClaimed;
  std::int64_t version = 0;  ///< raised by every decision; commands carry it
  std::int64_t session = 1;
  std::int64_t cr = 0;  ///< 0: none yet
  std::vector<Attempt> attempts;
  std::vector<std::int64_t> runs;  ///< every run that the candidate caused
  std::int64_t repairs = 0;
  std::int64_t capacity_failures = 0;  ///< in a row, at the present gate
  std::optional<model::Outcome> outcome;
  std::string planned_change, planned_change_zh;  ///< of the repair that is being made
  std::string reason;                             ///< code, e.g. "baseline-missing"; empty for success
  std::string detail;                             ///< one sentence for people
};
BOOST_DESCRIBE_STRUCT(Candidate, (),
                      (schema, id, recipe, file, image_old, image_new, digest_new, runner, engine, policy, scale, eval_task, branch, base, head, created, state,
                       version, session, cr, attempts, runs, repairs, capacity_failures, outcome, planned_change, planned_change_zh, reason, detail))

/// `candidate_id` of upgrade-loop 2.
[[nodiscard]] std::string candidate_id(const std::string& file, const std::string& recipe, const std::string& image_old);

}  // namespace pawl::control
