#include "upstream/history.h"

#include <fmt/format.h>
#include <git2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/text.h"
#include "base/time.h"
#include "upstream/clip.h"

namespace pawl::upstream {
namespace {

struct GitFree {
  void operator()(git_repository* p) const { git_repository_free(p); }
  void operator()(git_object* p) const { git_object_free(p); }
  void operator()(git_commit* p) const { git_commit_free(p); }
  void operator()(git_tree* p) const { git_tree_free(p); }
  void operator()(git_revwalk* p) const { git_revwalk_free(p); }
  void operator()(git_diff* p) const { git_diff_free(p); }
};
template <class T>
using Git = std::unique_ptr<T, GitFree>;

std::string git_message() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "unknown trouble";
}

std::string hex(const git_oid& id) {
  char text[GIT_OID_HEXSZ + 1];
  return git_oid_tostr(text, sizeof text, &id);
}

std::string one_line(const char* text) {
  std::string out = text != nullptr ? text : "";
  out = out.substr(0, out.find('\n'));
  if (!is_utf8(out)) std::erase_if(out, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return clip(std::move(out), 300);
}

std::string number_of(const std::string& subject) {
  const std::size_t at = subject.rfind("(#");
  if (at == std::string::npos) return {};
  const std::size_t end = subject.find(')', at);
  const std::string digits = end == std::string::npos ? std::string() : subject.substr(at + 2, end - at - 2);
  return !digits.empty() && std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; }) ? "#" + digits : std::string();
}

bool below(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && (folder.ends_with('/') || path[folder.size()] == '/'));
}

/// A commit's difference to its first parent, limited to `paths`.
struct Looked {
  Git<git_diff> diff;
  Change change;
};

class Repository {
 public:
  static Result<Repository> open(const std::filesystem::path& path) {
    git_libgit2_init();
    git_repository* raw = nullptr;
    if (git_repository_open_ext(&raw, path.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr) != 0) {
      return not_found(fmt::format("{}: {}", path.string(), git_message()), "give the folder of a git clone");
    }
    return Repository(Git<git_repository>(raw), path.string());
  }

  Result<git_oid> commit(const std::string& revision) const {
    git_object* raw = nullptr;
    if (git_revparse_single(&raw, repo_.get(), (revision + "^{commit}").c_str()) != 0) {
      return not_found(fmt::format("{}: no revision \"{}\"", name_, revision), "a tag, branch or commit of that clone is wanted; fetch it first");
    }
    const Git<git_object> object(raw);
    return *git_object_id(object.get());
  }

