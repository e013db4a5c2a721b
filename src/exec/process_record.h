#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/files.h"
#include "io/processes.h"

/// How a process that runs a job is written down, so that a later pawl recognises it. Two files of a job's folder hold
/// one: process.json (written by the executor after the launch) and job.lock (written by `pawl job` while it holds the
/// lock on that file, so it is the one that really runs).
namespace pawl::exec {

inline constexpr std::string_view kProcessFile = "process.json";
inline constexpr std::string_view kLockFile = "job.lock";

struct ProcessRecord {
  std::string key;  ///< of the job; empty in job.lock
  io::ProcessId process;
};

/// JSON, `pawl.job-process/1`.
[[nodiscard]] std::string write_record(const ProcessRecord& record);
[[nodiscard]] Result<ProcessRecord> parse_record(std::string_view text, const std::string& name);
/// Nothing when the file is not there.
[[nodiscard]] Result<std::optional<ProcessRecord>> read_record(const io::Files& files, const std::filesystem::path& path);

/// The process that calls it.
[[nodiscard]] Result<io::ProcessId> own_process(const io::Files& files);

}  // namespace pawl::exec
