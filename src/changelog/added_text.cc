#include "changelog/added_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shown.h"
#include "base/text.h"
#include "changelog/rule.h"

namespace pawl::changelog {
namespace {

constexpr std::size_t kBinaryProbe = 8000;  // where git looks for a NUL
constexpr std::size_t kContext = 3;         // lines that `git diff` shows around a change

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\v\f\x1c\x1d\x1e\x1f") == std::string_view::npos; }

bool looks_binary(std::string_view bytes) { return bytes.substr(0, kBinaryProbe).contains('\0'); }

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

Error deletion(const std::string& file, const std::string& base, const std::vector<std::string_view>& old, std::size_t line, const std::string& head) {
  const auto at = static_cast<std::size_t>(old[line].data() - base.data());
  Error error = broken_at("C-50", fmt::format("Deletions are not allowed in {}: '{}' is gone", file, shown_line(without_end(old[line]))), file, base, at);
  if (!base.ends_with('\n') && line + 1 == old.size() && head.starts_with(base))
    return std::move(error).advise("the base file lacks its final newline, so any addition changes its last line: end it with one newline on main first");
  return std::move(error).advise("restore history from the base; if the branch is merely behind, take the current file and append the entry again");
}

/// The line of head that a line of the added text is; before and behind it the nearest one.
int head_line(const AddedText& added, int line) {
  if (added.head_lines.empty()) return line;
  return added.head_lines[static_cast<std::size_t>(std::clamp(line, 1, static_cast<int>(added.head_lines.size()))) - 1];
}

Error in_head(Error error, const AddedText& added) {
  if (error.place) error.place->line = head_line(added, error.place->line);
  return error;
}

}  // namespace

Result<AddedText> added_text(const std::string& base, const std::string& head, const std::string& file, DiffReading reading) {
  const auto nothing = [&] { return broken_at("C-51", fmt::format("No additions found in {}", file), file, head, head.size()); };
  const bool reference = reading == DiffReading::kReference;
  if (base == head || looks_binary(base) || looks_binary(head)) {
    if (base == head || reference) return nothing();
    return nothing().advise("a NUL byte makes git call the file binary");
  }
  const auto old_lines = lines_of(base), new_lines = lines_of(head);
  std::vector<LineChange> changes;
  if (head.starts_with(base) && (base.empty() || base.ends_with('\n'))) {
    changes.push_back({old_lines.size(), old_lines.size(), old_lines.size(), new_lines.size()});
  } else {
    changes = line_changes(old_lines, new_lines);
  }
  AddedText added;
  for (const LineChange& change : changes) {
    for (std::size_t i = change.old_begin; i < change.old_end; ++i) {
      if (is_blank(old_lines[i]) || (reference && old_lines[i].starts_with("--"))) continue;
      return deletion(file, base, old_lines, i, head);
    }
    const std::size_t from = change.new_begin - std::min(change.new_begin, kContext), to = std::min(change.new_end + kContext, new_lines.size());
    for (std::size_t i = from; i < to; ++i) {
      const auto at = static_cast<std::size_t>(new_lines[i].data() - head.data());
      if (!is_utf8(new_lines[i])) return broken_at("C-24", fmt::format("{} is not UTF-8", file), file, head, at);
      if (i < change.new_begin || i >= change.new_end || (reference && new_lines[i].starts_with("++"))) continue;
      std::string_view line = without_end(new_lines[i]);
      if (reference && line.ends_with('\r')) line.remove_suffix(1);
      if (!added.head_lines.empty()) added.text += '\n';
      added.text += line;
      added.head_lines.push_back(static_cast<int>(i) + 1);
    }
  }
  if (is_blank(added.text)) return nothing();
  return added;
}

Result<std::vector<LedgerEntry>> added_entries(const AddedText& added, const std::string& file, bool no_evals) {
  auto parsed = codec::parse_yaml(added.text, file);
  if (!parsed) {
    Error error = broken("C-25", "the added text is " + parsed.error().message);
    error.place = parsed.error().place;
    return in_head(std::move(error), added);
  }
  const codec::YamlNode& root = parsed->root;
  const bool null = root.kind == codec::YamlNode::Kind::kScalar && root.type() == codec::YamlNode::Type::kNull;
  if (null || (root.kind == codec::YamlNode::Kind::kSequence && root.items.empty())) {
    return in_head(broken("C-52", fmt::format("No valid YAML entries found in the additions to {}", file)).at(parsed->place(root)), added);
  }
  if (root.kind != codec::YamlNode::Kind::kSequence) {
    return in_head(broken("C-28", "the added text must be a list of entries").at(parsed->place(root)), added)
        .advise("an addition inside an old entry is no entry: append a new one");
  }
  std::vector<LedgerEntry> entries;
  for (const codec::YamlNode& item : root.items) {
    auto entry = read_entry(*parsed, item, no_evals);
    if (!entry) return in_head(std::move(entry).error(), added);
    entry->place.line = head_line(added, entry->place.line);
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace pawl::changelog
