#include "codec/internal/yaml_usual.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "codec/internal/yaml_scalar.h"
#include "codec/internal/yaml_scan.h"

namespace pawl::codec::internal {
namespace {

constexpr int kDepthMax = 64;          ///< what is nested deeper is left to libyaml
constexpr std::size_t kKeyMax = 1000;  ///< libyaml takes keys of 1024 characters

enum CharClass : unsigned char {
  kLetter = 1,  ///< may begin plain text
  kFlow = 2,    ///< stands for itself in plain text of a flow collection
  kText = 4,    ///< stands for itself in plain text of a block: neither the end of a line, ':' nor '#'
};

constexpr auto kClass = [] {
  std::array<unsigned char, 256> of{};
  for (std::size_t c = 0x21; c < 0x7F; ++c) of[c] = kText | kFlow;
  of[' '] = kText;
  for (const char c : std::string_view(":#")) of[static_cast<unsigned char>(c)] = 0;
  for (const char c : std::string_view(",?[]{}")) of[static_cast<unsigned char>(c)] = kText;
  for (const char c : std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._/+~(")) of[static_cast<unsigned char>(c)] |= kLetter;
  return of;
}();

bool is(char c, CharClass wanted) { return (kClass[static_cast<unsigned char>(c)] & wanted) != 0; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Every byte is printable ASCII or a tab.
bool ordinary(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u, kHigh = 0x8080808080808080u;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + i, 8);
    // A byte below 0x20, 0x7F or above sets its high bit in one of these.
    if ((((eight - kOnes * 0x20) | (eight + kOnes) | eight) & kHigh) != 0) break;
  }
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if ((c < 0x20 || c > 0x7E) && c != '\t') return false;
  }
  return true;
}

class UsualForm {
 public:
  UsualForm(YamlStorage& storage, int depth) : storage_(storage), bytes_(storage.bytes), depth_max_(depth) {}

  bool read(YamlNode& root) {
    if (!next_token() || indent() != 0) return false;
    if (!(dash() ? sequence(0, false, 0, root) : mapping(0, nullptr, 0, root))) return false;
    return ended();
  }

 private:
  [[nodiscard]] bool ended() const { return at_ == bytes_.size(); }
  /// The character at the cursor; a line break at the end of the text.
  [[nodiscard]] char here() const { return peek(0); }
  [[nodiscard]] char peek(std::size_t ahead) const { return at_ + ahead < bytes_.size() ? bytes_[at_ + ahead] : '\n'; }
  [[nodiscard]] int column() const { return static_cast<int>(at_ - line_begin_); }
  /// The column of the token that the cursor has reached, -1 at the end.
  [[nodiscard]] int indent() const { return ended() ? -1 : column(); }
  [[nodiscard]] bool dash() const { return here() == '-' && (peek(1) == ' ' || peek(1) == '\n'); }

  void begin(YamlNode& node) const {
    node.begin = static_cast<std::uint32_t>(at_);
    node.line = line_;
    node.column = column() + 1;
  }
  void end(YamlNode& node) const { node.end = static_cast<std::uint32_t>(at_); }

  void skip_blanks() {
    while (here() == ' ') ++at_;
  }

  /// From the end of a node to the next one on a later line, over blank lines and comments. False: something else follows on this line.
  bool next_token() {
    for (bool fresh = at_ == line_begin_;; fresh = true) {
      skip_blanks();
      if (ended()) return true;
      if (here() == '#') {
        if (at_ > line_begin_ && bytes_[at_ - 1] != ' ') return false;
        if (!comment()) return false;
        if (ended()) return true;
      }
      if (here() != '\n') return fresh;
      ++at_;
      ++line_;
      line_begin_ = at_;
    }
  }

  bool comment() {
    const std::size_t found = bytes_.find('\n', at_), to = found == std::string_view::npos ? bytes_.size() : found;
    const std::string_view text = bytes_.substr(at_, to - at_);
    at_ = to;
    if (ordinary(text)) return true;
    // Line breaks of YAML 1.1 end a comment, and marks of byte order have rules of their own.
    for (const std::string_view other : {"\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF"}) {
      if (text.contains(other)) return false;
    }
    return is_utf8(text) && !find_forbidden_character(text);
  }

