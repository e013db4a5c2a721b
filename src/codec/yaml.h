#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::codec {

struct YamlEntry;

/// One node of a YAML document with its place in the bytes. Scalars keep the raw text; what it means is asked for with
/// `type()` and `value()`, by the rules of YAML 1.1 as PyYAML's safe loader reads it (recipes-matrix-changelog 2).
struct YamlNode {
  enum class Kind { kScalar, kSequence, kMapping };
  enum class Type { kNull, kBool, kInt, kFloat, kText, kTimestamp };

  Kind kind = Kind::kScalar;
  std::string text;                ///< scalar: its value, quotes and escapes resolved
  bool plain = false;              ///< scalar: written without quotes, so its text decides the type
  std::string tag;                 ///< explicit tag, empty when none
  std::vector<YamlNode> items;     ///< sequence
  std::vector<YamlEntry> entries;  ///< mapping, in file order, repeated keys included
  std::size_t begin = 0, end = 0;  ///< bytes of the node in the document; for an alias those of the alias
  int line = 0, column = 0;        ///< where it begins, from 1; column in characters

  [[nodiscard]] Type type() const;
  /// The value of the last entry with this key, or null.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  [[nodiscard]] bool is_text() const { return kind == Kind::kScalar && type() == Type::kText; }
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

/// One parsed document, together with the text that its places point into.
struct YamlDocument {
  std::string name;  ///< file name, for errors
  std::string bytes;
  YamlNode root;

  /// The place of a node, with its line, for an error.
  [[nodiscard]] SourcePlace place(const YamlNode& node) const;
};

/// Parses exactly one document; an empty text gives a null root. Errors carry file, line, column and the line.
/// Limits: 64 MiB, 300 levels, aliases expand to at most 1,000,000 nodes.
[[nodiscard]] Result<YamlDocument> parse_yaml(std::string bytes, std::string name);

/// The value of a node: YAML 1.1 scalars, the last of repeated keys, merge keys applied. Timestamps become their text.
/// Errors: a key that is no scalar, an integer beyond 64 bits.
[[nodiscard]] Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node);

/// `text` as a plain or double-quoted YAML scalar that reads back as exactly this text.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace pawl::codec
