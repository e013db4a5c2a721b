#include "exec/slurm_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/describe.h"

namespace pawl::exec {
namespace {

namespace fs = std::filesystem;
using codec::Json;

constexpr std::string_view kSlurmImageFile = "slurm.image";  ///< written by the batch script when the node cannot have the image
constexpr std::int64_t kLookShare = 20;
constexpr Nanos kCancelLimit = Seconds{120};
/// Clocks of controller and submitter may differ; the name, not the time, tells jobs apart.
constexpr std::int64_t kClockSlack_s = 300;

std::int64_t seconds(WallTime t) { return std::chrono::duration_cast<Seconds>(t.since_epoch).count(); }

/// Whether sbatch's words mean that the controller was not reached, or its answer was lost: the job may be there.
bool answer_lost(std::string_view err) {
  return std::ranges::any_of(std::array<std::string_view, 6>{"Unable to contact slurm controller", "Socket timed out", "slurm_receive_msg",
                                                             "Zero Bytes were transmitted", "Connection refused", "Slurm temporarily unable"},
                             [&](std::string_view words) { return err.find(words) != std::string_view::npos; });
}

std::string first_line(std::string_view text) { return std::string(trim(text.substr(0, text.find('\n')))); }

}  // namespace

/// slurm.json, `pawl.slurm-job/1`.
struct SlurmExecutor::Known {
  std::string schema = "pawl.slurm-job/1";
  std::string key, name;
  std::int64_t id = 0;                 ///< 0: submitted or about to be, answer not seen
  std::int64_t submitted_after_s = 0;  ///< seconds since 1970
  bool cancelled = false;              ///< we asked for its end
  BOOST_DESCRIBE_CLASS(Known, (), (schema, key, name, id, submitted_after_s, cancelled), (), ())

  [[nodiscard]] SlurmIdentity identity() const { return {id, name, {}, submitted_after_s - kClockSlack_s}; }
  [[nodiscard]] JobHandle handle(const fs::path& folder) const {
    return {key, folder.string(), codec::write_json(Json{{"slurm_job", id}, {"name", name}}, codec::JsonForm::kCompactUtf8)};
  }
};

std::int64_t SlurmExecutor::duplicates_cancelled() const {
  const std::lock_guard lock(queue_mutex_);
  return duplicates_;
}

std::int64_t SlurmExecutor::looks() const {
  const std::lock_guard lock(queue_mutex_);
  return looks_;
}

codec::Json SlurmExecutor::counts() const { return {{"duplicates_cancelled", duplicates_cancelled()}, {"looks", looks()}}; }

Result<std::optional<SlurmExecutor::Known>> SlurmExecutor::read(const std::string& key, const fs::path& folder) const {
  const fs::path file = folder / kSlurmFile;
  if (!files_.exists(file)) return std::optional<Known>();
  PAWL_ASSIGN(const std::string text, files_.read(file, 1u << 20));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, file.string()));
  PAWL_ASSIGN(Known known, codec::from_json<Known>(json, file.string()));
  if (known.key != key) return conflict(fmt::format("the folder {} belongs to job {}, not to {}", folder.string(), known.key, key));
  return std::optional<Known>(std::move(known));
}

Status SlurmExecutor::write(const Known& known, const fs::path& folder) const {
  return files_.write_atomic(folder / kSlurmFile, codec::write_json_pretty(codec::to_json(known)));
}

Result<std::vector<SlurmRecord>> SlurmExecutor::queue(bool fresh) {
  const std::lock_guard lock(queue_mutex_);
  const MonoTime began = clock_.now();
  if (!fresh && queue_fresh_until_ && began < *queue_fresh_until_) return queue_;
  ++looks_;
  PAWL_ASSIGN(const io::CommandOutput output,
              commands_.run({.argv = {"squeue", "--json", "--states=all"}, .env = {}, .folder = {}}, settings_.command_limit, {}));
  // An unreachable controller is not an empty queue.
  if (!output.end.ok()) return peer_error(fmt::format("squeue: {} ({})", first_line(output.err), output.end.text()), "is the controller up? scontrol ping");
  PAWL_ASSIGN(queue_, read_slurm_json(output.out, "output of squeue --json"));
  std::erase_if(queue_, [&](const SlurmRecord& record) { return !record.name.starts_with(settings_.owner + "-"); });
  // At most a twentieth of the time goes into looking, however long the queue is.
  const MonoTime now = clock_.now();
  queue_fresh_until_ = now + std::max(settings_.poll, kLookShare * (now - began));
  return queue_;
}