  /// What plain text means; false where libyaml's reader has something to say about it.
  static bool typed(YamlNode& node) {
    const YamlNode::Type type = node.type();
    node.read_as = static_cast<signed char>(type);
    switch (type) {
      case YamlNode::Type::kInt:
        return integer_value(node.text) || integer_digits(node.text);
      case YamlNode::Type::kFloat:
        return float_value(node.text).has_value();
      case YamlNode::Type::kTimestamp:
        return date_problem(node.text).empty();
      case YamlNode::Type::kBool:
      case YamlNode::Type::kNull:
      case YamlNode::Type::kText:
        break;
    }
    return true;
  }

  /// A scalar at the cursor, which is left behind it.
  bool scalar(bool flow, YamlNode& out) {
    begin(out);
    const char first = here();
    if (first == '"' || first == '\'') {
      std::size_t to = at_ + 1;
      while (to < bytes_.size() && bytes_[to] != first) {
        const char c = bytes_[to];
        if (c < 0x20 || c > 0x7E || (c == '\\' && first == '"')) return false;
        ++to;
      }
      if (to >= bytes_.size()) return false;
      out.text = YamlText(bytes_.substr(at_ + 1, to - at_ - 1));
      out.read_as = static_cast<signed char>(YamlNode::Type::kText);
      at_ = to + 1;
      end(out);
      return here() != '\'';  // a quote that is doubled
    }
    const bool number = first == '-' && (digit(peek(1)) || peek(1) == '.');
    if (!is(first, kLetter) && !number) return false;
    if (first == '.' && column() == 0) return false;  // the end of a document begins like this
    std::size_t to = at_;
    const CharClass own = flow ? kFlow : kText;
    for (; to < bytes_.size(); ++to) {
      const char c = bytes_[to];
      if (is(c, own)) continue;
      const char after = to + 1 < bytes_.size() ? bytes_[to + 1] : '\n';
      if (c == ':' && after != ' ' && after != '\n') {
        if (flow && !is(after, kFlow)) return false;
        continue;
      }
      if (c == '#' && bytes_[to - 1] != ' ') continue;
      if (c == ' ' && flow && is(after, kFlow)) continue;
      break;
    }
    while (bytes_[to - 1] == ' ') --to;
    out.plain = true;
    out.text = YamlText(bytes_.substr(at_, to - at_));
    at_ = to;
    end(out);
    return typed(out);
  }

  /// A value or an item that begins where the cursor is; the cursor goes to the next token.
  bool inline_node(int depth, YamlNode& out) {
    const bool good = here() == '[' ? flow_sequence(depth, out) : here() == '{' ? flow_mapping(depth, out) : scalar(false, out);
    return good && next_token();
  }

  /// `first`: the key at the beginning, where it is read already.
  bool mapping(int level, const YamlNode* first, int depth, YamlNode& out) {
    if (depth >= depth_max_) return false;
    out.kind = YamlNode::Kind::kMapping;
    const std::size_t open = entries_.size();
    if (first == nullptr) begin(out);
    for (;;) {
      YamlEntry entry;
      if (first != nullptr) {
        entry.key = *first;
        out.begin = first->begin, out.line = first->line, out.column = first->column;
        first = nullptr;
      } else if (!scalar(false, entry.key) || !colon(entry.key)) {
        return false;
      }
      ++at_;
      YamlNode nothing;
      begin(nothing);
      skip_blanks();
      if (here() != '\n' && here() != '#') {
        if (!inline_node(depth + 1, entry.value)) return false;
      } else {
        if (!next_token()) return false;
        if (indent() > level) {
          if (!(dash() ? sequence(column(), false, depth + 1, entry.value) : mapping(column(), nullptr, depth + 1, entry.value))) return false;
        } else if (indent() == level && dash()) {
          if (!sequence(level, true, depth + 1, entry.value)) return false;
        } else {
          nothing.plain = true;
          nothing.end = nothing.begin;
          nothing.text = YamlText(bytes_.substr(nothing.begin, 0));
          nothing.read_as = static_cast<signed char>(YamlNode::Type::kNull);
          entry.value = nothing;
        }
      }
      entries_.push_back(entry);
      if (indent() == level) continue;
      if (indent() > level) return false;
      break;
    }
    end(out);
    out.entries = storage_.keep_all(entries_.data() + open, entries_.size() - open);
    entries_.resize(open);
    return true;
  }

  /// The cursor is at the ':' that makes a key of what stands before it.
  [[nodiscard]] bool colon(const YamlNode& key) const { return here() == ':' && (peek(1) == ' ' || peek(1) == '\n') && key.end - key.begin <= kKeyMax; }

