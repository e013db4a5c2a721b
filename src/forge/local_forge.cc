#include "forge/local_forge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "codec/describe.h"
#include "forge/git_handle.h"

namespace pawl::forge {

using io::ChangeRequest;
using io::ChangeRequestState;

/// A commit about to be made.
struct CommitParts {
  const std::string& branch;
  const std::optional<std::string>& parent;  ///< the branch is moved from here; nothing: it must not exist
  bool create = false;                       ///< the branch does not exist and starts at this commit
  const git_oid& tree;
  const std::string& message;
  const std::string& author;
  const std::string& time;
  std::optional<git_oid> second = {};  ///< another parent
};

namespace {

std::string hex(const git_oid& id) {
  std::array<char, GIT_OID_HEXSZ + 1> text{};
  git_oid_tostr(text.data(), text.size(), &id);
  return text.data();
}

Result<git_oid> id_of(const std::string& text) {
  git_oid id;
  const bool digits = text.size() == GIT_OID_HEXSZ && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digits || git_oid_fromstr(&id, text.c_str()) != 0) return bad_input(fmt::format("{}: not a commit id of 40 hexadecimal digits", text));
  return id;
}

Result<std::string> reference_of(const std::string& branch) {
  int valid = 0;
  // libgit2 reads up to the first zero byte, and would judge another name than the one that is stored.
  if (branch.find('\0') != std::string::npos || git_branch_name_is_valid(&valid, branch.c_str()) < 0 || valid == 0) {
    return bad_input(fmt::format("{}: not the name of a branch", branch));
  }
  return "refs/heads/" + branch;
}

Status check_path(const std::string& path) {
  const auto wrong = [&](const char* why) { return bad_input(fmt::format("{}: {}", path, why), "give a path inside the repository, with slashes"); };
  if (path.empty() || path.front() == '/') return wrong("not a relative path");
  if (path.find('\0') != std::string::npos || path.find('\\') != std::string::npos || !is_utf8(path)) return wrong("holds characters that no path may hold");
  for (const std::string_view part : split(path, '/')) {
    std::string lower(part);
    std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (part.empty() || part == "." || part == "..") return wrong("leaves the repository or names nothing");
    if (lower == ".git") return wrong("touches git's own folder");
  }
  return {};
}

/// Seconds since 1970 of "2026-11-30T16:03:27Z".
Result<git_time_t> seconds_of_iso(const std::string& text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  bool shaped = text.size() == kShape.size();
  for (std::size_t i = 0; shaped && i < text.size(); ++i) shaped = kShape[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == kShape[i];
  if (!shaped) return bad_input(fmt::format("{}: not a time like 2026-11-30T16:03:27Z", text));
  const auto number = [&](std::size_t at, std::size_t digits) { return static_cast<int>(*parse_int(std::string_view(text).substr(at, digits))); };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2), hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) {
    return bad_input(fmt::format("{}: not a time like 2026-11-30T16:03:27Z", text));
  }
  return static_cast<git_time_t>(std::chrono::sys_days(date).time_since_epoch().count()) * 86'400 + hour * 3600 + minute * 60 + second;
}

Result<GitSignature> signature_of(const std::string& author, const std::string& time) {
  const auto left = author.rfind(" <");
  if (left == std::string::npos || left == 0 || author.size() < left + 4 || author.back() != '>') {
    return bad_input(fmt::format("{}: not an author like \"name <address>\"", author));
  }
  PAWL_ASSIGN(const git_time_t seconds, seconds_of_iso(time));
  GitSignature signature;
  const std::string name = author.substr(0, left), address = author.substr(left + 2, author.size() - left - 3);
  if (const int rc = git_signature_new(signature.out(), name.c_str(), address.c_str(), seconds, 0); rc < 0) return git_trouble(rc, "the author " + author);
  return signature;
}

Result<std::optional<git_oid>> look_up(git_repository* repository, const std::string& reference) {
  git_oid id;
  const int rc = git_reference_name_to_id(&id, repository, reference.c_str());
  if (rc == GIT_ENOTFOUND) return std::optional<git_oid>();
  if (rc < 0) return git_trouble(rc, "reading " + reference);
  return std::optional<git_oid>(id);
}

