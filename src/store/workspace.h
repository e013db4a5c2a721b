#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/files.h"

namespace pawl::store {

/// Held while a command changes a workspace: an exclusive advisory lock on its file `lock`, whose content is our PID.
/// The kernel gives the lock back when the holder ends, however it ends; the file stays. Move-only.
class WorkspaceLock {
 public:
  WorkspaceLock(WorkspaceLock&& other) noexcept;
  WorkspaceLock& operator=(WorkspaceLock&& other) noexcept;
  ~WorkspaceLock();

 private:
  friend class Workspace;
  explicit WorkspaceLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

/// One folder with everything that pawl keeps: `pawl.yaml` marks it. Only names places; opens nothing else. Copyable,
/// thread-safe. Paths below are as absolute or relative as the folder that was given.
class Workspace {
 public:
  /// The workspace in `folder`, made when there is none. `created` (ISO 8601, UTC) is written into a new one; may be
  /// empty. May be repeated.
  static Result<Workspace> create_or_open(const io::Files& files, const std::filesystem::path& folder, std::string_view created = {});
  /// kNotFound (exit 3) when `folder` has no pawl.yaml; kInvalid (exit 3) when it cannot be read or is of a newer pawl.
  static Result<Workspace> open(const io::Files& files, const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path marker() const { return folder_ / "pawl.yaml"; }
  [[nodiscard]] std::filesystem::path database() const { return folder_ / "pawl.db"; }
  [[nodiscard]] std::filesystem::path repository() const { return folder_ / "repo"; }
  [[nodiscard]] std::filesystem::path forge() const { return folder_ / "forge.git"; }
  [[nodiscard]] std::filesystem::path lock_file() const { return folder_ / "lock"; }
  [[nodiscard]] std::filesystem::path run_folder(std::int64_t run, std::int64_t attempt) const;
  /// `job` is the name of the job inside its run, one path element.
  [[nodiscard]] std::filesystem::path job_folder(std::int64_t run, std::int64_t attempt, std::string_view job) const;

  /// Takes the workspace for a command that changes it; commands that only read, and those by which a person speaks to a
  /// running pawl (closing a change request), do without. kConflict (exit 4) with the holder's PID when it is taken,
  /// also by this process.
  [[nodiscard]] Result<WorkspaceLock> lock() const;

 private:
  explicit Workspace(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

}  // namespace pawl::store
