#include "exec/slurm_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace pawl::exec {
namespace {

using codec::Json;

constexpr std::array<std::string_view, 12> kBases{"PENDING", "RUNNING",  "SUSPENDED", "COMPLETED", "FAILED",    "OUT_OF_MEMORY",
                                                  "TIMEOUT", "DEADLINE", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "CANCELLED"};
constexpr std::array<std::string_view, 17> kFlags{"COMPLETING",    "CONFIGURING",   "STAGE_OUT",     "UPDATE_DB",     "REQUEUED",  "REQUEUE_FED",
                                                  "REVOKED",       "REQUEUE_HOLD",  "SPECIAL_EXIT",  "RESIZING",      "SIGNALING", "STOPPED",
                                                  "POWER_UP_NODE", "LAUNCH_FAILED", "RECONFIG_FAIL", "RESV_DEL_HOLD", "EXPEDITING"};

bool is_base(std::string_view word) { return std::ranges::find(kBases, word) != kBases.end(); }
bool is_flag(std::string_view word) { return std::ranges::find(kFlags, word) != kFlags.end(); }

/// Takes a state apart: a base word first, or a flag that hides it; a tail (" by 1004") after the first word.
void take_state(std::string_view text, SlurmRecord& record) {
  const auto blank = text.find(' ');
  const std::string_view word = text.substr(0, blank);
  if (blank != std::string_view::npos) {
    const std::string_view tail = text.substr(blank + 1);
    if (tail.starts_with("by ")) record.cancelled_by = tail.substr(3);
  }
  if (record.base.empty() && !is_flag(word)) {
    record.base = word;
  } else {
    record.flags.emplace_back(word);
  }
}

/// A plain number, or {set, infinite, number}: nothing when it is not set or infinite.
std::optional<std::int64_t> number_of(const Json& json) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_object() || !json.value("set", false) || json.value("infinite", false)) return std::nullopt;
  const auto number = json.find("number");
  if (number == json.end() || !number->is_number_integer()) return std::nullopt;
  return number->get<std::int64_t>();
}

std::optional<std::int64_t> number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() ? std::nullopt : number_of(*found);
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void take_states(const Json& json, SlurmRecord& record) {
  if (json.is_string()) take_state(json.get<std::string>(), record);
  if (!json.is_array()) return;
  for (const Json& word : json) {
    if (word.is_string()) take_state(word.get<std::string>(), record);
  }
}

SlurmRecord record_of(const Json& job) {
  SlurmRecord record;
  record.id = number_at(job, "job_id").value_or(0);
  record.name = text_at(job, "name");
  record.user = text_at(job, "user_name");
  if (record.user.empty()) record.user = text_at(job, "user");
  record.restarts = number_at(job, "restart_cnt").value_or(0);
  record.nodes = text_at(job, "nodes");
  record.reason = text_at(job, "state_reason");
  record.submitted_s = number_at(job, "submit_time");
  const bool accounting = job.contains("state") && job["state"].is_object();
  if (job.contains("job_state")) take_states(job["job_state"], record);
  if (accounting) {
    const Json& state = job["state"];
    if (state.contains("current")) take_states(state["current"], record);
    record.reason = text_at(state, "reason");
  }
  if (const auto time = job.find("time"); time != job.end() && time->is_object() && !record.submitted_s) record.submitted_s = number_at(*time, "submission");
  if (const auto exit = job.find("exit_code"); exit != job.end()) {
    if (const auto raw = exit->is_number_integer() ? number_of(*exit) : std::nullopt) {
      // A wait status: 768 is exit 3, 9 is signal 9.
      record.exit_code = static_cast<int>((*raw >> 8) & 0xff);
      record.signal = static_cast<int>(*raw & 0x7f);
    } else if (exit->is_object() && exit->contains("status") && (*exit)["status"].is_array()) {
      if (const auto code = number_at(*exit, "return_code")) record.exit_code = static_cast<int>(*code);
      if (const auto signal = exit->find("signal"); signal != exit->end() && signal->is_object()) {
        if (const auto number = number_at(*signal, "id")) record.signal = static_cast<int>(*number);
      }
    }
    // The flat object of 22.05's accounting says SUCCESS for failed jobs: not taken.
  }
  return record;
}