Result<GitCommit> commit_of(git_repository* repository, const std::string& id) {
  PAWL_ASSIGN(const git_oid oid, id_of(id));
  GitCommit commit;
  if (const int rc = git_commit_lookup(commit.out(), repository, &oid); rc < 0) return git_trouble(rc, "reading commit " + id);
  return commit;
}

Result<GitTree> tree_of(const GitCommit& commit) {
  GitTree tree;
  if (const int rc = git_commit_tree(tree.out(), commit.get()); rc < 0) return git_trouble(rc, "reading the files of a commit");
  return tree;
}

/// The mode under which `path` may be written: that of the file which is there, or of a plain file. A folder, a link
/// and a path through a file are refused, because writing there would silently remove something.
Result<std::uint32_t> mode_for(const GitTree* base, const std::string& path) {
  if (base == nullptr) return GIT_FILEMODE_BLOB;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    GitTreeEntry entry;
    if (git_tree_entry_bypath(entry.out(), base->get(), path.substr(0, slash).c_str()) != 0) break;
    if (git_tree_entry_type(entry.get()) != GIT_OBJECT_TREE) return bad_input(fmt::format("{}: {} is a file", path, path.substr(0, slash)));
  }
  GitTreeEntry entry;
  if (git_tree_entry_bypath(entry.out(), base->get(), path.c_str()) != 0) return GIT_FILEMODE_BLOB;
  const git_filemode_t mode = git_tree_entry_filemode(entry.get());
  if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE) return bad_input(fmt::format("{}: is a folder or a link, not a file", path));
  return mode;
}

/// The tree `base` with `files` in it.
Result<git_oid> write_tree(git_repository* repository, const GitTree* base, const std::map<std::string, std::string>& files) {
  GitIndex index;
  int rc = git_index_new(index.out());
  if (rc == 0 && base != nullptr) rc = git_index_read_tree(index.get(), base->get());
  if (rc < 0) return git_trouble(rc, "reading the files of the parent");
  for (const auto& [path, bytes] : files) {
    PAWL_TRY(check_path(path));
    // Two new files of one request may stand in each other's way as well.
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (files.contains(path.substr(0, slash))) return bad_input(fmt::format("{}: {} is a file", path, path.substr(0, slash)));
    }
    git_index_entry entry{};
    PAWL_ASSIGN(entry.mode, mode_for(base, path));
    entry.path = path.c_str();
    rc = git_blob_create_from_buffer(&entry.id, repository, bytes.data(), bytes.size());
    if (rc == 0) rc = git_index_add(index.get(), &entry);
    if (rc < 0) return git_trouble(rc, "writing " + path);
  }
  git_oid tree;
  if (rc = git_index_write_tree_to(&tree, index.get(), repository); rc < 0) return git_trouble(rc, "writing the files of the commit");
  return tree;
}

bool is_open(ChangeRequestState state) { return state == ChangeRequestState::kDraft || state == ChangeRequestState::kReady; }

}  // namespace

