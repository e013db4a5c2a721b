#pragma once

#include <boost/describe.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace pawl::io {

enum class ChangeRequestState { kDraft, kReady, kMerged, kClosed };
BOOST_DESCRIBE_ENUM(ChangeRequestState, kDraft, kReady, kMerged, kClosed)

struct Comment {
  std::int64_t id = 0;
  std::string key;  ///< hidden key by which its author finds it again; empty for foreign comments
  std::string author;
  std::string body;             ///< Markdown
  std::string created, edited;  ///< ISO 8601, UTC
};
BOOST_DESCRIBE_STRUCT(Comment, (), (id, key, author, body, created, edited))

struct ChangeRequest {
  std::int64_t number = 0;
  std::string title, body, author, branch, base, head;  ///< head: commit of the branch, 40 hex digits
  ChangeRequestState state = ChangeRequestState::kDraft;
  std::vector<std::string> labels;
  std::string created, closed_by;
  std::string url;
};
BOOST_DESCRIBE_STRUCT(ChangeRequest, (), (number, title, body, author, branch, base, head, state, labels, created, closed_by, url))

/// One commit: whole new contents of the files that change.
struct CommitRequest {
  std::string branch;
  std::string parent;                        ///< commit that the branch must be at, or start from when it does not exist
  std::map<std::string, std::string> files;  ///< path in the repository → bytes
  std::string message;
  std::string author;  ///< "name <address>"
  std::string time;    ///< ISO 8601, UTC: chosen by the caller, so that a repeated commit is the same commit
  /// Second parent. When given, all files are those of this commit but for `files`: how a branch takes main's bytes.
  std::string onto;
};
BOOST_DESCRIBE_STRUCT(CommitRequest, (), (branch, parent, files, message, author, time, onto))

/// The place where change requests live. Every mutation may be repeated with the same arguments and then does nothing
/// more (upgrade-loop 25, table of effects). Errors: kConflict when somebody else moved what we meant to change.
class Forge {
 public:
  virtual ~Forge() = default;
  /// Commit of a branch; nothing when there is none.
  virtual Result<std::optional<std::string>> head(const std::string& branch) = 0;
  /// Bytes of a file at a commit; kNotFound when it is not there.
  virtual Result<std::string> read(const std::string& commit, const std::string& path) = 0;
  /// Returns the new commit. Done already (the branch is at a commit with this parent, these files, this message):
  /// returns that one. Creates the branch when it does not exist.
  virtual Result<std::string> commit(const CommitRequest& request) = 0;
  /// Deletes the branch only while it is at `expected_head`; true when it is gone afterwards.
  virtual Result<bool> delete_branch(const std::string& branch, const std::string& expected_head) = 0;

  /// Idempotent by branch: a second open with the same branch returns the request that exists.
  virtual Result<ChangeRequestId> open(const std::string& branch, const std::string& title, const std::string& body, const std::string& author) = 0;
  virtual Result<ChangeRequest> get(ChangeRequestId id) = 0;
  virtual Result<std::vector<ChangeRequest>> list() = 0;
  virtual Status edit(ChangeRequestId id, const std::string& title, const std::string& body) = 0;
  /// Creates or edits in place the one comment with this key.
  virtual Status comment(ChangeRequestId id, const std::string& key, const std::string& author, const std::string& body) = 0;
  virtual Result<std::vector<Comment>> comments(ChangeRequestId id) = 0;
  virtual Status set_label(ChangeRequestId id, const std::string& label, bool present) = 0;
  virtual Status set_ready(ChangeRequestId id, bool ready) = 0;
  virtual Status close(ChangeRequestId id, const std::string& by) = 0;
};

}  // namespace pawl::io