bool waits_for_ever(std::string_view reason) {
  constexpr std::array<std::string_view, 9> kNever{"BadConstraints", "PartitionNodeLimit", "PartitionTimeLimit",       "AccountNotAllowed",  "InvalidAccount",
                                                   "InvalidQOS",     "QOSNotAllowed",      "DependencyNeverSatisfied", "AssociationJobLimit"};
  if (std::ranges::find(kNever, reason) != kNever.end()) return true;
  // A limit on what one job may ask for, not on what others use.
  return (reason.starts_with("QOS") || reason.starts_with("Assoc")) &&
         (reason.find("PerJob") != std::string_view::npos || reason.ends_with("MinCpuNotSatisfied"));
}

SlurmVerdict judge_pending(const SlurmRecord& record) {
  const std::string& reason = record.reason;
  const std::string why = reason.empty() || reason == "None" ? "PENDING" : "PENDING, " + reason;
  const auto never = [&](SlurmOutcome outcome, bool other_node) {
    return SlurmVerdict{.outcome = outcome, .terminal = false, .hopeless = true, .retry = other_node, .other_node = other_node, .why = why};
  };
  if (waits_for_ever(reason)) return never(SlurmOutcome::kConfig, false);
  if (reason == "JobHoldMaxRequeue" || reason.find("launch failed requeued held") != std::string::npos ||
      reason.find("launch_failed_requeued_held") != std::string::npos || record.has_flag("SPECIAL_EXIT") || record.has_flag("REQUEUE_HOLD")) {
    return never(SlurmOutcome::kInfraNode, true);
  }
  SlurmVerdict verdict{.outcome = SlurmOutcome::kWaiting, .why = why};
  if (reason == "JobHeldUser" || reason == "JobHeldAdmin") verdict.outcome = SlurmOutcome::kHeld;
  return verdict;
}

SlurmVerdict ended(SlurmOutcome outcome, std::string why) {
  SlurmVerdict verdict{.outcome = outcome, .terminal = true, .why = std::move(why)};
  verdict.other_node = outcome == SlurmOutcome::kInfraNode;
  verdict.retry = outcome == SlurmOutcome::kInfraNode || outcome == SlurmOutcome::kInfraCluster || outcome == SlurmOutcome::kPreempted;
  return verdict;
}

SlurmVerdict judge_failed(const SlurmRecord& record, const SlurmContext& context) {
  const std::string& reason = record.reason;
  const int signal = record.signal.value_or(0);
  const std::string why = fmt::format("FAILED{}{}", reason.empty() || reason == "None" ? "" : ", " + reason,
                                      record.exit_code ? fmt::format(", exit {}:{}", *record.exit_code, signal) : "");
  // 0:53: the batch script's output could not be written on that node.
  if (reason == "JobLaunchFailure" || reason == "Prolog" || reason == "SystemFailure" || (record.exit_code == 0 && signal == 53))
    return ended(SlurmOutcome::kInfraNode, why);
  if (signal == 15 && context.cancel_recorded) return ended(SlurmOutcome::kCancelledByUs, why);
  if (signal == 9 && context.oom_line) return ended(SlurmOutcome::kConfig, why);
  return ended(SlurmOutcome::kLogDecides, why);
}

SlurmVerdict judge_cancelled(const SlurmRecord& record, const SlurmContext& context) {
  if (record.reason == "DependencyNeverSatisfied" || record.reason == "InvalidAccount" || record.reason == "InvalidQOS")
    return ended(SlurmOutcome::kConfig, "CANCELLED, " + record.reason);
  if (context.cancel_recorded) return ended(SlurmOutcome::kCancelledByUs, "CANCELLED");
  return ended(SlurmOutcome::kCancelledByOthers, record.cancelled_by.empty() ? "CANCELLED" : fmt::format("CANCELLED by user {}", record.cancelled_by));
}

}  // namespace

bool SlurmRecord::has_flag(std::string_view flag) const { return std::ranges::find(flags, flag) != flags.end(); }

Result<std::vector<SlurmRecord>> read_slurm_json(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const Json json, codec::parse_json(text, name));
  const auto jobs = json.is_object() ? json.find("jobs") : json.end();
  if (!json.is_object() || jobs == json.end() || !jobs->is_array()) return peer_error(fmt::format("{}: no list of jobs in it", name));
  std::vector<SlurmRecord> records;
  records.reserve(jobs->size());
  for (const Json& job : *jobs) {
    if (job.is_object()) records.push_back(record_of(job));
  }
  return records;
}

