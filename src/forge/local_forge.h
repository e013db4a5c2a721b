#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/clock.h"
#include "io/domain/forge.h"
#include "store/database.h"

struct git_repository;

namespace pawl::forge {

/// Tables forge_change_request, forge_comment, forge_label.
[[nodiscard]] store::Schema forge_schema();

/// The branch that change requests go to.
inline constexpr const char* kBaseBranch = "main";

/// A forge on this machine: branches in a bare git repository, change requests and their threads in the workspace's
/// database. Numbers count from 1; the address of one is "pawl:cr/N".
///
/// Of a branch only one request is open at a time. `open` finds it; it also finds a closed one while the branch is
/// still at the commit that it closed with, so that repeating an `open` never undoes a person's close. New commits on
/// that branch may go into a new request.
///
/// A closed or merged request keeps its last head, also when the branch is deleted or used again; it takes comments,
/// labels and edits, but never becomes ready or draft again (kConflict). `closed_by` is what the first `close` said:
/// "person" for a person, "pawl" for us.
///
/// Lives no longer than the database and the clock that it was opened with; belongs to one thread at a time, as the
/// database does. Several processes may use one workspace: every change is one transaction or one atomic move of a
/// branch.
class LocalForge final : public io::Forge {
 public:
  /// Opens the bare repository, or makes an empty one. The database must have `forge_schema()`.
  static Result<LocalForge> open(const std::filesystem::path& repository, store::Database& database, const io::Clock& clock);

  /// Makes the base branch hold exactly these files (path → bytes) and returns its commit: the one that is there when
  /// its files are the same, else a new one on top. `author`: "name <address>"; `time`: ISO 8601, UTC.
  Result<std::string> import_catalogue(const std::map<std::string, std::string>& files, const std::string& message, const std::string& author,
                                       const std::string& time);

  /// What the request changes, as `git diff` prints it: its head against the commit where it left the base branch.
  Result<std::string> diff(ChangeRequestId id);

  /// A comment that is not ours: no key, always a new one. Returns its id.
  Result<std::int64_t> add_foreign_comment(ChangeRequestId id, const std::string& author, const std::string& body);

  Result<std::optional<std::string>> head(const std::string& branch) override;
  Result<std::string> read(const std::string& commit, const std::string& path) override;
  Result<std::string> commit(const io::CommitRequest& request) override;
  Result<bool> delete_branch(const std::string& branch, const std::string& expected_head) override;
  Result<ChangeRequestId> open(const std::string& branch, const std::string& title, const std::string& body, const std::string& author) override;
  Result<io::ChangeRequest> get(ChangeRequestId id) override;
  /// By number.
  Result<std::vector<io::ChangeRequest>> list() override;
  Status edit(ChangeRequestId id, const std::string& title, const std::string& body) override;
  /// `key` must not be empty. The author of the first call stays.
  Status comment(ChangeRequestId id, const std::string& key, const std::string& author, const std::string& body) override;
  /// In the order in which they were made.
  Result<std::vector<io::Comment>> comments(ChangeRequestId id) override;
  Status set_label(ChangeRequestId id, const std::string& label, bool present) override;
  Status set_ready(ChangeRequestId id, bool ready) override;
  Status close(ChangeRequestId id, const std::string& by) override;

 private:
  LocalForge(std::shared_ptr<git_repository> repository, store::Database& database, const io::Clock& clock)
      : repository_(std::move(repository)), database_(&database), clock_(&clock) {}

  Result<std::vector<io::ChangeRequest>> select(const std::string& condition, const std::vector<store::Value>& values);
  Result<std::string> commit_tree(const struct CommitParts& parts);
  [[nodiscard]] std::string now() const;

  std::shared_ptr<git_repository> repository_;
  store::Database* database_;
  const io::Clock* clock_;
};

}  // namespace pawl::forge