  /// Commits of `to` that `from` has not, newest first.
  Result<std::vector<git_oid>> between(const git_oid& from, const git_oid& to, std::stop_token stop) const {
    git_revwalk* raw = nullptr;
    if (git_revwalk_new(&raw, repo_.get()) != 0) return run_failed(git_message());
    const Git<git_revwalk> walk(raw);
    git_revwalk_sorting(walk.get(), GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
    git_revwalk_push(walk.get(), &to);
    git_revwalk_hide(walk.get(), &from);
    std::vector<git_oid> out;
    git_oid id;
    while (git_revwalk_next(&id, walk.get()) == 0) {
      if (stop.stop_requested()) return cancelled();
      if (out.size() == kMaxCommits)
        return bad_input(fmt::format("{}: more than {} commits between the two revisions", name_, kMaxCommits), "choose nearer ones");
      out.push_back(id);
    }
    return out;
  }

  Result<Looked> look(const git_oid& id, const std::vector<std::string>& paths) const {
    git_commit* raw = nullptr;
    if (git_commit_lookup(&raw, repo_.get(), &id) != 0)
      return bad_input(fmt::format("{}: {}", hex(id), git_message()), "the clone lacks history: fetch it without --depth");
    const Git<git_commit> commit(raw);
    Looked out;
    out.change.commit = hex(id);
    out.change.day = day_utc({std::chrono::duration_cast<Nanos>(Seconds(git_commit_time(commit.get())))});
    out.change.subject = one_line(git_commit_message(commit.get()));
    out.change.number = number_of(out.change.subject);
    git_tree *now = nullptr, *before = nullptr;
    if (git_commit_tree(&now, commit.get()) != 0) return bad_input(git_message());
    const Git<git_tree> tree(now);
    Git<git_tree> parent_tree;
    if (git_commit_parentcount(commit.get()) > 0) {
      out.change.parent = hex(*git_commit_parent_id(commit.get(), 0));
      git_commit* parent_raw = nullptr;
      if (git_commit_parent(&parent_raw, commit.get(), 0) != 0)
        return bad_input(fmt::format("{}: {}", hex(id), git_message()), "the clone lacks history: fetch it without --depth");
      const Git<git_commit> parent(parent_raw);
      if (git_commit_tree(&before, parent.get()) != 0) return bad_input(git_message());
      parent_tree.reset(before);
    }
    git_diff_options options;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_DISABLE_PATHSPEC_MATCH;  // names, not patterns
    options.context_lines = 0;
    options.max_size = 4 << 20;
    std::vector<char*> specs;
    for (const std::string& path : paths) specs.push_back(const_cast<char*>(path.c_str()));
    options.pathspec = {specs.data(), specs.size()};
    git_diff* diff = nullptr;
    if (git_diff_tree_to_tree(&diff, repo_.get(), parent_tree.get(), tree.get(), &options) != 0) return bad_input(git_message());
    out.diff.reset(diff);
    for (std::size_t i = 0, n = git_diff_num_deltas(diff); i < n; ++i) {
      if (out.change.paths.size() == 20) break;
      out.change.paths.emplace_back(git_diff_get_delta(diff, i)->new_file.path);
    }
    return out;
  }

  bool ancestor(const git_oid& from, const git_oid& to) const {
    return git_oid_equal(&from, &to) != 0 || git_graph_descendant_of(repo_.get(), &to, &from) == 1;
  }

  std::string message(const std::string& commit) const {
    git_oid id;
    git_commit* raw = nullptr;
    if (git_oid_fromstr(&id, commit.c_str()) != 0 || git_commit_lookup(&raw, repo_.get(), &id) != 0) return {};
    const Git<git_commit> object(raw);
    const char* text = git_commit_message(object.get());
    return std::string(text != nullptr ? text : "").substr(0, 20'000);
  }

 private:
  Repository(Git<git_repository> repo, std::string name) : repo_(std::move(repo)), name_(std::move(name)) {}
  Git<git_repository> repo_;
  std::string name_;
};

struct Lines {
  std::map<std::string, std::string> removed, added;  ///< file → its lines of that kind
  std::size_t bytes = 0;
};

int take_line(const git_diff_delta* delta, const git_diff_hunk*, const git_diff_line* line, void* payload) {
  Lines& lines = *static_cast<Lines*>(payload);
  if (lines.bytes > (8u << 20)) return 0;
  lines.bytes += line->content_len;
  if (line->origin == GIT_DIFF_LINE_DELETION) lines.removed[delta->old_file.path].append(line->content, line->content_len);
  if (line->origin == GIT_DIFF_LINE_ADDITION) lines.added[delta->new_file.path].append(line->content, line->content_len);
  return 0;
}

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool holds(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool before = at == 0 || !word_char(text[at - 1]) || !word_char(word.front());
    const std::size_t end = at + word.size();
    const bool after = end == text.size() || !word_char(text[end]);
    if (before && after) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> symptom_words(const std::string& symptom) {
  static const std::set<std::string> kCommon{"the",
                                             "and",
                                             "for",
                                             "not",
                                             "error",
                                             "errors",
                                             "argument",
                                             "arguments",
                                             "unrecognized",
                                             "invalid",
                                             "unexpected",
                                             "keyword",
                                             "got",
                                             "has",
                                             "was",
                                             "with",
                                             "from",
                                             "this",
                                             "that",
                                             "file",
                                             "line",
                                             "none",
                                             "failed",
                                             "cannot",
                                             "could",
                                             "usage",
                                             "object",
                                             "module",
                                             "named",
                                             "attribute",
                                             "expected",
                                             "value",
                                             "choice",
                                             "option",
                                             "unknown",
                                             "Traceback",
                                             "most",
                                             "recent",
                                             "call",
                                             "last",
                                             "name",
                                             "import",
                                             "does",
                                             "must",
                                             "are",
                                             "have",
                                             "been",
                                             "use",
                                             "TypeError",
                                             "ValueError",
                                             "AttributeError",
                                             "ImportError",
                                             "ModuleNotFoundError",
                                             "RuntimeError",
                                             "KeyError"};
  std::vector<std::string> out;
  const auto add = [&](const std::string& word) {
    if (word.size() > 2 && out.size() < 40 && std::ranges::find(out, word) == out.end()) out.push_back(word);
  };
  std::size_t at = 0;
  while (at < symptom.size()) {
    if (!word_char(symptom[at]) && !(symptom[at] == '-' && symptom.compare(at, 2, "--") == 0)) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < symptom.size() && (word_char(symptom[end]) || symptom[end] == '-' || symptom[end] == '.')) ++end;
    std::string word = symptom.substr(at, end - at);
    while (word.ends_with('.') || word.ends_with('-')) word.pop_back();
    at = end;
    if (word.starts_with("--")) {
      add(word);
      add(replace_all(word.substr(2), "-", "_"));
      continue;
    }
    if (std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; }) || kCommon.contains(word)) continue;
    add(word);
    // "pkg.module.Name": its last part is what a source writes.
    if (const std::size_t dot = word.rfind('.'); dot != std::string::npos && !kCommon.contains(word.substr(dot + 1))) add(word.substr(dot + 1));
  }
  return out;
}