  /// `beside_key`: the list stands at the column of the key that it is the value of.
  bool sequence(int level, bool beside_key, int depth, YamlNode& out) {
    if (depth >= depth_max_) return false;
    out.kind = YamlNode::Kind::kSequence;
    begin(out);
    const std::size_t open = items_.size();
    for (;;) {
      ++at_;
      skip_blanks();
      if (here() == '\n' || here() == '#') return false;
      YamlNode item;
      if (dash()) {
        if (!sequence(column(), false, depth + 1, item)) return false;
      } else if (here() == '[' || here() == '{') {
        if (!inline_node(depth + 1, item)) return false;
      } else {
        const int inner = column();
        YamlNode text;
        if (!scalar(false, text)) return false;
        if (!colon(text)) {
          item = text;
          if (!next_token()) return false;
        } else if (!mapping(inner, &text, depth + 1, item)) {
          return false;
        }
      }
      items_.push_back(item);
      if (indent() == level && dash()) continue;
      if (indent() > level || (indent() == level && !beside_key)) return false;
      break;
    }
    end(out);
    out.items = storage_.keep_all(items_.data() + open, items_.size() - open);
    items_.resize(open);
    return true;
  }

  bool flow_node(int depth, YamlNode& out) { return here() == '[' ? flow_sequence(depth, out) : here() == '{' ? flow_mapping(depth, out) : scalar(true, out); }

  /// Behind an entry: over ',' to the next one. Nothing: something else follows; false: the collection ends.
  std::optional<bool> more(char closing) {
    skip_blanks();
    if (here() == closing) {
      ++at_;
      return false;
    }
    if (here() != ',') return std::nullopt;
    ++at_;
    skip_blanks();
    return true;
  }

  bool flow_sequence(int depth, YamlNode& out) {
    if (depth >= depth_max_) return false;
    out.kind = YamlNode::Kind::kSequence;
    begin(out);
    const std::size_t open = items_.size();
    ++at_;
    skip_blanks();
    if (here() == ']') {
      ++at_;
    } else {
      for (bool again = true; again;) {
        YamlNode item;
        if (!flow_node(depth + 1, item)) return false;
        items_.push_back(item);
        const auto next = more(']');
        if (!next) return false;
        again = *next;
      }
    }
    end(out);
    out.items = storage_.keep_all(items_.data() + open, items_.size() - open);
    items_.resize(open);
    return true;
  }

  bool flow_mapping(int depth, YamlNode& out) {
    if (depth >= depth_max_) return false;
    out.kind = YamlNode::Kind::kMapping;
    begin(out);
    const std::size_t open = entries_.size();
    ++at_;
    skip_blanks();
    if (here() == '}') {
      ++at_;
    } else {
      for (bool again = true; again;) {
        YamlEntry entry;
        if (!scalar(true, entry.key) || !colon(entry.key) || peek(1) != ' ') return false;
        ++at_;
        skip_blanks();
        if (!flow_node(depth + 1, entry.value)) return false;
        entries_.push_back(entry);
        const auto next = more('}');
        if (!next) return false;
        again = *next;
      }
    }
    end(out);
    out.entries = storage_.keep_all(entries_.data() + open, entries_.size() - open);
    entries_.resize(open);
    return true;
  }

  YamlStorage& storage_;
  std::string_view bytes_;
  int depth_max_;
  std::size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
  std::vector<YamlNode> items_;     ///< children of the lists that are still open, the innermost last
  std::vector<YamlEntry> entries_;  ///< the same of mappings
};

}  // namespace

std::optional<YamlNode> read_usual_form(YamlStorage& storage, const YamlLimits& limits) {
  YamlNode root{.plain = true, .line = 1, .column = 1};
  if (UsualForm(storage, std::min(kDepthMax, limits.depth)).read(root)) return root;
  storage.arena.release();
  return std::nullopt;
}

bool yaml_identical(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.plain != b.plain || a.read_as != b.read_as || a.begin != b.begin || a.end != b.end || a.line != b.line || a.column != b.column ||
      a.text != b.text || std::string_view(a.tag) != b.tag || a.items.size() != b.items.size() || a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!yaml_identical(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (!yaml_identical(a.entries[i].key, b.entries[i].key) || !yaml_identical(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

}  // namespace pawl::codec::internal