Result<std::vector<SlurmRecord>> read_slurm_accounting(std::string_view text, std::span<const std::string_view> columns) {
  std::vector<SlurmRecord> records;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto fields = split(line, '|');
    if (fields.size() != columns.size()) return peer_error(fmt::format("sacct: {} columns where {} were asked for: {}", fields.size(), columns.size(), line));
    SlurmRecord record;
    bool step = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string_view column = columns[i], field = fields[i];
      if (column == "JobIDRaw" || column == "JobID") {
        const auto id = parse_int(field);
        step = !id;  // 71.batch, 71.0
        record.id = id.value_or(0);
      } else if (column == "JobName") {
        record.name = field;
      } else if (column == "User") {
        record.user = field;
      } else if (column == "State") {
        take_state(field, record);
      } else if (column == "ExitCode") {
        const auto colon = field.find(':');
        if (const auto code = parse_int(field.substr(0, colon))) record.exit_code = static_cast<int>(*code);
        if (colon != std::string_view::npos) {
          if (const auto signal = parse_int(field.substr(colon + 1))) record.signal = static_cast<int>(*signal);
        }
      } else if (column == "Reason") {
        record.reason = field;
      } else if (column == "NodeList") {
        record.nodes = field;
      } else if (column == "Restarts") {
        record.restarts = parse_int(field).value_or(0);
      } else if (column == "SubmitUnix") {
        record.submitted_s = parse_int(field);
      } else {
        return internal_error(fmt::format("unknown accounting column {}", column));
      }
    }
    if (!step) records.push_back(std::move(record));
  }
  return records;
}

std::optional<std::int64_t> submitted_job(std::string_view out) {
  constexpr std::string_view kSubmitted = "Submitted batch job ";
  for (const std::string_view line_raw : split(out, '\n')) {
    const std::string_view line = trim(line_raw);
    if (line.starts_with(kSubmitted)) {
      const std::string_view rest = line.substr(kSubmitted.size());
      const auto id = parse_int(rest.substr(0, rest.find(' ')));
      if (id && *id > 0) return id;
    }
    const auto id = parse_int(line.substr(0, line.find(';')));
    if (id && *id > 0 && line.find(' ') == std::string_view::npos) return id;
  }
  return std::nullopt;
}

bool is_ours(const SlurmRecord& record, const SlurmIdentity& ours) {
  if (ours.id != 0 && record.id != ours.id) return false;
  if (record.name != ours.name) return false;
  if (!ours.user.empty() && !record.user.empty() && record.user != ours.user) return false;
  return !record.submitted_s || *record.submitted_s >= ours.submitted_after_s;
}

SlurmVerdict judge(const SlurmRecord* record, const SlurmContext& context) {
  if (record == nullptr) return {.recorded = false, .why = "no record of ours yet"};
  const std::string& base = record->base;
  for (const char* flag : {"COMPLETING", "STAGE_OUT", "UPDATE_DB"}) {
    if (record->has_flag(flag)) return {.outcome = SlurmOutcome::kEnding, .why = base.empty() ? flag : base + ", " + flag};
  }
  for (const char* flag : {"REVOKED", "RESV_DEL_HOLD"}) {
    if (record->has_flag(flag)) return {.outcome = SlurmOutcome::kUnknown, .why = flag};
  }
  if (record->has_flag("STOPPED") || base == "SUSPENDED") return {.outcome = SlurmOutcome::kRunning, .why = "suspended"};
  if (base == "PENDING" || (base.empty() && (record->has_flag("REQUEUED") || record->has_flag("REQUEUE_HOLD") || record->has_flag("SPECIAL_EXIT"))))
    return judge_pending(*record);
  if (base == "RUNNING" || base.empty()) return {.outcome = SlurmOutcome::kRunning, .why = base.empty() && !record->flags.empty() ? record->flags[0] : base};
  if (!is_base(base)) return {.outcome = SlurmOutcome::kUnknown, .why = fmt::format("unknown state {}", base)};
  // From here on the base is terminal.
  for (const char* flag : {"LAUNCH_FAILED", "RECONFIG_FAIL"}) {
    if (record->has_flag(flag)) return ended(SlurmOutcome::kInfraNode, base + ", " + flag);
  }
  if (base == "COMPLETED") return ended(SlurmOutcome::kOk, "COMPLETED");
  if (base == "FAILED") return judge_failed(*record, context);
  if (base == "OUT_OF_MEMORY") return ended(SlurmOutcome::kConfig, "OUT_OF_MEMORY: memory of the host");
  if (base == "TIMEOUT" || base == "DEADLINE") return ended(SlurmOutcome::kTimeout, base);
  if (base == "NODE_FAIL" || base == "BOOT_FAIL") return ended(SlurmOutcome::kInfraNode, record->nodes.empty() ? base : base + " on " + record->nodes);
  if (base == "PREEMPTED") return ended(SlurmOutcome::kPreempted, base);
  return judge_cancelled(*record, context);
}

}  // namespace pawl::exec
