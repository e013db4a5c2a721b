#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

struct git_repository;

namespace pawl::app {

/// A git repository, read only, for commands that take refs. One thread at a time.
class GitTree {
 public:
  /// Finds the repository that `folder` belongs to.
  static Result<GitTree> open(const std::filesystem::path& folder);

  /// The commit that a ref, an id or an expression like `HEAD~1` names.
  [[nodiscard]] Result<std::string> commit(const std::string& ref) const;
  /// The commit where the histories of two commits part; kNotFound when they share none.
  [[nodiscard]] Result<std::string> merge_base(const std::string& a, const std::string& b) const;
  /// The bytes of a file at a commit; nothing when it is not there.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& commit, const std::string& path) const;
  /// The file of the index at a stage of a conflict: 1 merge base, 2 ours, 3 theirs.
  [[nodiscard]] Result<std::string> stage(const std::string& path, int stage) const;
  /// For each line of the file at a commit the day (YYYY-MM-DD) of the commit that brought it.
  [[nodiscard]] Result<std::vector<std::string>> line_dates(const std::string& commit, const std::string& path) const;
  /// Every commit that a branch or tag reaches, in the order of the history: a commit stands after all its ancestors. Ids of 40
  /// hexadecimal digits. Error: more than `commits_max`.
  [[nodiscard]] Result<std::vector<std::string>> history(std::size_t commits_max) const;
  /// Its working folder; empty for a bare one.
  [[nodiscard]] std::filesystem::path folder() const;

 private:
  explicit GitTree(git_repository* repository);
  std::shared_ptr<git_repository> repository_;
};

}  // namespace pawl::app
