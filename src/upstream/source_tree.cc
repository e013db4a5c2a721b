#include "upstream/source_tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <git2.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/text.h"

namespace pawl::upstream {
namespace {

bool matches(const std::vector<std::string>& wanted, std::string_view path) {
  return std::ranges::any_of(wanted, [&](const std::string& pattern) { return glob_match(pattern, path); });
}

/// Keeps count of what a source may cost, and of what was left out.
class Intake {
 public:
  Intake(SourceTree& tree, const SourceLimits& limits, std::string name) : tree_(tree), limits_(limits), name_(std::move(name)) {}

  Status entry() {
    if (++entries_ > limits_.files) {
      return bad_input(fmt::format("{}: more than {} entries", name_, limits_.files), "give the folder of the package itself, not one above it");
    }
    return {};
  }
  bool too_large(const std::string& path, std::uint64_t size) {
    if (size <= limits_.one) return false;
    note(fmt::format("{}: {} bytes, more than the {} that are read of one file", path, size, limits_.one));
    return true;
  }
  void note(std::string text) {
    if (tree_.notes.size() < 50) tree_.notes.push_back(std::move(text));
  }
  Status keep(const std::string& path, std::string bytes) {
    if (!is_utf8(bytes)) {
      note(path + ": not UTF-8; its other bytes are read as \"?\"");
      std::ranges::replace_if(
          bytes, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    }
    total_ += bytes.size();
    if (total_ > limits_.total) return bad_input(fmt::format("{}: more than {} bytes of source", name_, limits_.total));
    tree_.files[path] = std::move(bytes);
    return {};
  }

 private:
  SourceTree& tree_;
  const SourceLimits limits_;
  const std::string name_;
  std::size_t entries_ = 0;
  std::uint64_t total_ = 0;
};

bool leaves_the_tree(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\\') != std::string_view::npos || path.find('\0') != std::string_view::npos) return true;
  const std::string text(path);
  for (const std::string_view part : split(text, '/')) {
    if (part == "..") return true;
  }
  return false;
}

struct ArchiveFree {
  void operator()(archive* a) const { archive_read_free(a); }
};

Result<std::string> read_entry(archive* a, const std::string& shown, std::uint64_t limit) {
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const la_ssize_t got = archive_read_data(a, buffer, sizeof buffer);
    if (got < 0) return bad_input(fmt::format("{}: {}", shown, archive_error_string(a) != nullptr ? archive_error_string(a) : "cannot be unpacked"));
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
    // A header may lie about the size: what counts is what comes out.
    if (bytes.size() > limit) return bad_input(fmt::format("{}: unpacks to more than {} bytes", shown, limit));
  }
}

struct GitFree {
  void operator()(git_repository* p) const { git_repository_free(p); }
  void operator()(git_object* p) const { git_object_free(p); }
  void operator()(git_tree* p) const { git_tree_free(p); }
  void operator()(git_blob* p) const { git_blob_free(p); }
};
template <class T>
using Git = std::unique_ptr<T, GitFree>;

std::string git_message() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "unknown trouble";
}

struct Walk {
  git_repository* repository;
  const std::vector<std::string>& wanted;
  Intake& intake;
  Status status;
};

int walk_entry(const char* root, const git_tree_entry* entry, void* payload) {
  Walk& walk = *static_cast<Walk*>(payload);
  walk.status = walk.intake.entry();
  if (!walk.status) return -1;
  if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB) return 0;
  const std::string path = std::string(root) + git_tree_entry_name(entry);
  if (!matches(walk.wanted, path)) return 0;
  if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK) {
    walk.intake.note(path + ": a link, not followed");
    return 0;
  }
  git_blob* raw = nullptr;
  if (git_blob_lookup(&raw, walk.repository, git_tree_entry_id(entry)) != 0) {
    walk.intake.note(path + ": its content is not in this clone");
    return 0;
  }
  const Git<git_blob> blob(raw);
  const std::uint64_t size = static_cast<std::uint64_t>(git_blob_rawsize(raw));
  if (walk.intake.too_large(path, size)) return 0;
  walk.status = walk.intake.keep(path, std::string(static_cast<const char*>(git_blob_rawcontent(raw)), size));
  return walk.status ? 0 : -1;
}

}  // namespace

