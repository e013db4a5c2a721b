#include "codec/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"
#include "codec/internal/yaml_scalar.h"
#include "codec/internal/yaml_scan.h"

namespace pawl::codec {

using namespace internal;  // NOLINT: the scalars and the pre-scan of this very reader

namespace {

constexpr std::size_t kBytesMax = 64u << 20;
constexpr int kDepthMax = 300;
constexpr std::size_t kNodesMax = 1'000'000;
constexpr std::size_t kStandInsMax = 16;
constexpr const char* kMend = "mend the line that is shown; what is missing may stand just above it";

/// Maps libyaml's marks to bytes. Its `index` counts characters after the byte-order mark; ASCII files need no table.
class ByteIndex {
 public:
  explicit ByteIndex(std::string_view text) : bom_(text.starts_with("\xEF\xBB\xBF") ? 3 : 0), size_(text.size()) {
    text.remove_prefix(bom_);
    ascii_ = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (ascii_) return;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) starts_.push_back(i + bom_);
    }
  }
  [[nodiscard]] std::size_t byte(std::size_t character) const {
    if (ascii_) return std::min(character + bom_, size_);
    return character < starts_.size() ? starts_[character] : size_;
  }

 private:
  std::size_t bom_, size_;
  bool ascii_ = true;
  std::vector<std::size_t> starts_;
};

class Reader {
 public:
  /// `stand_ins`: bytes that hold a tab in the document and are read as another character.
  Reader(YamlDocument& document, const std::vector<std::size_t>& stand_ins)
      : doc_(document), text_(document.bytes), stand_ins_(stand_ins), index_(document.bytes) {
    for (const std::size_t at : stand_ins) text_[at] = kStandIn;
    yaml_parser_initialize(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Status read() {
    // The byte-order mark is skipped here: libyaml would count it as a character of the first line.
    const std::size_t bom = doc_.bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    if (!is_utf8(doc_.bytes)) return Status(failure_at(first_bad_byte(), "not valid UTF-8"));
    if (const auto bad = find_forbidden_character(doc_.bytes)) return failure_at(bad->at, bad->what + " is not allowed");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text_.data()) + bom, text_.size() - bom);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    bool seen = false;
    for (;;) {
      PAWL_ASSIGN(Event event, next());
      switch (event->type) {
        case YAML_DOCUMENT_START_EVENT: {
          if (seen) return failure("a second document: only one is read", event->start_mark);
          seen = true;
          PAWL_ASSIGN(Event first, next());
          PAWL_TRY(node(*first, doc_.root, 0, Role::kValue));
          break;
        }
        case YAML_STREAM_END_EVENT:
          if (const auto bad = find_lenience(doc_.bytes, spans_)) return failure_at(bad->at, bad->what);
          return {};
        default:
          break;
      }
    }
  }

  /// The byte of a tab that is the first character of block text: libyaml refuses it, PyYAML reads it.
  [[nodiscard]] std::optional<std::size_t> refused_tab() const { return refused_tab_; }

 private:
  struct Deleter {
    void operator()(yaml_event_t* e) const {
      yaml_event_delete(e);
      delete e;  // NOLINT: pairs with next()
    }
  };
  using Event = std::unique_ptr<yaml_event_t, Deleter>;

  Result<Event> next() {
    auto* raw = new yaml_event_t{};  // NOLINT: owned at once
    if (yaml_parser_parse(&parser_, raw) == 0) {
      delete raw;  // NOLINT: holds nothing, libyaml failed
      std::string what = parser_.problem != nullptr ? parser_.problem : "unreadable";
      if (parser_.context != nullptr) what = fmt::format("{} ({})", what, parser_.context);
      yaml_mark_t mark = parser_.problem_mark;
      if (parser_.error == YAML_READER_ERROR) {
        const std::string_view before(doc_.bytes.data(), std::min(parser_.problem_offset, doc_.bytes.size()));
        mark.line = static_cast<std::size_t>(std::ranges::count(before, '\n'));
        mark.column = 0;
      }
      if (what.contains("found a tab character where an indentation space is expected")) {
        what = "a tab where the indentation stands";
        if (mark.column > 0) refused_tab_ = index_.byte(mark.index);
      } else if (const std::size_t at = index_.byte(mark.index); at < doc_.bytes.size() && doc_.bytes[at] == '\t') {
        what = "a tab outside quotes, block text and comments (" + what + ")";
      }
      return failure(what, mark);
    }
    return Event(raw);
  }