Result<std::vector<SlurmRecord>> SlurmExecutor::accounting(std::int64_t id) {
  {
    const std::lock_guard lock(queue_mutex_);
    if (no_accounting_) return std::vector<SlurmRecord>();
  }
  static constexpr std::array<std::string_view, 6> kColumns{"JobIDRaw", "JobName", "User", "State", "ExitCode", "NodeList"};
  auto output = commands_.run(
      {.argv = {"sacct", "-P", "-n", "--format=JobIDRaw,JobName,User,State,ExitCode,NodeList", "-j", std::to_string(id)}, .env = {}, .folder = {}},
      settings_.command_limit, {});
  if (!output && output.error().cls != ErrorClass::kNotFound) return std::move(output).error();
  if (!output || output->err.find("accounting storage is disabled") != std::string::npos) {
    const std::lock_guard lock(queue_mutex_);
    no_accounting_ = true;
    return std::vector<SlurmRecord>();
  }
  if (!output->end.ok()) return peer_error(fmt::format("sacct: {} ({})", first_line(output->err), output->end.text()));
  return read_slurm_accounting(output->out, kColumns);
}

/// Looks for a job by its name until it is there, for `find_again`: one empty look proves nothing. 0: not found.
Result<std::int64_t> SlurmExecutor::look_for(const Known& known) {
  const MonoTime deadline = clock_.now() + settings_.find_again;
  SlurmIdentity anyone = known.identity();
  anyone.id = 0;
  for (;;) {
    const auto records = queue(true);
    std::int64_t found = 0;
    if (records) {
      for (const SlurmRecord& record : *records) {
        if (is_ours(record, anyone)) found = std::max(found, record.id);
      }
    }
    if (found != 0) return found;
    if (clock_.now() >= deadline) {
      if (!records) return records.error();
      return 0;
    }
    (void)clock_.sleep_for(std::min(settings_.poll, deadline - clock_.now()), {});
  }
}

/// The lines of the batch script that run the job.
Result<std::string> SlurmExecutor::job_command(const Known& known, const fs::path& folder) const {
  if (settings_.container == SlurmContainer::kNone) return in_shell_quotes(self_) + " job spec.json >>job.log 2>&1\n";
  ContainerJob job{known.name, known.key, {}, {}, folder, self_};
  PAWL_ASSIGN(job.image, image_of_job(files_, folder, settings_.container_settings));
  const bool podman = settings_.container == SlurmContainer::kPodman;
  std::string line;
  for (const std::string& word : podman ? podman_command(settings_.container_settings, job) : pyxis_command(settings_.container_settings, job)) {
    line += (line.empty() ? "" : " ") + in_shell_quotes(word);
  }
  if (!podman) return line + " >>job.log 2>&1\n";
  // A node pulls each image once. A container is no child of the script: it is ended by name when the script is. What
  // ran is named by its digest, which only the node knows.
  const std::string image = in_shell_quotes(job.image), name = in_shell_quotes(job.name);
  return fmt::format(
      "podman image exists {0} || podman pull --quiet {0} >>job.log 2>&1 || {{ echo 'the image cannot be had' >{2}; exit 125; }}\n"
      "podman rm --force --time=0 {1} >/dev/null 2>&1\n"
      "trap 'podman rm --force --time=3 {3} >/dev/null 2>&1; exit 143' TERM INT\n"
      "PAWL_IMAGE_DIGEST=\"$(podman image inspect --format '{{{{.Digest}}}}' {0})\" {4} >>job.log 2>&1 &\nwait $!\n",
      image, name, kSlurmImageFile, job.name, line);
}