store::Schema forge_schema() {
  return {"forge", {R"sql(
CREATE TABLE forge_change_request (
  number INTEGER PRIMARY KEY,
  title TEXT NOT NULL, body TEXT NOT NULL, author TEXT NOT NULL,
  branch TEXT NOT NULL, base TEXT NOT NULL, head TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('draft', 'ready', 'merged', 'closed')),
  created TEXT NOT NULL, closed_by TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX forge_one_open_request_a_branch ON forge_change_request (branch) WHERE state IN ('draft', 'ready');
CREATE TABLE forge_comment (
  id INTEGER PRIMARY KEY,
  number INTEGER NOT NULL REFERENCES forge_change_request (number),
  key TEXT NOT NULL, author TEXT NOT NULL, body TEXT NOT NULL,
  created TEXT NOT NULL, edited TEXT NOT NULL DEFAULT '') STRICT;
CREATE UNIQUE INDEX forge_one_comment_a_key ON forge_comment (number, key) WHERE key <> '';
CREATE TABLE forge_label (
  number INTEGER NOT NULL REFERENCES forge_change_request (number),
  label TEXT NOT NULL, PRIMARY KEY (number, label)) STRICT, WITHOUT ROWID;
)sql"}};
}

Result<LocalForge> LocalForge::open(const std::filesystem::path& repository, store::Database& database, const io::Clock& clock) {
  use_git();
  git_repository* raw = nullptr;
  int rc = git_repository_open_bare(&raw, repository.c_str());
  if (rc == GIT_ENOTFOUND) {
    git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
    options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
    options.initial_head = kBaseBranch;
    rc = git_repository_init_ext(&raw, repository.c_str(), &options);
  }
  if (rc < 0) return git_trouble(rc, "opening " + repository.string());
  return LocalForge(std::shared_ptr<git_repository>(raw, git_repository_free), database, clock);
}

std::string LocalForge::now() const { return iso_utc(clock_->wall()); }

Result<std::optional<std::string>> LocalForge::head(const std::string& branch) {
  PAWL_ASSIGN(const std::string reference, reference_of(branch));
  PAWL_ASSIGN(const std::optional<git_oid> id, look_up(repository_.get(), reference));
  if (!id) return std::optional<std::string>();
  return std::optional<std::string>(hex(*id));
}

Result<std::string> LocalForge::read(const std::string& commit, const std::string& path) {
  PAWL_TRY(check_path(path));
  PAWL_ASSIGN(const GitCommit at, commit_of(repository_.get(), commit));
  PAWL_ASSIGN(const GitTree tree, tree_of(at));
  GitTreeEntry entry;
  int rc = git_tree_entry_bypath(entry.out(), tree.get(), path.c_str());
  if (rc == GIT_ENOTFOUND) return not_found(fmt::format("{} does not exist at commit {}", path, commit.substr(0, 12)));
  if (rc < 0) return git_trouble(rc, "reading " + path);
  if (git_tree_entry_type(entry.get()) != GIT_OBJECT_BLOB) return not_found(fmt::format("{} is no file at commit {}", path, commit.substr(0, 12)));
  GitBlob blob;
  rc = git_blob_lookup(blob.out(), repository_.get(), git_tree_entry_id(entry.get()));
  if (rc < 0) return git_trouble(rc, "reading " + path);
  return std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())), static_cast<std::size_t>(git_blob_rawsize(blob.get())));
}

Result<std::string> LocalForge::commit_tree(const CommitParts& parts) {
  PAWL_ASSIGN(const std::string reference, reference_of(parts.branch));
  PAWL_ASSIGN(const GitSignature signature, signature_of(parts.author, parts.time));
  GitTree tree;
  int rc = git_tree_lookup(tree.out(), repository_.get(), &parts.tree);
  if (rc < 0) return git_trouble(rc, "reading the new files");
  std::optional<GitCommit> parent;
  if (parts.parent) {
    PAWL_ASSIGN(parent, commit_of(repository_.get(), *parts.parent));
  }
  std::optional<GitCommit> second;
  if (parts.second) {
    PAWL_ASSIGN(second, commit_of(repository_.get(), hex(*parts.second)));
  }
  const git_commit* parents[] = {parent ? parent->get() : nullptr, second ? second->get() : nullptr};
  git_oid made;
  rc = git_commit_create(&made, repository_.get(), nullptr, signature.get(), signature.get(), "UTF-8", parts.message.c_str(), tree.get(),
                         (parent ? 1u : 0u) + (second ? 1u : 0u), parents);
  if (rc < 0) return git_trouble(rc, "making the commit");
  GitReference moved;
  rc = parts.create ? git_reference_create(moved.out(), repository_.get(), reference.c_str(), &made, 0, "pawl: commit")
                    : git_reference_create_matching(moved.out(), repository_.get(), reference.c_str(), &made, 1, git_commit_id(parent->get()), "pawl: commit");
  if (rc < 0) return git_trouble(rc, "moving branch " + parts.branch);
  return hex(made);
}

