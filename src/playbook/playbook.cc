#include "playbook/playbook.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/text.h"
#include "codec/describe.h"
#include "codec/yaml.h"

namespace pawl::playbook {
namespace {

using codec::Json;

/// Long lines are cut before matching: std::regex recurses once a character.
constexpr std::size_t kLineMax = 2000;

Result<Json> list_of(const std::string& text, const std::string& name, const char* key) {
  PAWL_ASSIGN(const codec::YamlDocument document, codec::parse_yaml(text, name));
  PAWL_ASSIGN(Json json, codec::yaml_value(document, document.root));
  if (!json.is_object() || !json.contains(key) || !json[key].is_array()) return bad_input(fmt::format("{}: expected a list '{}'", name, key));
  return json[key];
}

std::optional<std::regex> compile(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

}  // namespace

Result<Playbook> Playbook::parse(const std::string& signatures, const std::string& flags) {
  Playbook book;
  PAWL_ASSIGN(const Json rows, list_of(signatures, "playbook/signatures.yaml", "signatures"));
  for (const Json& row : rows) {
    Signature s{row.value("row", std::string()), RepairClass::kEngine, row.value("pattern", std::string()), row.value("summary", std::string())};
    const auto cls = codec::enum_value<RepairClass>(row.value("class", std::string()));
    if (!cls || s.row.empty() || !compile(s.pattern)) return bad_input(fmt::format("playbook/signatures.yaml: row '{}' has no valid class or pattern", s.row));
    s.cls = *cls;
    book.signatures_.push_back(std::move(s));
  }
  PAWL_ASSIGN(const Json changes, list_of(flags, "playbook/flags.yaml", "flags"));
  PAWL_ASSIGN(book.flags_, codec::from_json<std::vector<FlagChange>>(changes, "playbook/flags.yaml"));
  return book;
}

std::optional<Diagnosis> Playbook::classify(const std::vector<std::string>& lines) const {
  for (const std::string& whole : lines) {
    const std::string line = whole.substr(0, kLineMax);
    for (const Signature& signature : signatures_) {
      std::smatch match;
      if (!std::regex_search(line, match, *compile(signature.pattern))) continue;
      Diagnosis found{signature.row, signature.summary, line, signature.cls, {}};
      if (signature.cls == RepairClass::kFlag && match.size() > 1) {
        const std::string named = match[1].str();
        for (const std::string_view word : split(named, ' ')) {
          if (word.starts_with("--")) found.flags.emplace_back(word.substr(0, word.find('=')));
        }
      }
      return found;
    }
  }
  return std::nullopt;
}

std::optional<FlagChange> Playbook::find_flag(const std::string& engine, const std::string& flag) const {
  const auto found = std::ranges::find_if(flags_, [&](const FlagChange& change) { return change.engine == engine && change.flag == flag; });
  if (found == flags_.end()) return std::nullopt;
  return *found;
}

}  // namespace pawl::playbook