Result<std::int64_t> SlurmExecutor::run_sbatch(const Known& known, const fs::path& folder) {
  std::vector<std::string> argv{"sbatch",
                                "--parsable",
                                "--job-name=" + known.name,
                                "--comment=pawl:" + known.key,
                                "--chdir=" + folder.string(),
                                "--output=" + (folder / "slurm.out").string(),
                                "--open-mode=append",
                                "--requeue"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) argv.push_back(std::string(option) + value);
  };
  add("--partition=", settings_.partition);
  add("--account=", settings_.account);
  add("--qos=", settings_.qos);
  add("--gres=", settings_.gres);
  add("--exclude=", settings_.exclude);
  if (settings_.time_limit_minutes > 0) argv.push_back(fmt::format("--time={}", settings_.time_limit_minutes));
  argv.insert(argv.end(), settings_.options.begin(), settings_.options.end());
  argv.push_back((folder / kSlurmScriptFile).string());
  // A requeued job starts here again: what an earlier start wrote about its end is not this one's.
  PAWL_ASSIGN(const std::string command, job_command(known, folder));
  PAWL_TRY(
      files_.write_atomic(folder / kSlurmScriptFile,
                          fmt::format("#!/bin/sh\n# Job {} of pawl.\nrm -f {} {} {}\n{}code=$?\necho $code >{}.new && mv {}.new {}\nexit $code\n", known.key,
                                      kSlurmExitFile, kSlurmEndFile, kSlurmImageFile, command, kSlurmExitFile, kSlurmExitFile, kSlurmExitFile)));
  const auto output = commands_.run({.argv = std::move(argv), .env = {}, .folder = folder}, settings_.command_limit, {});
  if (!output && output.error().cls != ErrorClass::kUnknownOutcome) return output.error();
  if (output && output->end.ok()) {
    if (const auto id = submitted_job(output->out)) return *id;
  } else if (output && !answer_lost(output->err)) {
    PAWL_TRY(files_.remove_tree(folder / kSlurmFile));  // refused for certain: nothing is out there
    return bad_input(fmt::format("Slurm refuses job {}: {}", known.key, first_line(output->err)),
                     "see partition, account, qos, gres, time_limit_minutes and options in executor.yaml of the workspace");
  }
  PAWL_ASSIGN(const std::int64_t found, look_for(known));
  if (found != 0) return found;
  return peer_error(fmt::format("sbatch gave no job id for {}, and no job {} is in the queue: {}", known.key, known.name,
                                output ? first_line(output->err.empty() ? output->out : output->err) : output.error().message),
                    "the next attempt looks for it again before it submits");
}

Result<std::optional<JobHandle>> SlurmExecutor::find(const std::string& key, const fs::path& folder) {
  PAWL_ASSIGN(auto known, read(key, folder));
  if (!known) return std::optional<JobHandle>();
  if (known->id == 0) {
    PAWL_ASSIGN(known->id, look_for(*known));
    if (known->id == 0) return std::optional<JobHandle>();
    PAWL_TRY(write(*known, folder));
  }
  return std::optional<JobHandle>(known->handle(folder));
}

Result<JobHandle> SlurmExecutor::submit(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(auto found, find(key, folder));
  if (found) return std::move(*found);
  if (!files_.exists(folder / "spec.json")) return not_found(fmt::format("{} has no spec.json", folder.string()));
  Known known;
  known.key = key;
  known.name = plain_job_name(settings_.owner, key);
  known.submitted_after_s = seconds(clock_.wall());
  PAWL_TRY(write(known, folder));
  PAWL_ASSIGN(known.id, run_sbatch(known, folder));
  PAWL_TRY(write(known, folder));
  return known.handle(folder);
}

Result<std::optional<JobHandle>> SlurmExecutor::recover(const std::string& key, const fs::path& folder) {
  const std::lock_guard lock(submitting_);
  return find(key, fs::absolute(folder));
}

Status SlurmExecutor::scancel(std::int64_t id) {
  PAWL_ASSIGN(const io::CommandOutput output, commands_.run({.argv = {"scancel", std::to_string(id)}, .env = {}, .folder = {}}, settings_.command_limit, {}));
  if (output.end.ok() || output.err.find("Invalid job id") != std::string::npos || output.err.find("already completed") != std::string::npos) return {};
  return peer_error(fmt::format("scancel {}: {}", id, first_line(output.err)));
}