Result<std::string> LocalForge::commit(const io::CommitRequest& request) {
  PAWL_ASSIGN(const std::string reference, reference_of(request.branch));
  PAWL_ASSIGN(const GitCommit parent, commit_of(repository_.get(), request.parent));
  std::optional<git_oid> second;
  if (!request.onto.empty()) {
    PAWL_ASSIGN(second, id_of(request.onto));
  }
  PAWL_ASSIGN(const GitCommit start, commit_of(repository_.get(), second ? request.onto : request.parent));
  PAWL_ASSIGN(const GitTree base, tree_of(start));
  PAWL_ASSIGN(const git_oid tree, write_tree(repository_.get(), &base, request.files));
  PAWL_ASSIGN(const std::optional<git_oid> at, look_up(repository_.get(), reference));
  const auto remember = [&](const std::string& commit) {
    return database_->execute("UPDATE forge_change_request SET head = ?2 WHERE branch = ?1 AND state IN ('draft', 'ready') AND head <> ?2",
                              {request.branch, commit});
  };
  if (at && hex(*at) != request.parent) {
    PAWL_ASSIGN(const GitCommit there, commit_of(repository_.get(), hex(*at)));
    const bool same = git_commit_parentcount(there.get()) == (second ? 2u : 1u) && hex(*git_commit_parent_id(there.get(), 0)) == request.parent &&
                      (!second || git_oid_equal(git_commit_parent_id(there.get(), 1), &*second) != 0) &&
                      git_oid_equal(git_commit_tree_id(there.get()), &tree) != 0 && request.message == git_commit_message_raw(there.get());
    if (!same) {
      return Error{ErrorClass::kConflict, ExitStatus::kPeer,
                   fmt::format("branch {} is at {}, not at {}: somebody else moved it", request.branch, hex(*at).substr(0, 12), request.parent.substr(0, 12)),
                   "look at what was pushed there; pawl does not overwrite it"};
    }
    PAWL_TRY(remember(hex(*at)));
    return hex(*at);
  }
  const std::optional<std::string> from = request.parent;
  PAWL_ASSIGN(const std::string made, commit_tree({request.branch, from, !at.has_value(), tree, request.message, request.author, request.time, second}));
  PAWL_TRY(remember(made));
  return made;
}

Result<std::string> LocalForge::import_catalogue(const std::map<std::string, std::string>& files, const std::string& message, const std::string& author,
                                                 const std::string& time) {
  PAWL_ASSIGN(const git_oid tree, write_tree(repository_.get(), nullptr, files));
  PAWL_ASSIGN(const std::optional<std::string> at, head(kBaseBranch));
  if (at) {
    PAWL_ASSIGN(const GitCommit there, commit_of(repository_.get(), *at));
    if (git_oid_equal(git_commit_tree_id(there.get()), &tree) != 0) return *at;
  }
  return commit_tree({kBaseBranch, at, !at.has_value(), tree, message, author, time});
}

Result<bool> LocalForge::delete_branch(const std::string& branch, const std::string& expected_head) {
  PAWL_ASSIGN(const std::string name, reference_of(branch));
  PAWL_ASSIGN(const git_oid expected, id_of(expected_head));
  GitReference reference;
  int rc = git_reference_lookup(reference.out(), repository_.get(), name.c_str());
  if (rc == GIT_ENOTFOUND) return true;
  if (rc < 0) return git_trouble(rc, "reading branch " + branch);
  if (git_reference_target(reference.get()) == nullptr || git_oid_equal(git_reference_target(reference.get()), &expected) == 0) return false;
  // Before the branch goes: afterwards nobody could tell where an open request of it stood.
  PAWL_TRY(database_->execute("UPDATE forge_change_request SET head = ?2 WHERE branch = ?1 AND state IN ('draft', 'ready') AND head <> ?2",
                              {branch, expected_head}));
  // libgit2 compares with the value that it read above, so a push in between is not lost.
  rc = git_reference_delete(reference.get());
  if (rc == GIT_EMODIFIED) return false;
  if (rc == GIT_ENOTFOUND) return true;
  if (rc < 0) return git_trouble(rc, "deleting branch " + branch);
  return true;
}

