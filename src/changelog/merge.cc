#include "changelog/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "changelog/rule.h"
#include "changelog/same_data.h"
#include "changelog/strict.h"

namespace pawl::changelog {
namespace {

using codec::Json;

std::string link_of(const MergeTarget& target) { return fmt::format("https://github.com/{}/pull/{}", target.repository, target.number); }

Error unfit(const std::string& what) { return {ErrorClass::kInvalid, ExitStatus::kFoundWanting, what}; }

/// The block of an entry with this link. The first line that starts with two blanks and `pr-link:` is rewritten.
Result<std::string> with_link(std::string block, const std::string& link, const SourcePlace& entry) {
  const auto nl = block.find("\n  pr-link:");
  if (nl == std::string::npos) return unfit("an entry has no line that starts with '  pr-link:'").at(entry);
  const std::size_t begin = nl + 1;
  const std::size_t end = std::min(block.find('\n', begin), block.size());
  return block.replace(begin, end - begin, "  pr-link: " + link);
}

Json without_link(const Json& data) {
  Json out = data;
  out.erase("pr-link");
  out.erase("pr_link");
  return out;
}

std::string block_of(const StrictFile& file, std::size_t i, std::size_t end) { return file.bytes.substr(file.spans[i].begin, end - file.spans[i].begin); }

Result<std::string> main_with_additions(const StrictFile& base, const StrictFile& request, const StrictFile& main, const MergeTarget& target) {
  std::string result = main.bytes;
  bool any = false;
  for (std::size_t i = base.entries.size(); i < request.entries.size(); ++i) {
    const Json content = without_link(request.entries[i].data);
    if (std::ranges::any_of(main.entries, [&](const LedgerEntry& entry) { return same_data(without_link(entry.data), content); })) continue;
    PAWL_ASSIGN(const std::string block, with_link(block_of(request, i, request.spans[i].content_end), link_of(target), request.entries[i].place));
    result += (result.ends_with("\n\n") ? "" : "\n") + block;
    any = true;
  }
  if (!any) return unfit("the request has no changelog contribution: main has all of its entries already");
  return result;
}

Result<std::string> main_with_corrections(const StrictFile& base, const StrictFile& request, const StrictFile& main,
                                          const std::vector<std::size_t>& corrected) {
  std::string result = main.bytes;
  bool any = false;
  for (auto it = corrected.rbegin(); it != corrected.rend(); ++it) {
    const std::size_t i = *it;
    if (i >= main.entries.size()) return unfit(fmt::format("main does not have entry {}, whose pr-link the request corrects", i + 1));
    const LedgerEntry &old = base.entries[i], &ours = main.entries[i];
    if (!same_data(without_link(old.data), without_link(ours.data)))
      return unfit(fmt::format("entry {} changed on main: resolve it by hand", i + 1)).at(ours.place);
    const std::string& wanted = request.entries[i].pr_link;
    if (ours.pr_link == wanted) continue;
    if (ours.pr_link != old.pr_link) return unfit(fmt::format("conflicting corrections of the pr-link of entry {}", i + 1)).at(ours.place);
    PAWL_ASSIGN(const std::string block, with_link(block_of(main, i, main.spans[i].end), wanted, ours.place));
    result.replace(main.spans[i].begin, main.spans[i].end - main.spans[i].begin, block);
    any = true;
  }
  if (!any) return unfit("the corrected pr-links are already present on main");
  return result;
}

}  // namespace

Result<std::string> canonicalize(const std::string& base, const std::string& head, const MergeTarget& target) {
  PAWL_ASSIGN(const StrictFile old, parse_strict(base, "base", target.no_evals));
  PAWL_ASSIGN(const StrictFile now, parse_strict(head, "head", target.no_evals));
  PAWL_ASSIGN(const StrictChanges changes, compare_entries(old, now, target.number));
  PAWL_TRY(compare_bytes(old, now, changes));
  if (changes.additions == 0) return head;
  std::string result = head;
  for (std::size_t i = now.entries.size(); i-- > old.entries.size();) {
    if (now.entries[i].pr_link == link_of(target) || !is_placeholder_link(now.entries[i].pr_link)) continue;
    PAWL_ASSIGN(const std::string block, with_link(block_of(now, i, now.spans[i].end), link_of(target), now.entries[i].place));
    result.replace(now.spans[i].begin, now.spans[i].end - now.spans[i].begin, block);
  }
  PAWL_TRY(check_strict(base, result, target.number, "base", "the prepared file", target.no_evals));
  return result;
}

Result<std::string> resolve_conflict(const std::string& merge_base, const std::string& request, const std::string& main, const MergeTarget& target) {
  PAWL_ASSIGN(const StrictFile old, parse_strict(merge_base, "merge base", target.no_evals));
  PAWL_ASSIGN(const StrictFile theirs, parse_strict(request, "request", target.no_evals));
  PAWL_ASSIGN(const StrictFile ours, parse_strict(main, "main", target.no_evals));
  PAWL_ASSIGN(const StrictChanges changes, compare_entries(old, theirs, target.number));
  PAWL_TRY(compare_bytes(old, theirs, changes));
  if (changes.additions == 0 && changes.corrections.empty()) return unfit("the request neither adds an entry nor corrects a pr-link");
  PAWL_ASSIGN(std::string result,
              changes.additions > 0 ? main_with_additions(old, theirs, ours, target) : main_with_corrections(old, theirs, ours, changes.corrections));
  PAWL_TRY(check_strict(main, result, target.number, "main", "the merged file", target.no_evals));
  return result;
}

}  // namespace pawl::changelog