Result<SlurmVerdict> SlurmExecutor::look(const Known& known, const fs::path& folder, bool fresh) {
  const fs::path end_file = folder / kSlurmEndFile;
  const auto end = [&](const SlurmVerdict& verdict, const SlurmRecord* record) -> Result<SlurmVerdict> {
    // The first verdict stays: a cancel of ours that it led to would hide it.
    if (!files_.exists(end_file)) {
      Json json{{"schema", "pawl.slurm-end/1"}, {"outcome", codec::enum_text(verdict.outcome)},
                {"retry", verdict.retry},       {"other_node", verdict.other_node},
                {"why", verdict.why},           {"record", record != nullptr ? codec::to_json(*record) : Json()}};
      PAWL_TRY(files_.write_atomic(end_file, codec::write_json_pretty(json)));
    }
    return verdict;
  };

  PAWL_ASSIGN(const std::vector<SlurmRecord> records, queue(fresh));
  const SlurmContext context{.cancel_recorded = known.cancelled};
  // After its end was seen no job of the name has a right to live: a restarted controller can bring one back.
  const bool has_ended = files_.exists(end_file);
  const SlurmRecord* ours = nullptr;
  for (const SlurmRecord& record : records) {
    if (!has_ended && is_ours(record, known.identity())) ours = &record;
  }
  SlurmIdentity namesake = known.identity();
  namesake.id = 0;
  for (const SlurmRecord& record : records) {
    if (&record == ours || !is_ours(record, namesake) || judge(&record, context).terminal || record.has_flag("COMPLETING")) continue;
    PAWL_TRY(scancel(record.id));
    const std::lock_guard lock(queue_mutex_);
    ++duplicates_;
  }

  if (has_ended) return SlurmVerdict{.outcome = SlurmOutcome::kEnding, .terminal = true, .why = "its end was seen"};

  SlurmVerdict verdict = judge(ours, context);
  if (verdict.hopeless) {
    PAWL_TRY(scancel(known.id));
    return end(verdict, ours);
  }
  if (verdict.terminal) return end(verdict, ours);
  if (ours != nullptr) return verdict;

  // The queue has forgotten it, or does not know it yet.
  if (files_.exists(folder / kSlurmExitFile)) {
    PAWL_ASSIGN(const std::string text, files_.read(folder / kSlurmExitFile, 64));
    const auto code = parse_int(trim(text));
    return end({.outcome = code == 0 ? SlurmOutcome::kOk : SlurmOutcome::kLogDecides, .terminal = true, .why = fmt::format("exit status {}", trim(text))},
               nullptr);
  }
  PAWL_ASSIGN(const std::vector<SlurmRecord> ended, accounting(known.id));
  for (const SlurmRecord& record : ended) {
    if (!is_ours(record, known.identity())) continue;
    verdict = judge(&record, context);
    if (verdict.terminal) return end(verdict, &record);
  }
  if (!known.cancelled) {
    if (seconds(clock_.wall()) < known.submitted_after_s + seconds(WallTime{settings_.record_lag})) return verdict;
    if (!fresh) return look(known, folder, true);
  }
  return end({.outcome = known.cancelled ? SlurmOutcome::kCancelledByUs : SlurmOutcome::kInfraCluster,
              .terminal = true,
              .retry = !known.cancelled,
              .why = fmt::format("neither queue nor accounting knows job {} ({}): its submission was lost", known.id, known.name)},
             nullptr);
}