  Error failure(const std::string& what, const yaml_mark_t& mark) const {
    const int line = static_cast<int>(mark.line) + 1;
    return bad_input("not valid YAML: " + what).at({doc_.name, line, static_cast<int>(mark.column) + 1, line_text(doc_.bytes, line)}).advise(kMend);
  }

  Error failure_at(std::size_t byte, const std::string& what) const {
    const LineColumn at = locate(doc_.bytes, byte);
    return bad_input("not valid YAML: " + what).at({doc_.name, at.line, at.column, line_text(doc_.bytes, at.line)}).advise(kMend);
  }

  std::size_t first_bad_byte() const {
    std::size_t low = 0, high = doc_.bytes.size();  // the longest good prefix that ends at a character
    for (std::size_t i = 0; i < high; ++i) {
      if ((static_cast<unsigned char>(doc_.bytes[i]) & 0xC0u) == 0x80u) continue;
      const std::size_t n = std::min<std::size_t>(4, high - i);
      bool good = false;
      for (std::size_t k = 1; k <= n && !good; ++k) good = is_utf8(std::string_view(doc_.bytes).substr(i, k));
      low = i;
      if (!good) return low;
    }
    return low;
  }

  void place(YamlNode& node, const yaml_event_t& event) const {
    node.begin = index_.byte(event.start_mark.index);
    node.end = index_.byte(event.end_mark.index);
    node.line = static_cast<int>(event.start_mark.line) + 1;
    node.column = static_cast<int>(event.start_mark.column) + 1;
  }

  enum class Role { kKey, kValue };