Result<SourceTree> read_folder(const io::Files& files, const std::filesystem::path& folder, const std::vector<std::string>& wanted,
                               const SourceLimits& limits) {
  SourceTree tree;
  tree.shown = tree.origin = folder.string();
  Intake intake(tree, limits, folder.string());
  PAWL_ASSIGN(const std::vector<std::string> paths, files.list_tree(folder));
  for (const std::string& path : paths) {
    PAWL_TRY(intake.entry());
    if (!matches(wanted, path)) continue;
    auto bytes = files.read(folder / path, limits.one);
    if (!bytes) {
      intake.note(path + ": " + bytes.error().message);
      continue;
    }
    PAWL_TRY(intake.keep(path, std::move(*bytes)));
  }
  return tree;
}

Result<SourceTree> read_archive(const std::string& bytes, const std::string& name, const std::vector<std::string>& wanted, const SourceLimits& limits) {
  SourceTree tree;
  tree.shown = name;
  tree.origin = fmt::format("{} (sha256 {})", name, sha256_hex(bytes));
  Intake intake(tree, limits, name);
  const std::unique_ptr<archive, ArchiveFree> reader(archive_read_new());
  archive_read_support_format_zip(reader.get());
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_zstd(reader.get());
  if (archive_read_open_memory(reader.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) {
    return bad_input(fmt::format("{}: {}", name, archive_error_string(reader.get())), "a wheel, a zip or a (compressed) tar file is wanted");
  }
  for (;;) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(reader.get(), &entry);
    if (got == ARCHIVE_EOF) break;
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
      return bad_input(fmt::format("{}: {}", name, archive_error_string(reader.get())), "fetch the file again: it is cut short or no archive");
    }
    PAWL_TRY(intake.entry());
    const char* raw = archive_entry_pathname_utf8(entry);
    std::string path = raw != nullptr ? raw : "";
    while (path.starts_with("./")) path.erase(0, 2);
    if (!matches(wanted, path)) continue;
    if (leaves_the_tree(path)) {
      intake.note(fmt::format("\"{}\": leads out of the archive, not read", path));
      continue;
    }
    if (archive_entry_symlink(entry) != nullptr || archive_entry_hardlink(entry) != nullptr) {
      intake.note(path + ": a link, not followed");
      continue;
    }
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    if (archive_entry_size_is_set(entry) != 0 && intake.too_large(path, static_cast<std::uint64_t>(archive_entry_size(entry)))) continue;
    auto content = read_entry(reader.get(), path, limits.one);
    if (!content) {
      intake.note(content.error().message);
      continue;
    }
    PAWL_TRY(intake.keep(path, std::move(*content)));
  }
  return tree;
}

Result<SourceTree> read_git(const std::filesystem::path& repository, const std::string& revision, const std::vector<std::string>& wanted,
                            const SourceLimits& limits) {
  git_libgit2_init();
  git_repository* raw = nullptr;
  if (git_repository_open_ext(&raw, repository.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr) != 0) {
    return not_found(fmt::format("{}: {}", repository.string(), git_message()), "give the folder of a git clone");
  }
  const Git<git_repository> repo(raw);
  git_object* object = nullptr;
  if (git_revparse_single(&object, repo.get(), (revision + "^{commit}").c_str()) != 0) {
    return not_found(fmt::format("{}: no revision \"{}\"", repository.string(), revision), "a tag, branch or commit of that clone is wanted; fetch it first");
  }
  const Git<git_object> commit(object);
  git_object* peeled = nullptr;
  if (git_object_peel(&peeled, commit.get(), GIT_OBJECT_TREE) != 0) return bad_input(fmt::format("{}: {}", revision, git_message()));
  const Git<git_object> root(peeled);
  SourceTree tree;
  char id[GIT_OID_HEXSZ + 1];
  tree.revision = git_oid_tostr(id, sizeof id, git_object_id(commit.get()));
  tree.shown = revision;
  tree.origin =
      fmt::format("{} at {}", repository.filename().empty() ? repository.parent_path().filename().string() : repository.filename().string(), tree.revision);
  Intake intake(tree, limits, revision);
  Walk walk{repo.get(), wanted, intake, {}};
  const int rc = git_tree_walk(reinterpret_cast<const git_tree*>(root.get()), GIT_TREEWALK_PRE, walk_entry, &walk);
  if (!walk.status) return walk.status.error();
  if (rc != 0) return bad_input(fmt::format("{}: {}", revision, git_message()));
  return tree;
}

}  // namespace pawl::upstream
