#pragma once

#include <cstddef>
#include <optional>
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
  std::vector<YamlEntry> entries;  ///< mapping, in file order, repeated keys included; what `<<` merges stands first
  std::size_t begin = 0, end = 0;  ///< bytes of the node in the document; for an alias those of the alias
  int line = 0, column = 0;        ///< where it begins, from 1; column in characters
  signed char read_as = -1;        ///< the type as the reader found it; below 0: `type()` finds it anew

  [[nodiscard]] Type type() const;
  /// The value of the last entry with this text as its key, or null.
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

/// Parses exactly one document; an empty text gives a null root. Accepts what PyYAML's pure-Python safe loader accepts,
/// and refuses what it refuses: tabs outside quotes, block text and comments, control characters, impossible dates, unknown
/// tags, anchors used twice. Known gaps, refused: `!!binary`, `!!set`, `!!omap`, `!!pairs`, an alias inside its own anchor,
/// a tab that begins folded block text of several lines, and the list of recipes-matrix-changelog 2. Errors carry file, line, column and the line.
/// Limits: 64 MiB, 300 levels, aliases expand to at most 1,000,000 nodes.
[[nodiscard]] Result<YamlDocument> parse_yaml(std::string bytes, std::string name);

/// The value of a node: YAML 1.1 scalars, the last of repeated keys. Timestamps become their text.
/// Errors: an integer beyond 64 bits, a number that is not finite.
[[nodiscard]] Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node);

/// The decimal digits of an integer node, whatever its size; nothing for other nodes.
[[nodiscard]] std::optional<std::string> yaml_integer_digits(const YamlNode& node);

/// `text` as a plain or double-quoted YAML scalar that reads back as exactly this text.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace pawl::codec
