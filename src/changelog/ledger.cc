#include "changelog/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace pawl::changelog {
namespace {

using codec::Json;
using codec::YamlNode;

constexpr std::size_t kDescriptionMax = 120;

int line_of(std::string_view text, std::size_t at) { return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n')); }

Error refused(const std::string& rule, const std::string& file, std::string_view text, std::size_t at) {
  const auto start = text.rfind('\n', at == 0 ? 0 : at - 1);
  const auto begin = at == 0 || start == std::string_view::npos ? 0 : start + 1;
  const std::string line(text.substr(begin, std::min<std::size_t>(text.find('\n', begin) - begin, 160)));
  return bad_input("changelog: " + rule).at({file, line_of(text, at), 1, line});
}

}  // namespace

std::string write_entry(const Entry& entry, const EntryModifiers& m) {
  std::string text = "- config-keys:\n";
  for (const std::string& key : entry.config_keys) text += "    - " + codec::yaml_scalar(key) + "\n";
  text += "  description:\n";
  for (const std::string& line : entry.description) text += "    - " + codec::yaml_quoted(line) + "\n";
  text += "  pr-link: " + codec::yaml_scalar(entry.pr_link) + "\n";
  for (const auto& [name, set] :
       {std::pair{"evals-only", m.evals_only}, {"all-evals", m.all_evals}, {"append-only", m.append_only}, {"no-evals", m.no_evals}}) {
    if (set) text += fmt::format("  {}: true\n", name);
  }
  if (m.eval_min_prefill_ep) text += fmt::format("  eval-min-prefill-ep: {}\n", *m.eval_min_prefill_ep);
  if (!m.scenario_type.empty()) text += "  scenario-type:\n";
  for (const std::string& type : m.scenario_type) text += "    - " + codec::yaml_scalar(type) + "\n";
  return text;
}

Result<std::string> append(const std::string& base, const Entry& entry, const std::string& file, const EntryModifiers& m) {
  const bool evals = m.evals_only || m.all_evals || m.eval_min_prefill_ep;
  if ((m.append_only || m.no_evals) && evals) {
    return bad_input(fmt::format("C-04: {} cannot stand with evals-only, all-evals or eval-min-prefill-ep", m.append_only ? "append-only" : "no-evals"),
                     "write two entries, in two changes");
  }
  if (!base.ends_with('\n')) {
    return bad_input(fmt::format("{} does not end with a line end: an entry cannot be appended without changing a line of its history", file),
                     "end the file with one newline in a change of its own");
  }
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(base, file));
  if (document.root.kind != YamlNode::Kind::kSequence) return bad_input("the changelog must be a list of entries").at(document.place(document.root));
  std::string head = base + (base.ends_with("\n\n") ? "" : "\n") + write_entry(entry, m);
  // Bytes that only come behind can still change what stands before: kept line ends of block text, a list in brackets, an end marker.
  const auto after = codec::parse_yaml(head, file);
  const std::size_t old = document.root.items.size();
  bool whole = after && after->root.kind == YamlNode::Kind::kSequence && after->root.items.size() == old + 1;
  for (std::size_t i = 0; whole && i < old; ++i) whole = codec::yaml_same(document.root.items[i], after->root.items[i]);
  if (!whole) {
    return bad_input(fmt::format("{}: an entry cannot be appended without changing what the old ones say", file),
                     "write the file as a list of '- ' items in the first column that ends with ordinary text, in a change of its own");
  }
  return head;
}

Status check_appended(const std::string& base, const std::string& head, const std::string& config_key, const std::string& file) {
  if (!head.starts_with(base)) {
    const auto differ = std::ranges::mismatch(base, head);
    return refused("Deletions are not allowed: the history must stay byte for byte", file, base, static_cast<std::size_t>(differ.in1 - base.begin()))
        .advise("the branch may be behind: take the current file and append the entry again");
  }
  const std::string_view added = std::string_view(head).substr(base.size());
  if (added.empty()) return refused("No additions found", file, head, head.size());
  const std::string_view start = base.ends_with("\n\n") ? "- config-keys:" : "\n- config-keys:";
  if (!added.starts_with(start)) return refused("the entry must be separated from history by exactly one blank line", file, head, base.size());
  if (!head.ends_with('\n') || head.ends_with("\n\n")) return refused("the file must end with one newline", file, head, head.size());
  for (const auto& [character, name] : {std::pair{'\r', "carriage return"}, {'\t', "tab"}, {'\0', "NUL"}}) {
    if (const auto at = added.find(character); at != std::string_view::npos)
      return refused(fmt::format("a {} is not allowed", name), file, head, base.size() + at);
  }
  if (!is_utf8(added)) return refused("the text must be UTF-8", file, head, base.size());
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(std::string(added), file));
  PAWL_ASSIGN(const Json entries, codec::yaml_value(document, document.root));
  if (!entries.is_array() || entries.size() != 1) return refused("exactly one entry must be appended", file, head, base.size());
  for (auto it = entries[0].begin(); it != entries[0].end(); ++it) {
    if (it.key() != "config-keys" && it.key() != "description" && it.key() != "pr-link") {
      return refused(fmt::format("the entry must not carry '{}'", it.key()), file, head, base.size() + 1);
    }
  }
  for (const char* key : {"config-keys", "description", "pr-link"}) {
    if (!entries[0].contains(key)) return refused(fmt::format("the entry has no '{}'", key), file, head, base.size() + 1);
  }
  if (entries[0]["config-keys"] != Json::array({config_key}))
    return refused(fmt::format("the entry must name exactly {}", config_key), file, head, base.size() + 1);
  return {};
}

std::string bump_description(std::string_view engine, std::string_view from, std::string_view to) {
  std::string text = fmt::format("Update {} image from {} to {}", engine, from, to);
  if (text.size() > kDescriptionMax) text = fmt::format("Update {} image to {}", engine, to);
  if (text.size() > kDescriptionMax) text = fmt::format("Update {} image", engine);
  return text;
}

}  // namespace pawl::changelog