Result<std::vector<ChangeRequest>> LocalForge::select(const std::string& condition, const std::vector<store::Value>& values) {
  std::vector<ChangeRequest> found;
  PAWL_TRY(database_->query("SELECT number, title, body, author, branch, base, head, state, created, closed_by FROM forge_change_request " + condition, values,
                            [&](const store::Row& row) -> Status {
                              ChangeRequest request;
                              request.number = row.whole(0);
                              request.title = row.text(1);
                              request.body = row.text(2);
                              request.author = row.text(3);
                              request.branch = row.text(4);
                              request.base = row.text(5);
                              request.head = row.text(6);
                              const auto state = codec::enum_value<ChangeRequestState>(row.text(7));
                              if (!state) return internal_error(fmt::format("change request {} has the unknown state {}", request.number, row.text(7)));
                              request.state = *state;
                              request.created = row.text(8);
                              request.closed_by = row.text(9);
                              request.url = fmt::format("pawl:cr/{}", request.number);
                              found.push_back(std::move(request));
                              return {};
                            }));
  for (ChangeRequest& request : found) {
    PAWL_TRY(database_->query("SELECT label FROM forge_label WHERE number = ?1 ORDER BY label", {request.number}, [&](const store::Row& row) {
      request.labels.push_back(row.text(0));
      return Status();
    }));
    if (!is_open(request.state)) continue;
    PAWL_ASSIGN(const std::optional<std::string> live, head(request.branch));
    if (live) request.head = *live;
  }
  return found;
}

Result<ChangeRequest> LocalForge::get(ChangeRequestId id) {
  PAWL_ASSIGN(std::vector<ChangeRequest> found, select("WHERE number = ?1", {id.value}));
  if (!found.empty()) return std::move(found.front());
  std::vector<std::string> known;
  PAWL_TRY(database_->query("SELECT number FROM forge_change_request ORDER BY number DESC LIMIT 20", {}, [&](const store::Row& row) {
    known.insert(known.begin(), row.text(0));
    return Status();
  }));
  return not_found(fmt::format("there is no change request {}", id.value),
                   known.empty() ? "there is none yet: pawl upgrade start makes one" : "there are: " + join(known, ", "));
}

Result<std::vector<ChangeRequest>> LocalForge::list() { return select("ORDER BY number", {}); }

Result<ChangeRequestId> LocalForge::open(const std::string& branch, const std::string& title, const std::string& body, const std::string& author) {
  PAWL_ASSIGN(const std::optional<std::string> at, head(branch));
  ChangeRequestId id;
  const Status opened = database_->transaction([&]() -> Status {
    PAWL_ASSIGN(const auto earlier, select("WHERE branch = ?1 ORDER BY number DESC LIMIT 1", {branch}));
    if (!earlier.empty() && (is_open(earlier.front().state) || !at || earlier.front().head == *at)) {
      id.value = earlier.front().number;
      return {};
    }
    if (!at) return not_found(fmt::format("there is no branch {} to open a change request for", branch));
    PAWL_TRY(
        database_->execute("INSERT INTO forge_change_request (title, body, author, branch, base, head, state, created) "
                           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'draft', ?7)",
                           {title, body, author, branch, kBaseBranch, *at, now()}));
    id.value = database_->last_id();
    return {};
  });
  PAWL_TRY(opened);
  return id;
}

Status LocalForge::edit(ChangeRequestId id, const std::string& title, const std::string& body) {
  PAWL_TRY(get(id));
  return database_->execute("UPDATE forge_change_request SET title = ?2, body = ?3 WHERE number = ?1", {id.value, title, body});
}

Status LocalForge::comment(ChangeRequestId id, const std::string& key, const std::string& author, const std::string& body) {
  if (key.empty()) return bad_input("a comment of pawl needs a key");
  PAWL_TRY(get(id));
  return database_->execute(
      "INSERT INTO forge_comment (number, key, author, body, created) VALUES (?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT (number, key) WHERE key <> '' DO UPDATE SET body = excluded.body, edited = excluded.created WHERE body <> excluded.body",
      {id.value, key, author, body, now()});
}

