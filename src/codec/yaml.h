#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace pawl::codec {

/// The text of a scalar: a view into the document that it belongs to. Becomes a `std::string` of its own where one is wanted.
struct YamlText : std::string_view {
  YamlText() = default;
  explicit YamlText(std::string_view text) : std::string_view(text) {}
  operator std::string() const { return std::string(data(), size()); }  // NOLINT: a text is a string wherever one is kept
};
inline std::string operator+(std::string left, const YamlText& right) { return std::move(left.append(right.data(), right.size())); }
inline std::string operator+(const YamlText& left, std::string_view right) { return std::string(left).append(right); }

/// The children of a collection: a view into the document.
template <class T>
class YamlList {
 public:
  YamlList() = default;
  YamlList(const T* first, std::size_t count) : first_(first), count_(static_cast<std::uint32_t>(count)) {}
  [[nodiscard]] const T* begin() const { return first_; }
  [[nodiscard]] const T* end() const;
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const T& operator[](std::size_t i) const;
  [[nodiscard]] const T& front() const { return *first_; }
  [[nodiscard]] const T& back() const { return (*this)[count_ - 1]; }

 private:
  const T* first_ = nullptr;
  std::uint32_t count_ = 0;
};

struct YamlEntry;

/// One node of a YAML document with its place in the bytes. Scalars keep the raw text; what it means is asked for with
/// `type()` and `value()`, by the rules of YAML 1.1 as PyYAML's safe loader reads it (recipes-matrix-changelog 2).
/// Cheap to copy; valid as long as a copy of its document lives. Texts lie in the bytes of the file wherever they stand there as they are.
struct YamlNode {
  enum class Kind : unsigned char { kScalar, kSequence, kMapping };
  enum class Type : signed char { kNull, kBool, kInt, kFloat, kText, kTimestamp };

  Kind kind = Kind::kScalar;
  bool plain = false;           ///< scalar: written without quotes, so its text decides the type
  signed char read_as = -1;     ///< the type as the reader found it; below 0: `type()` finds it anew
  std::uint32_t begin = 0;      ///< bytes of the node in the document; for an alias those of the alias
  std::uint32_t end = 0;        ///< behind its last byte
  int line = 0;                 ///< where it begins, from 1
  int column = 0;               ///< in characters, from 1
  YamlText text;                ///< scalar: its value, quotes and escapes resolved
  const char* tag = "";         ///< explicit tag, empty when none; never null
  YamlList<YamlNode> items;     ///< sequence
  YamlList<YamlEntry> entries;  ///< mapping, in file order, repeated keys included; what `<<` merges stands first

  [[nodiscard]] Type type() const;
  /// The value of the last entry with this text as its key, or null.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  [[nodiscard]] bool is_text() const { return kind == Kind::kScalar && type() == Type::kText; }
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

template <class T>
const T* YamlList<T>::end() const {
  return first_ + count_;
}
template <class T>
const T& YamlList<T>::operator[](std::size_t i) const {
  return first_[i];
}

/// One parsed document, together with the text that its places point into. Copies share what they hold.
struct YamlDocument {
  std::string name;        ///< file name, for errors
  std::string_view bytes;  ///< of the file, as they came
  YamlNode root;
  std::shared_ptr<const void> storage;  ///< what `bytes` and the nodes point into

  /// The place of a node, with its line, for an error.
  [[nodiscard]] SourcePlace place(const YamlNode& node) const;
};

/// What the reader takes.
struct YamlLimits {
  std::size_t bytes = 64u << 20;     ///< of the file; never more than 4 GiB - 1
  int depth = 300;                   ///< collections in one another
  std::size_t expanded = 1'000'000;  ///< nodes that aliases stand for, all together
};

/// Parses exactly one document; an empty text gives a null root. Accepts what PyYAML's pure-Python safe loader accepts,
/// and refuses what it refuses: tabs outside quotes, block text and comments, control characters, impossible dates, unknown
/// tags, anchors used twice. Known gaps, refused: `!!binary`, `!!set`, `!!omap`, `!!pairs`, an alias inside its own anchor,
/// a tab that begins folded block text of several lines, and the list of recipes-matrix-changelog 2. Errors carry file, line, column and the line;
/// what is beyond a limit is an error that names the limit.
[[nodiscard]] Result<YamlDocument> parse_yaml(std::string bytes, std::string name, const YamlLimits& limits = {});

/// The value of a node: YAML 1.1 scalars, the last of repeated keys. Timestamps become their text.
/// Errors: an integer beyond 64 bits, a number that is not finite.
[[nodiscard]] Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node);
/// Equal in kinds, types, texts and order at every depth, wherever the two stand.
[[nodiscard]] bool yaml_same(const YamlNode& a, const YamlNode& b);
/// The error that `yaml_value` would give, without making the value.
[[nodiscard]] Status yaml_values_fit(const YamlDocument& document, const YamlNode& node);

/// The decimal digits of an integer node, whatever its size; nothing for other nodes.
[[nodiscard]] std::optional<std::string> yaml_integer_digits(const YamlNode& node);

/// `text` (valid UTF-8) as a double-quoted YAML scalar on one line that reads back as exactly this text.
[[nodiscard]] std::string yaml_quoted(std::string_view text);
/// The same, without quotes where none are needed.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace pawl::codec
