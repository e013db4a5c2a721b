#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

/// What Slurm's commands say of jobs, and what that means (sweep-run-results 9.4). Pure: text in, verdict out.
namespace pawl::exec {

/// One job as the queue or the accounting shows it.
struct SlurmRecord {
  std::int64_t id = 0;
  std::string name, user;
  std::string base;                ///< base word of the state; empty where a flag hides it (22.05 prints COMPLETING alone)
  std::vector<std::string> flags;  ///< in the order in which they stand; unknown ones are kept
  std::string reason;              ///< "None" and "" are both: none
  std::optional<int> exit_code;    ///< absent where the source is known to be wrong (JSON of 22.05's accounting)
  std::optional<int> signal;
  std::optional<std::int64_t> submitted_s;  ///< seconds since 1970
  std::int64_t restarts = 0;
  std::string nodes;         ///< host list as Slurm writes it
  std::string cancelled_by;  ///< user id of "CANCELLED by UID"

  [[nodiscard]] bool has_flag(std::string_view flag) const;
};
BOOST_DESCRIBE_STRUCT(SlurmRecord, (), (id, name, user, base, flags, reason, exit_code, signal, submitted_s, restarts, nodes, cancelled_by))

/// Output of `squeue --json` or `sacct --json`, of 22.05 (plain values) and of 23.11 and later (lists, {set, infinite,
/// number}). It goes by shape, not by version number.
[[nodiscard]] Result<std::vector<SlurmRecord>> read_slurm_json(std::string_view text, const std::string& name);

/// Output of `sacct -P -n --format=COLUMNS`. Steps (71.batch, 71.0) are left out: they never decide. Columns that are
/// known: JobIDRaw, JobID, JobName, User, State, ExitCode, Reason, NodeList, Restarts, SubmitUnix (a Submit time in seconds).
[[nodiscard]] Result<std::vector<SlurmRecord>> read_slurm_accounting(std::string_view text, std::span<const std::string_view> columns);

/// The id in what sbatch printed: `N` or `N;cluster` on a line of its own, or `Submitted batch job N`. Nothing when no
/// line says it: another number of the output never counts.
[[nodiscard]] std::optional<std::int64_t> submitted_job(std::string_view out);

/// What a job of ours is known by. An id alone is not enough: a restarted controller gives ids out again.
struct SlurmIdentity {
  std::int64_t id = 0;  ///< 0: not known (yet)
  std::string name;
  std::string user;                    ///< empty: not compared
  std::int64_t submitted_after_s = 0;  ///< seconds since 1970; a record without a time fits
};

/// Whether the record is of that job: whole id (if known), name, user, time of submission.
[[nodiscard]] bool is_ours(const SlurmRecord& record, const SlurmIdentity& ours);

enum class SlurmOutcome {
  kUnknown,            ///< an unknown word, or no record: ask again
  kWaiting,            ///< in the queue
  kHeld,               ///< in the queue, held by a person
  kRunning,            ///< on its nodes, getting them, or suspended
  kEnding,             ///< the base is a forecast: wait
  kOk,                 ///< exit 0
  kLogDecides,         ///< engine, workload, image or configuration: the first error of the log says which
  kConfig,             ///< the recipe or the request is wrong: no retry helps
  kInfraNode,          ///< again on another node
  kInfraCluster,       ///< again later
  kTimeout,            ///< the limit of time
  kPreempted,          ///< again, not charged
  kCancelledByUs,      ///< our cancel was recorded before
  kCancelledByOthers,  ///< somebody else's; whether to run again is not the executor's to say
};
BOOST_DESCRIBE_ENUM(SlurmOutcome, kUnknown, kWaiting, kHeld, kRunning, kEnding, kOk, kLogDecides, kConfig, kInfraNode, kInfraCluster, kTimeout, kPreempted,
                    kCancelledByUs, kCancelledByOthers)

struct SlurmVerdict {
  SlurmOutcome outcome = SlurmOutcome::kUnknown;
  bool terminal = false;    ///< it will not run any more
  bool hopeless = false;    ///< not terminal, but will never start: cancel it
  bool retry = false;       ///< the executor's caller may run the job again without asking
  bool other_node = false;  ///< and should keep away from the nodes of this record
  bool recorded = true;     ///< there was a record to judge
  std::string why;          ///< the words of Slurm that decided
};

/// What the caller knows beside the record.
struct SlurmContext {
  bool cancel_recorded = false;  ///< we asked for its end
  bool oom_line = false;         ///< the log has an oom-kill line
};

/// The table of sweep-run-results 9.4. Without a record: kUnknown, not terminal.
[[nodiscard]] SlurmVerdict judge(const SlurmRecord* record, const SlurmContext& context);

}  // namespace pawl::exec
