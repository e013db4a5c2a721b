#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::upstream {

/// One commit between two revisions.
struct Change {
  std::string commit, parent;  ///< full ids; parent: the first one, empty for a root
  std::string day;             ///< "2026-08-10", UTC, of the commit
  std::string subject;
  std::string number;              ///< of the change request, from "(#1234)" at the subject's end; empty when there is none
  std::vector<std::string> paths;  ///< touched ones below the asked paths, at most twenty
};
BOOST_DESCRIBE_STRUCT(Change, (), (commit, parent, day, subject, number, paths))

struct History {
  std::string from, to;           ///< full ids
  std::size_t looked_at = 0;      ///< commits between them
  std::vector<Change> changes;    ///< newest first
  std::vector<std::string> none;  ///< asked paths that no commit touched: a positive statement
  bool straight = true;           ///< false: `from` is no ancestor of `to`, so commits of `from` alone were not looked at
};
BOOST_DESCRIBE_STRUCT(History, (), (from, to, looked_at, changes, none, straight))

inline constexpr std::size_t kMaxCommits = 50'000;

/// Commits reachable from `to` and not from `from` that touch a path below one of `paths` (all when it is empty), compared
/// with their first parent. Errors: no repository, no such revision, more than kMaxCommits between them, cancelled.
[[nodiscard]] Result<History> changes_under(const std::filesystem::path& repository, const std::string& from, const std::string& to,
                                            const std::vector<std::string>& paths, std::stop_token stop);

/// One commit proposed as the one that broke something.
struct Suspect {
  Change change;
  double score = 0;                  ///< higher: more of the symptom; comparable within one answer only
  std::vector<std::string> reasons;  ///< "removes --mlock in common/arg.cpp", "its message names mlock"
};
BOOST_DESCRIBE_STRUCT(Suspect, (), (change, score, reasons))

struct Culprit {
  History history;
  std::vector<std::string> words;  ///< of the symptom, that were looked for
  std::vector<Suspect> suspects;   ///< best first; only those with a word of the symptom in their change or message
};
BOOST_DESCRIBE_STRUCT(Culprit, (), (history, words, suspects))

/// Ranks the commits under `path` by how much of the symptom their lines hold: a word counts for more the fewer commits
/// have it, and three times as much where the commit removes it from the file for good. The pin to take is the first suspect's
/// parent. An evidence to check, not a proof.
[[nodiscard]] Result<Culprit> find_culprit(const std::filesystem::path& repository, const std::string& from, const std::string& to, const std::string& path,
                                           const std::string& symptom, std::stop_token stop);

/// Words of a symptom worth looking for: identifiers, flags (with their field's spelling), error names; no common words.
[[nodiscard]] std::vector<std::string> symptom_words(const std::string& symptom);

}  // namespace pawl::upstream