Result<History> changes_under(const std::filesystem::path& repository, const std::string& from, const std::string& to, const std::vector<std::string>& paths,
                              std::stop_token stop) {
  PAWL_ASSIGN(const Repository repo, Repository::open(repository));
  PAWL_ASSIGN(const git_oid old, repo.commit(from));
  PAWL_ASSIGN(const git_oid now, repo.commit(to));
  PAWL_ASSIGN(const std::vector<git_oid> ids, repo.between(old, now, stop));
  History out{hex(old), hex(now), ids.size(), {}, {}, repo.ancestor(old, now)};
  std::set<std::string> touched;
  for (const git_oid& id : ids) {
    if (stop.stop_requested()) return cancelled();
    PAWL_ASSIGN(Looked looked, repo.look(id, paths));
    if (looked.change.paths.empty()) continue;
    for (const std::string& asked : paths) {
      if (std::ranges::any_of(looked.change.paths, [&](const std::string& path) { return below(path, asked); })) touched.insert(asked);
    }
    out.changes.push_back(std::move(looked.change));
  }
  for (const std::string& asked : paths) {
    if (!touched.contains(asked)) out.none.push_back(asked);
  }
  return out;
}

Result<Culprit> find_culprit(const std::filesystem::path& repository, const std::string& from, const std::string& to, const std::string& path,
                             const std::string& symptom, std::stop_token stop) {
  Culprit out;
  out.words = symptom_words(symptom);
  if (out.words.empty())
    return bad_input(fmt::format("nothing to look for in the symptom \"{}\"", symptom), "give the line of the log, or a flag or identifier from it");
  const std::vector<std::string> paths = path.empty() ? std::vector<std::string>{} : std::vector<std::string>{path};
  PAWL_ASSIGN(out.history, changes_under(repository, from, to, paths, stop));
  PAWL_ASSIGN(const Repository repo, Repository::open(repository));
  struct Evidence {
    std::map<std::string, std::string> gone, changed;  ///< word → file
    std::set<std::string> named;
  };
  std::vector<Evidence> all(out.history.changes.size());
  std::map<std::string, std::size_t> commits_with;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (stop.stop_requested()) return cancelled();
    PAWL_ASSIGN(const git_oid id, repo.commit(out.history.changes[i].commit));
    PAWL_ASSIGN(const Looked looked, repo.look(id, paths));
    Lines lines;
    git_diff_foreach(looked.diff.get(), nullptr, nullptr, nullptr, take_line, &lines);
    const std::string message = repo.message(out.history.changes[i].commit);
    for (const std::string& word : out.words) {
      bool seen = false;
      for (const auto& [file, text] : lines.removed) {
        if (!holds(text, word)) continue;
        const auto back = lines.added.find(file);
        (back != lines.added.end() && holds(back->second, word) ? all[i].changed : all[i].gone).emplace(word, file);
        seen = true;
      }
      for (const auto& [file, text] : lines.added) {
        if (!holds(text, word) || all[i].gone.contains(word)) continue;
        all[i].changed.emplace(word, file);
        seen = true;
      }
      if (holds(message, word)) {
        all[i].named.insert(word);
        seen = true;
      }
      if (seen) ++commits_with[word];
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    Suspect suspect{out.history.changes[i], 0, {}};
    const auto weight = [&](const std::string& word) { return std::log(1.0 + static_cast<double>(all.size()) / static_cast<double>(commits_with[word])); };
    for (const auto& [word, file] : all[i].gone) {
      suspect.score += 3 * weight(word);
      suspect.reasons.push_back(fmt::format("removes {} from {}", word, file));
    }
    for (const auto& [word, file] : all[i].changed) {
      suspect.score += weight(word);
      suspect.reasons.push_back(fmt::format("changes lines with {} in {}", word, file));
    }
    for (const std::string& word : all[i].named) {
      suspect.score += weight(word);
      suspect.reasons.push_back(fmt::format("its message names {}", word));
    }
    if (suspect.score > 0) out.suspects.push_back(std::move(suspect));
  }
  std::ranges::stable_sort(out.suspects, [](const Suspect& a, const Suspect& b) { return a.score > b.score; });
  if (out.suspects.size() > 20) out.suspects.resize(20);
  return out;
}

}  // namespace pawl::upstream