  Status node(const yaml_event_t& event, YamlNode& out, int depth, Role role) {
    if (depth >= kDepthMax && event.type != YAML_SCALAR_EVENT && event.type != YAML_ALIAS_EVENT)
      return failure(fmt::format("nesting deeper than {} levels", kDepthMax), event.start_mark);
    ++nodes_;
    place(out, event);
    const auto text_of = [](const unsigned char* t) { return t == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(t)); };
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        const std::string name = text_of(event.data.alias.anchor);
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) return failure("undefined alias *" + name, event.start_mark);
        nodes_ += found->second.second;
        expanded_ += found->second.second;
        if (expanded_ > kNodesMax) return failure("aliases expand to too many nodes", event.start_mark);
        out = found->second.first;
        place(out, event);
        return {};
      }
      case YAML_SCALAR_EVENT: {
        out.kind = YamlNode::Kind::kScalar;
        out.text.assign(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
        out.tag = text_of(event.data.scalar.tag);
        out.plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        PAWL_TRY(take_span(event, out));
        PAWL_TRY(scalar(event, out, role));
        PAWL_TRY(fresh(event, text_of(event.data.scalar.anchor)));
        remember(text_of(event.data.scalar.anchor), out, 1);
        return {};
      }
      case YAML_SEQUENCE_START_EVENT: {
        out.kind = YamlNode::Kind::kSequence;
        out.tag = text_of(event.data.sequence_start.tag);
        PAWL_TRY(collection(event, out.tag, "seq"));
        PAWL_TRY(fresh(event, text_of(event.data.sequence_start.anchor)));
        const std::size_t before = nodes_;
        const bool flow = event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        flow_ += flow ? 1 : 0;
        for (;;) {
          PAWL_ASSIGN(Event item, next());
          if (item->type == YAML_SEQUENCE_END_EVENT) {
            out.end = index_.byte(item->end_mark.index);
            break;
          }
          PAWL_TRY(node(*item, out.items.emplace_back(), depth + 1, Role::kValue));
        }
        flow_ -= flow ? 1 : 0;
        remember(text_of(event.data.sequence_start.anchor), out, nodes_ - before + 1);
        return {};
      }
      case YAML_MAPPING_START_EVENT: {
        out.kind = YamlNode::Kind::kMapping;
        out.tag = text_of(event.data.mapping_start.tag);
        PAWL_TRY(collection(event, out.tag, "map"));
        PAWL_TRY(fresh(event, text_of(event.data.mapping_start.anchor)));
        const std::size_t before = nodes_;
        const bool flow = event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        flow_ += flow ? 1 : 0;
        for (;;) {
          PAWL_ASSIGN(Event key, next());
          if (key->type == YAML_MAPPING_END_EVENT) {
            out.end = index_.byte(key->end_mark.index);
            break;
          }
          YamlEntry& entry = out.entries.emplace_back();
          PAWL_TRY(node(*key, entry.key, depth + 1, Role::kKey));
          if (entry.key.kind != YamlNode::Kind::kScalar) return failure("a key must be a scalar", key->start_mark);
          PAWL_ASSIGN(Event value, next());
          PAWL_TRY(node(*value, entry.value, depth + 1, Role::kValue));
        }
        flow_ -= flow ? 1 : 0;
        PAWL_TRY(merge(out));
        remember(text_of(event.data.mapping_start.anchor), out, nodes_ - before + 1);
        return {};
      }
      default:
        return failure("unexpected structure", event.start_mark);
    }
  }

  /// Remembers where a scalar lies, and puts a tab back that was read as a stand-in.
  Status take_span(const yaml_event_t& event, YamlNode& out) {
    const auto style = event.data.scalar.style;
    const bool folded = style == YAML_FOLDED_SCALAR_STYLE, block = style == YAML_LITERAL_SCALAR_STYLE || folded;
    spans_.push_back({out.begin, out.end, out.plain ? ScalarSpan::Style::kPlain : block ? ScalarSpan::Style::kBlock : ScalarSpan::Style::kQuoted});
    if (!block) return {};
    for (const std::size_t at : stand_ins_) {
      if (at < out.begin || at >= out.end) continue;
      const std::string_view rest = std::string_view(doc_.bytes).substr(at, out.end - at);
      const auto line_end = rest.find_first_of("\r\n");
      // A folded line that begins with a blank is not joined with the next: the stand-in would be.
      if (folded && line_end != std::string_view::npos && rest.find_first_not_of(" \r\n", line_end) != std::string_view::npos) {
        return failure_at(at, "a tab at the beginning of folded text of several lines: write it with | or in quotes");
      }
      const auto first = out.text.find_first_not_of('\n');
      if (first != std::string::npos && out.text[first] == kStandIn) out.text[first] = '\t';
    }
    return {};
  }

  /// Without quotes and tag, or with the tag `!`, which means the same.
  static bool read_as_plain(const YamlNode& node) { return node.tag == "!" || (node.plain && node.tag.empty()); }

  /// What PyYAML says only when it makes the value: tags, and texts that look like a value and are none.
  Status scalar(const yaml_event_t& event, YamlNode& out, Role role) {
    if (out.plain && flow_ > 0 && out.text.contains('?'))
      return failure("a '?' inside plain text of a flow collection: put the text in quotes", event.start_mark);
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    const bool core = out.tag.starts_with(kCore);
    const std::string_view name = core ? std::string_view(out.tag).substr(kCore.size()) : std::string_view();
    if (!out.tag.empty() && out.tag != "!") {
      static constexpr std::string_view kKnown[] = {"str", "int", "float", "bool", "null", "timestamp"};
      if (!core || std::ranges::find(kKnown, name) == std::end(kKnown)) return failure("the tag " + out.tag + " is not known here", event.start_mark);
    }
    if (read_as_plain(out) && role == Role::kValue && (out.text == "=" || out.text == "<<")) {
      return failure(fmt::format("'{}' as a value: put it in quotes", out.text), event.start_mark);
    }
    out.read_as = static_cast<signed char>(out.type());
    const auto none = [&](const char* what) { return failure(fmt::format("'{}' is no {}", out.text, what), event.start_mark); };
    switch (out.type()) {
      case YamlNode::Type::kInt:
        if (!integer_value(out.text) && !integer_digits(out.text)) return none("integer");
        break;
      case YamlNode::Type::kBool:
        if (!tagged_bool(out.text)) return none("boolean");
        break;
      case YamlNode::Type::kFloat:
        if (!float_value(out.text)) return none("number");
        break;
      case YamlNode::Type::kTimestamp:
        if (const std::string problem = date_problem(out.text); !problem.empty()) {
          return failure(fmt::format("'{}' looks like a date, but {}: put it in quotes", out.text, problem), event.start_mark);
        }
        break;
      case YamlNode::Type::kNull:
      case YamlNode::Type::kText:
        break;
    }
    return {};
  }

  Status collection(const yaml_event_t& event, const std::string& tag, std::string_view kind) const {
    if (tag.empty() || tag == "!" || tag == "tag:yaml.org,2002:" + std::string(kind)) return {};
    return failure("the tag " + tag + " is not known here", event.start_mark);
  }

  Status fresh(const yaml_event_t& event, const std::string& anchor) {
    if (anchor.empty() || names_.insert(anchor).second) return {};
    return failure("the anchor &" + anchor + " stands here for the second time", event.start_mark);
  }

  /// Puts what the `<<` keys of a mapping name before its own entries, as PyYAML does: the own ones then win.
  Status merge(YamlNode& mapping) {
    const auto is_merge = [](const YamlEntry& entry) {
      return entry.key.kind == YamlNode::Kind::kScalar && read_as_plain(entry.key) && entry.key.text == "<<";
    };
    if (std::ranges::none_of(mapping.entries, is_merge)) return {};
    std::vector<YamlEntry> merged, own;
    for (YamlEntry& entry : mapping.entries) {
      if (!is_merge(entry)) {
        own.push_back(std::move(entry));
        continue;
      }
      const bool list = entry.value.kind == YamlNode::Kind::kSequence;
      std::vector<YamlNode*> sources;
      if (list) {
        for (YamlNode& item : entry.value.items) sources.insert(sources.begin(), &item);  // of several the first wins
      } else {
        sources.push_back(&entry.value);
      }
      for (YamlNode* source : sources) {
        if (source->kind != YamlNode::Kind::kMapping) {
          return bad_input("not valid YAML: << needs a mapping or a list of mappings").at(doc_.place(*source));
        }
        std::ranges::move(source->entries, std::back_inserter(merged));
      }
    }
    std::ranges::move(own, std::back_inserter(merged));
    mapping.entries = std::move(merged);
    return {};
  }

  void remember(const std::string& anchor, const YamlNode& node, std::size_t size) {
    if (!anchor.empty()) anchors_.insert_or_assign(anchor, std::pair{node, size});
  }

  static constexpr char kStandIn = 'x';

  YamlDocument& doc_;
  std::string text_;  ///< what libyaml reads
  const std::vector<std::size_t>& stand_ins_;
  ByteIndex index_;
  std::vector<ScalarSpan> spans_;
  std::set<std::string> names_;  ///< anchors seen
  int flow_ = 0;                 ///< open flow collections
  std::optional<std::size_t> refused_tab_;
  yaml_parser_t parser_{};
  std::map<std::string, std::pair<YamlNode, std::size_t>> anchors_;
  std::size_t nodes_ = 0;     ///< seen so far, those of aliases included
  std::size_t expanded_ = 0;  ///< those of aliases alone
};

}  // namespace

