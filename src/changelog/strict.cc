#include "changelog/strict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "changelog/added_text.h"
#include "changelog/rule.h"
#include "changelog/same_data.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using codec::YamlDocument;
using codec::YamlNode;

constexpr std::string_view kEntryStart = "- config-keys:";
constexpr std::string_view kLinkStart = "  pr-link:";
constexpr std::string_view kLinkBase = "https://github.com/SemiAnalysisAI/InferenceX/pull/";

/// Where lines begin that start an entry. `unicode`: a line also ends where Unicode says so (the count of C-27).
std::vector<std::size_t> entry_starts(std::string_view bytes, bool unicode) {
  constexpr std::array<std::string_view, 9> kBreaks{"\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
  std::vector<std::size_t> starts;
  for (std::size_t at = bytes.find(kEntryStart); at != std::string_view::npos; at = bytes.find(kEntryStart, at + 1)) {
    const std::string_view before = bytes.substr(0, at);
    const bool starts_line = at == 0 || before.ends_with('\n') || (unicode && std::ranges::any_of(kBreaks, [&](auto b) { return before.ends_with(b); }));
    if (starts_line) starts.push_back(at);
  }
  return starts;
}

/// C-25 beyond what every reader refuses: keys that repeat or that cannot be keys, at any depth.
Status no_duplicate_keys(const YamlDocument& document, const YamlNode& node) {
  for (const YamlNode& item : node.items) PAWL_TRY(no_duplicate_keys(document, item));
  std::set<std::string> seen;
  for (const codec::YamlEntry& entry : node.entries) {
    if (entry.key.kind != YamlNode::Kind::kScalar) return broken("C-25", "a key must be a scalar").at(document.place(entry.key));
    // An integer may have any size here; what pawl cannot hold (an infinite number) is told apart by its text.
    const auto digits = codec::yaml_integer_digits(entry.key);
    const auto value = digits ? Result<Json>(Json()) : codec::yaml_value(document, entry.key);
    if (!seen.insert(digits ? *digits : value ? data_key(*value) : std::string(entry.key.text)).second)
      return broken("C-25", fmt::format("not valid YAML: the key '{}' stands twice in one mapping", entry.key.text)).at(document.place(entry.key));
    PAWL_TRY(no_duplicate_keys(document, entry.value));
  }
  return {};
}

Json without_link(const Json& data) {
  Json out = data;
  out.erase("pr-link");
  out.erase("pr_link");
  return out;
}

bool is_canonical(std::string_view link) {
  if (!link.starts_with(kLinkBase)) return false;
  link.remove_prefix(kLinkBase.size());
  return !link.empty() && link.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string canonical_link(std::string_view number) { return fmt::format("{}{}", kLinkBase, number); }
bool is_placeholder_link(std::string_view link) { return link == "XXX" || link == canonical_link("XXX"); }

Result<StrictFile> parse_strict(std::string bytes, const std::string& name, bool no_evals) {
  if (!bytes.ends_with('\n')) return broken_at("C-20", fmt::format("{} does not end with a newline", name), name, bytes, bytes.size());
  for (const auto& [rule, character, what] : {std::tuple{"C-21", '\r', "carriage returns"}, {"C-22", '\t', "tabs"}, {"C-23", '\0', "NUL bytes"}}) {
    if (const auto at = bytes.find(character); at != std::string::npos) return broken_at(rule, fmt::format("{} contains {}", name, what), name, bytes, at);
  }
  if (!is_utf8(bytes)) {
    std::size_t at = 0;  // the first line that is not UTF-8
    for (const std::string_view line : lines_of(bytes)) {
      if (!is_utf8(line)) break;
      at += line.size();
    }
    return broken_at("C-24", fmt::format("{} is not UTF-8", name), name, bytes, at);
  }
  StrictFile file{name, std::move(bytes), {}, {}};
  auto parsed = codec::parse_yaml(file.bytes, name);
  if (!parsed) {
    Error error = std::move(parsed).error();
    Error named = broken("C-25", error.message).advise(error.remedy);
    named.place = std::move(error.place);
    return named;
  }
  const YamlDocument& document = *parsed;
  PAWL_TRY(no_duplicate_keys(document, document.root));
  if (document.root.kind != YamlNode::Kind::kSequence)
    return broken_at("C-26", fmt::format("{} must be a list of entries", name), name, file.bytes, document.root.begin);
  const std::size_t counted = entry_starts(file.bytes, true).size();
  const std::size_t items = document.root.items.size();
  if (counted != items) {
    Error error = broken("C-27", fmt::format("{} has {} lines that start with '{}' but {} entries", name, counted, kEntryStart, items))
                      .advise("every entry begins with '- config-keys:' in the first column");
    for (const YamlNode& item : document.root.items) {
      if (item.kind == YamlNode::Kind::kMapping && !item.entries.empty() && item.entries[0].key.text == "config-keys") continue;
      error.place = document.place(item);
      break;
    }
    return error;
  }
  for (const YamlNode& item : document.root.items) {
    PAWL_ASSIGN(LedgerEntry entry, read_entry(document, item, no_evals));
    file.entries.push_back(std::move(entry));
  }
  const std::vector<std::size_t> starts = entry_starts(file.bytes, false);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : file.bytes.size();
    const auto last = file.bytes.find_last_not_of(" \t\r\n", end - 1);
    file.spans.push_back({starts[i], std::min(end, file.bytes.find('\n', last) + 1), end});
  }
  if (file.spans.size() != items) return broken("C-27", fmt::format("{}: entries must begin after a line feed", name));
  return file;
}

Result<StrictChanges> compare_entries(const StrictFile& base, const StrictFile& head, std::optional<std::int64_t> pr_number) {
  const std::size_t old = base.entries.size();
  if (head.entries.size() < old) {
    return broken("C-30", fmt::format("entries were deleted: {} of {} remain", head.entries.size(), old)).at(base.entries[head.entries.size()].place);
  }
  StrictChanges changes;
  for (std::size_t i = 0; i < old; ++i) {
    const LedgerEntry &before = base.entries[i], &after = head.entries[i];
    if (same_data(before.data, after.data)) continue;
    if (!same_data(without_link(before.data), without_link(after.data))) {
      return broken("C-31", fmt::format("entry {} changed; history is immutable, except that a pr-link may be corrected", i + 1)).at(after.place);
    }
    if (before.pr_link == after.pr_link) return broken("C-32", fmt::format("entry {} changed but not in its pr-link", i + 1)).at(after.place);
    if (!is_canonical(after.pr_link)) {
      return broken("C-33", fmt::format("entry {}: a corrected pr-link must be {}, not '{}'", i + 1, canonical_link("NUMBER"), after.pr_link)).at(after.place);
    }
    changes.corrections.push_back(i);
  }
  changes.additions = head.entries.size() - old;
  if (changes.additions > 0 && !changes.corrections.empty()) {
    return broken("C-34", "do not mix corrections of historical pr-links with new entries").at(head.entries[changes.corrections[0]].place);
  }
  for (std::size_t i = old; i < head.entries.size(); ++i) {
    const LedgerEntry& entry = head.entries[i];
    if (pr_number) {
      const std::string wanted = canonical_link(std::to_string(*pr_number));
      if (entry.pr_link != wanted && !is_placeholder_link(entry.pr_link))
        return broken("C-35", fmt::format("a new PR entry must use {} or XXX as its pr-link, not '{}'", wanted, entry.pr_link)).at(entry.place);
    } else if (!is_canonical(entry.pr_link)) {
      return broken("C-36", fmt::format("a new main-branch entry must use {}, not '{}'", canonical_link("NUMBER"), entry.pr_link)).at(entry.place);
    }
  }
  return changes;
}

Status compare_bytes(const StrictFile& base, const StrictFile& head, const StrictChanges& changes) {
  const std::string_view before = base.bytes, after = head.bytes;
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  if (changes.additions > 0) {
    if (!after.starts_with(before)) return broken_at("C-40", "new entries changed historical bytes; restore them", head.name, after, differs);
    const std::string_view suffix = after.substr(before.size());
    if (!suffix.starts_with(before.ends_with("\n\n") ? "- config-keys:" : "\n- config-keys:"))
      return broken_at("C-41", "new entries must be separated from history by exactly one empty line", head.name, after, before.size());
    const std::vector<std::size_t> starts = entry_starts(suffix, false);
    for (std::size_t i = 1; i < starts.size(); ++i) {
      const std::string_view until = suffix.substr(0, starts[i]);
      if (!until.ends_with("\n\n") || until.ends_with("\n\n\n"))
        return broken_at("C-42", "between appended entries stands exactly one empty separator line", head.name, after, before.size() + starts[i]);
    }
    if (after.ends_with("\n\n")) return broken_at("C-43", "the last appended entry must end with one newline", head.name, after, after.size());
    return {};
  }
  if (!changes.corrections.empty()) {
    const auto old_lines = lines_of(before), new_lines = lines_of(after);
    if (old_lines.size() != new_lines.size()) return broken_at("C-44", "a pr-link correction must not add or remove lines", head.name, after, differs);
    std::size_t changed = 0, at = 0;
    for (std::size_t i = 0; i < old_lines.size(); at += new_lines[i].size(), ++i) {
      if (old_lines[i] == new_lines[i]) continue;
      ++changed;
      for (const std::string_view line : {old_lines[i], new_lines[i]}) {
        if (!line.starts_with(kLinkStart) || !line.ends_with('\n'))
          return broken_at("C-45", "a correction changed bytes outside a pr-link line", head.name, after, at);
      }
    }
    if (changed != changes.corrections.size()) {
      return broken_at("C-46", fmt::format("{} lines changed for {} corrected pr-links", changed, changes.corrections.size()), head.name, after, differs);
    }
    return {};
  }
  if (before != after) return broken_at("C-47", "no entry was added and no pr-link corrected, but historical bytes changed", head.name, after, differs);
  return {};
}

Result<StrictChanges> check_strict(const std::string& base, const std::string& head, std::optional<std::int64_t> pr_number, const std::string& base_name,
                                   const std::string& head_name, bool no_evals) {
  PAWL_ASSIGN(const StrictFile old, parse_strict(base, base_name, no_evals));
  PAWL_ASSIGN(const StrictFile now, parse_strict(head, head_name, no_evals));
  PAWL_ASSIGN(StrictChanges changes, compare_entries(old, now, pr_number));
  PAWL_TRY(compare_bytes(old, now, changes));
  return changes;
}

}  // namespace pawl::changelog
