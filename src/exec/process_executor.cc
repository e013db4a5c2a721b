#include "exec/process_executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "exec/process_record.h"

namespace pawl::exec {
namespace {

namespace fs = std::filesystem;

constexpr Seconds kGrace{3};

JobHandle handle_of(const ProcessRecord& record, const fs::path& folder) { return {record.key, folder.string(), write_record(record)}; }

}  // namespace

std::optional<io::ProcessId> ProcessExecutor::lock_holder(const fs::path& folder) const {
  // An empty or half-written lock file names nobody: its owner writes it as the first thing after taking the lock.
  const auto record = read_record(files_, folder / kLockFile);
  if (!record || !*record || !processes_.alive((*record)->process)) return std::nullopt;
  return (*record)->process;
}

Result<std::optional<JobHandle>> ProcessExecutor::find(const std::string& key, const fs::path& folder) const {
  PAWL_ASSIGN(const auto record, read_record(files_, folder / kProcessFile));
  if (record) {
    if (record->key != key) return conflict(fmt::format("the folder {} belongs to job {}, not to {}", folder.string(), record->key, key));
    return std::optional<JobHandle>(handle_of(*record, folder));
  }
  if (const auto holder = lock_holder(folder)) {
    const ProcessRecord adopted{key, *holder};
    PAWL_TRY(files_.write_atomic(folder / kProcessFile, write_record(adopted)));
    return std::optional<JobHandle>(handle_of(adopted, folder));
  }
  return std::optional<JobHandle>();
}

Result<JobHandle> ProcessExecutor::submit(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(auto known, find(key, folder));
  if (known) return std::move(*known);
  if (!files_.exists(folder / "spec.json")) return not_found(fmt::format("{} has no spec.json", folder.string()));
  io::ProcessSpec spec;
  spec.argv = {self_, "job", "spec.json"};
  spec.folder = folder;
  spec.output_file = folder / "job.log";
  PAWL_ASSIGN(io::ProcessId process, processes_.launch(spec));
  const ProcessRecord record{key, std::move(process)};
  if (auto written = files_.write_atomic(folder / kProcessFile, write_record(record)); !written) {
    // Unrecorded it could be started twice: better none than two.
    (void)processes_.end_group(record.process, kGrace);
    return std::move(written).error().within(fmt::format("job {}", key));
  }
  return handle_of(record, folder);
}

Result<std::optional<JobHandle>> ProcessExecutor::recover(const std::string& key, const fs::path& folder) {
  const std::lock_guard lock(submitting_);
  return find(key, fs::absolute(folder));
}

Status ProcessExecutor::forget(const std::string& key, const fs::path& folder_given) {
  const fs::path folder = fs::absolute(folder_given);
  const std::lock_guard lock(submitting_);
  PAWL_ASSIGN(const auto known, find(key, folder));
  if (!known) return {};
  PAWL_ASSIGN(const ProcessRecord record, parse_record(known->native, "handle of job " + key));
  if (processes_.alive(record.process) || lock_holder(folder)) return conflict(fmt::format("job {} is still running", key));
  return files_.remove_tree(folder / kProcessFile);
}

Result<JobState> ProcessExecutor::wait(const JobHandle& handle, Nanos limit, std::stop_token stop) {
  PAWL_ASSIGN(const ProcessRecord record, parse_record(handle.native, "handle of job " + handle.key));
  const MonoTime deadline = clock_.now() + limit;
  io::ProcessId process = record.process;
  for (;;) {
    PAWL_ASSIGN(const auto end, processes_.wait(process, std::max(Nanos{0}, deadline - clock_.now()), stop));
    if (!end) {
      if (stop.stop_requested()) return cancelled();
      return JobState::kRunning;
    }
    // The process of the handle may have been the second one, which leaves the job to the holder of the lock.
    const auto holder = lock_holder(handle.folder);
    if (!holder || *holder == process) return JobState::kEnded;
    process = *holder;
  }
}

Status ProcessExecutor::cancel(const JobHandle& handle) {
  PAWL_ASSIGN(const ProcessRecord record, parse_record(handle.native, "handle of job " + handle.key));
  const auto holder = lock_holder(handle.folder);
  PAWL_TRY(processes_.end_group(record.process, kGrace));
  if (holder && *holder != record.process) PAWL_TRY(processes_.end_group(*holder, kGrace));
  return {};
}

}  // namespace pawl::exec