Result<std::int64_t> LocalForge::add_foreign_comment(ChangeRequestId id, const std::string& author, const std::string& body) {
  PAWL_TRY(get(id));
  PAWL_TRY(database_->execute("INSERT INTO forge_comment (number, key, author, body, created) VALUES (?1, '', ?2, ?3, ?4)", {id.value, author, body, now()}));
  return database_->last_id();
}

Result<std::vector<io::Comment>> LocalForge::comments(ChangeRequestId id) {
  PAWL_TRY(get(id));
  std::vector<io::Comment> all;
  PAWL_TRY(database_->query("SELECT id, key, author, body, created, edited FROM forge_comment WHERE number = ?1 ORDER BY id", {id.value},
                            [&](const store::Row& row) {
                              all.push_back({row.whole(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5)});
                              return Status();
                            }));
  return all;
}

Status LocalForge::set_label(ChangeRequestId id, const std::string& label, bool present) {
  if (trim(label).empty() || trim(label) != label) return bad_input(fmt::format("\"{}\": not a label", label));
  PAWL_TRY(get(id));
  return present ? database_->execute("INSERT INTO forge_label VALUES (?1, ?2) ON CONFLICT DO NOTHING", {id.value, label})
                 : database_->execute("DELETE FROM forge_label WHERE number = ?1 AND label = ?2", {id.value, label});
}

Status LocalForge::set_ready(ChangeRequestId id, bool ready) {
  return database_->transaction([&]() -> Status {
    PAWL_ASSIGN(const ChangeRequest request, get(id));
    if (!is_open(request.state)) {
      return Error{ErrorClass::kConflict,
                   ExitStatus::kPeer,
                   fmt::format("change request {} is {}: it is never reopened", id.value, codec::enum_text(request.state)),
                   {}};
    }
    return database_->execute("UPDATE forge_change_request SET state = ?2 WHERE number = ?1", {id.value, ready ? "ready" : "draft"});
  });
}

Status LocalForge::close(ChangeRequestId id, const std::string& by) {
  return database_->transaction([&]() -> Status {
    PAWL_ASSIGN(const ChangeRequest request, get(id));
    if (request.state == ChangeRequestState::kClosed) return {};
    if (request.state == ChangeRequestState::kMerged) {
      return Error{ErrorClass::kConflict, ExitStatus::kPeer, fmt::format("change request {} is merged: it cannot be closed", id.value), {}};
    }
    return database_->execute("UPDATE forge_change_request SET state = 'closed', closed_by = ?2, head = ?3 WHERE number = ?1", {id.value, by, request.head});
  });
}

Result<std::string> LocalForge::diff(ChangeRequestId id) {
  PAWL_ASSIGN(const ChangeRequest request, get(id));
  PAWL_ASSIGN(const std::optional<std::string> base, head(request.base));
  if (!base) return not_found(fmt::format("the base branch {} does not exist", request.base));
  PAWL_ASSIGN(const GitCommit ours, commit_of(repository_.get(), request.head));
  PAWL_ASSIGN(const git_oid theirs, id_of(*base));
  git_oid fork;
  int rc = git_merge_base(&fork, repository_.get(), &theirs, git_commit_id(ours.get()));
  if (rc < 0) return git_trouble(rc, "looking for the commit where the branch left " + request.base);
  PAWL_ASSIGN(const GitCommit from, commit_of(repository_.get(), hex(fork)));
  PAWL_ASSIGN(const GitTree before, tree_of(from));
  PAWL_ASSIGN(const GitTree after, tree_of(ours));
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  GitDiff diff;
  rc = git_diff_tree_to_tree(diff.out(), repository_.get(), before.get(), after.get(), &options);
  GitText text;
  if (rc == 0) rc = git_diff_to_buf(text.out(), diff.get(), GIT_DIFF_FORMAT_PATCH);
  if (rc < 0) return git_trouble(rc, "writing the difference");
  return std::string(text.view());
}

}  // namespace pawl::forge