Result<JobState> SlurmExecutor::wait(const JobHandle& handle, Nanos limit, std::stop_token stop) {
  const fs::path folder = handle.folder;
  const MonoTime deadline = clock_.now() + limit;
  for (;;) {
    PAWL_ASSIGN(const auto known, read(handle.key, folder));
    if (!known) return JobState::kEnded;  // forgotten: it was seen to have ended
    const auto verdict = look(*known, folder, false);
    JobState state = JobState::kUnknown;
    if (verdict) {
      if (verdict->terminal || verdict->hopeless) return JobState::kEnded;
      switch (verdict->outcome) {
        case SlurmOutcome::kWaiting:
        case SlurmOutcome::kHeld:
          state = JobState::kQueued;
          break;
        case SlurmOutcome::kRunning:
        case SlurmOutcome::kEnding:
          state = JobState::kRunning;
          break;
        default:
          break;
      }
    } else if (verdict.error().cls != ErrorClass::kTransient && verdict.error().cls != ErrorClass::kUnknownOutcome) {
      return verdict.error();
    }
    if (stop.stop_requested()) return cancelled();
    const MonoTime now = clock_.now();
    if (now >= deadline) return state;
    (void)clock_.sleep_until(std::min(deadline, now + settings_.poll), stop);
    if (stop.stop_requested()) return cancelled();
  }
}

Status SlurmExecutor::cancel(const JobHandle& handle) {
  const fs::path folder = handle.folder;
  const MonoTime deadline = clock_.now() + kCancelLimit;
  PAWL_ASSIGN(auto known, read(handle.key, folder));
  if (!known || files_.exists(folder / kSlurmEndFile)) return {};
  if (!known->cancelled) {
    known->cancelled = true;
    PAWL_TRY(write(*known, folder));
  }
  Nanos pause = Millis{100};
  std::optional<Error> last;
  while (clock_.now() < deadline) {
    // Also for one that is seen again after it was gone: a restarted controller can bring it back.
    auto asked = scancel(known->id);
    auto verdict = asked ? look(*known, folder, true) : Result<SlurmVerdict>(std::move(asked).error());
    if (verdict && (verdict->terminal || verdict->hopeless)) return {};
    if (!verdict) last = std::move(verdict).error();
    (void)clock_.sleep_for(pause, {});
    pause = std::min(pause * 2, settings_.poll);
  }
  if (last) return std::move(*last);
  return peer_error(fmt::format("Slurm job {} has not ended {:.0f} s after scancel", known->id, seconds_of(kCancelLimit)), "see scontrol show job");
}

Status SlurmExecutor::forget(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(const auto known, read(key, folder));
  if (!known) return {};
  if (known->id != 0 && !files_.exists(folder / kSlurmEndFile)) {
    PAWL_ASSIGN(const SlurmVerdict verdict, look(*known, folder, true));
    if (!verdict.terminal) return conflict(fmt::format("job {} is still in the queue of Slurm ({}: {})", key, known->id, verdict.why));
  }
  for (const std::string_view file : {kSlurmExitFile, kSlurmEndFile, kSlurmFile}) PAWL_TRY(files_.remove_tree(folder / file));
  return {};
}

Result<std::optional<model::JobFailure>> SlurmExecutor::failure(const JobHandle& handle) {
  const fs::path file = fs::path(handle.folder) / kSlurmEndFile;
  if (!files_.exists(file)) return std::optional<model::JobFailure>();
  if (files_.exists(fs::path(handle.folder) / kSlurmImageFile)) {
    PAWL_ASSIGN(const std::string image, image_of_job(files_, handle.folder, settings_.container_settings));
    return std::optional<model::JobFailure>({model::FailureClass::kImage, fmt::format("the image {} cannot be had on the node", image), {}});
  }
  PAWL_ASSIGN(const std::string text, files_.read(file, 1u << 20));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, file.string()));
  const auto outcome = codec::enum_value<SlurmOutcome>(json.value("outcome", ""));
  if (!outcome) return std::optional<model::JobFailure>();
  using enum SlurmOutcome;
  using model::FailureClass;
  std::optional<FailureClass> cls;
  switch (*outcome) {
    case kConfig:
      cls = FailureClass::kConfig;
      break;
    case kInfraNode:
    case kInfraCluster:
    case kPreempted:
      cls = FailureClass::kInfrastructure;
      break;
    case kTimeout:
      cls = FailureClass::kTimeout;
      break;
    case kCancelledByUs:
    case kCancelledByOthers:
      cls = FailureClass::kCancelled;
      break;
    default:
      break;
  }
  if (!cls) return std::optional<model::JobFailure>();
  return std::optional<model::JobFailure>({*cls, "Slurm: " + json.value("why", ""), {}});
}

}  // namespace pawl::exec