YamlNode::Type YamlNode::type() const {
  if (read_as >= 0) return static_cast<Type>(read_as);
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag.starts_with(kCore)) {
    const std::string_view name = std::string_view(tag).substr(kCore.size());
    if (name == "int") return Type::kInt;
    if (name == "float") return Type::kFloat;
    if (name == "bool") return Type::kBool;
    if (name == "null") return Type::kNull;
    if (name == "timestamp") return Type::kTimestamp;
    return Type::kText;
  }
  if (tag != "!" && (!plain || !tag.empty())) return Type::kText;
  if (is_null_text(text)) return Type::kNull;
  if (plain_bool(text)) return Type::kBool;
  if (!std::string_view("+-.0123456789").contains(text[0])) return Type::kText;
  if (is_int_text(text)) return Type::kInt;
  if (is_float_text(text)) return Type::kFloat;
  if (is_timestamp_text(text)) return Type::kTimestamp;
  return Type::kText;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const YamlNode* found = nullptr;
  for (const YamlEntry& entry : entries) {
    if (entry.key.text == key && entry.key.is_text()) found = &entry.value;
  }
  return found;
}

SourcePlace YamlDocument::place(const YamlNode& node) const { return {name, node.line, node.column, line_text(bytes, node.line)}; }

Result<YamlDocument> parse_yaml(std::string bytes, std::string name) {
  YamlDocument document{std::move(name), std::move(bytes), {}};
  if (document.bytes.size() > kBytesMax) return bad_input(fmt::format("{}: larger than {} MiB", document.name, kBytesMax >> 20));
  std::vector<std::size_t> stand_ins;
  for (;;) {
    document.root = YamlNode{.plain = true, .line = 1, .column = 1};
    Reader reader(document, stand_ins);
    Status status = reader.read();
    if (status) return document;
    const auto tab = reader.refused_tab();
    if (!tab || stand_ins.size() >= kStandInsMax || std::ranges::find(stand_ins, *tab) != stand_ins.end()) return std::move(status).error();
    stand_ins.push_back(*tab);
  }
}

Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      switch (node.type()) {
        case YamlNode::Type::kNull:
          return Json(nullptr);
        case YamlNode::Type::kBool: {
          const auto value = tagged_bool(node.text);
          if (!value) return bad_input(fmt::format("'{}' is no boolean", node.text)).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kInt: {
          const auto value = integer_value(node.text);
          if (!value) return bad_input(fmt::format("the integer {} is larger than 64 bits", node.text)).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kFloat: {
          const auto value = float_value(node.text);
          if (!value || !std::isfinite(*value)) return bad_input(fmt::format("the number {} is not finite", node.text)).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kTimestamp:
        case YamlNode::Type::kText:
          return Json(node.text);
      }
      return internal_error("unknown YAML type");
    case YamlNode::Kind::kSequence: {
      Json array = Json::array();
      for (const YamlNode& item : node.items) {
        PAWL_ASSIGN(Json value, yaml_value(document, item));
        array.push_back(std::move(value));
      }
      return array;
    }
    case YamlNode::Kind::kMapping: {
      Json object = Json::object();
      for (const YamlEntry& entry : node.entries) {
        PAWL_ASSIGN(Json value, yaml_value(document, entry.value));
        object[entry.key.text] = std::move(value);
      }
      return object;
    }
  }
  return internal_error("unknown YAML kind");
}

std::optional<std::string> yaml_integer_digits(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.type() != YamlNode::Type::kInt) return std::nullopt;
  return integer_digits(node.text);
}

std::string yaml_scalar(std::string_view text) {
  YamlNode as_plain;
  as_plain.text = text;
  as_plain.plain = true;
  const bool safe = !text.empty() && as_plain.type() == YamlNode::Type::kText &&
                    std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._-/:@+").contains(c); }) &&
                    (std::isalnum(static_cast<unsigned char>(text.front())) != 0) && !text.ends_with(':') && text != "<<";
  if (safe) return std::string(text);
  return write_json(Json(std::string(text)), JsonForm::kCompactUtf8);
}

}  // namespace pawl::codec
