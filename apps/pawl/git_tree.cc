#include "git_tree.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "forge/git_handle.h"

namespace pawl::app {
namespace {

using forge::git_trouble;
using forge::GitBlob;
using forge::GitCommit;
using forge::GitHandle;
using forge::GitIndex;
using forge::GitTreeEntry;
using GitObject = GitHandle<git_object, git_object_free>;
using GitBlame = GitHandle<git_blame, git_blame_free>;

std::string hex(const git_oid& id) {
  std::string text(GIT_OID_HEXSZ + 1, '\0');
  git_oid_tostr(text.data(), text.size(), &id);
  text.pop_back();
  return text;
}

Result<git_oid> id_of(const std::string& commit) {
  git_oid id;
  if (git_oid_fromstr(&id, commit.c_str()) != 0) return bad_input(commit + ": not a commit id");
  return id;
}

Result<std::string> blob_text(git_repository* repository, const git_oid& id, const std::string& path) {
  GitBlob blob;
  if (const int rc = git_blob_lookup(blob.out(), repository, &id); rc < 0) return git_trouble(rc, "reading " + path);
  return std::string(static_cast<const char*>(git_blob_rawcontent(blob.get())), static_cast<std::size_t>(git_blob_rawsize(blob.get())));
}

}  // namespace

GitTree::GitTree(git_repository* repository) : repository_(repository, git_repository_free) {}

Result<GitTree> GitTree::open(const std::filesystem::path& folder) {
  forge::use_git();
  git_repository* raw = nullptr;
  if (git_repository_open_ext(&raw, folder.c_str(), 0, nullptr) < 0)
    return not_found(fmt::format("{} belongs to no git repository", folder.string()), "--repo takes a folder inside a clone");
  return GitTree(raw);
}

Result<std::string> GitTree::commit(const std::string& ref) const {
  GitObject object, commit;
  int rc = git_revparse_single(object.out(), repository_.get(), ref.c_str());
  if (rc == 0) rc = git_object_peel(commit.out(), object.get(), GIT_OBJECT_COMMIT);
  if (rc < 0) return not_found(fmt::format("no commit '{}' in the repository", ref), "fetch it first: git fetch");
  return hex(*git_object_id(commit.get()));
}

Result<std::string> GitTree::merge_base(const std::string& a, const std::string& b) const {
  PAWL_ASSIGN(const git_oid one, id_of(a));
  PAWL_ASSIGN(const git_oid two, id_of(b));
  git_oid base;
  const int rc = git_merge_base(&base, repository_.get(), &one, &two);
  if (rc == GIT_ENOTFOUND)
    return not_found(fmt::format("{} and {} share no history", a.substr(0, 12), b.substr(0, 12)), "a shallow clone may lack it: git fetch --unshallow");
  if (rc < 0) return git_trouble(rc, "looking for a merge base");
  return hex(base);
}

Result<std::optional<std::string>> GitTree::read(const std::string& commit, const std::string& path) const {
  PAWL_ASSIGN(const git_oid id, id_of(commit));
  GitCommit found;
  forge::GitTree tree;
  GitTreeEntry entry;
  int rc = git_commit_lookup(found.out(), repository_.get(), &id);
  if (rc == 0) rc = git_commit_tree(tree.out(), found.get());
  if (rc < 0) return git_trouble(rc, "reading commit " + commit);
  rc = git_tree_entry_bypath(entry.out(), tree.get(), path.c_str());
  if (rc == GIT_ENOTFOUND) return std::optional<std::string>();
  if (rc < 0) return git_trouble(rc, "reading " + path);
  if (git_tree_entry_type(entry.get()) != GIT_OBJECT_BLOB) return std::optional<std::string>();
  PAWL_ASSIGN(std::string text, blob_text(repository_.get(), *git_tree_entry_id(entry.get()), path));
  return std::optional<std::string>(std::move(text));
}

Result<std::string> GitTree::stage(const std::string& path, int stage) const {
  GitIndex index;
  if (const int rc = git_repository_index(index.out(), repository_.get()); rc < 0) return git_trouble(rc, "reading the index");
  const git_index_entry* entry = git_index_get_bypath(index.get(), path.c_str(), stage);
  if (entry == nullptr)
    return not_found(fmt::format("{} has no conflict in the index (stage {} is missing)", path, stage),
                     "merge main first, then run this while the file conflicts");
  return blob_text(repository_.get(), entry->id, path);
}

Result<std::vector<std::string>> GitTree::line_dates(const std::string& commit, const std::string& path) const {
  git_blame_options options = GIT_BLAME_OPTIONS_INIT;
  PAWL_ASSIGN(options.newest_commit, id_of(commit));
  GitBlame blame;
  if (const int rc = git_blame_file(blame.out(), repository_.get(), path.c_str(), &options); rc < 0) return git_trouble(rc, "finding who wrote " + path);
  std::vector<std::string> dates;
  for (std::uint32_t i = 0; i < git_blame_get_hunk_count(blame.get()); ++i) {
    const git_blame_hunk* hunk = git_blame_get_hunk_byindex(blame.get(), i);
    const std::time_t when = hunk->final_signature == nullptr ? 0 : static_cast<std::time_t>(hunk->final_signature->when.time);
    dates.resize(hunk->final_start_line_number - 1 + hunk->lines_in_hunk, fmt::format("{:%Y-%m-%d}", fmt::gmtime(when)));
  }
  return dates;
}

Result<std::vector<std::string>> GitTree::history(std::size_t commits_max) const {
  git_revwalk* raw = nullptr;
  if (const int rc = git_revwalk_new(&raw, repository_.get()); rc < 0) return git_trouble(rc, "reading the history");
  const std::unique_ptr<git_revwalk, void (*)(git_revwalk*)> walk(raw, git_revwalk_free);
  git_revwalk_sorting(walk.get(), GIT_SORT_TOPOLOGICAL | GIT_SORT_REVERSE);
  if (const int rc = git_revwalk_push_glob(walk.get(), "*"); rc < 0) return git_trouble(rc, "reading the history");
  std::vector<std::string> all;
  git_oid id;
  while (git_revwalk_next(&id, walk.get()) == 0) {
    if (all.size() >= commits_max) return bad_input(fmt::format("the history has more than {} commits", commits_max), "give a clone with fewer branches");
    char text[GIT_OID_HEXSZ + 1];
    all.emplace_back(git_oid_tostr(text, sizeof text, &id));
  }
  return all;
}

std::filesystem::path GitTree::folder() const {
  const char* folder = git_repository_workdir(repository_.get());
  return folder == nullptr ? "" : folder;
}

}  // namespace pawl::app
