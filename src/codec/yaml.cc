#include "codec/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "codec/internal/yaml_scalar.h"
#include "codec/internal/yaml_scan.h"
#include "codec/internal/yaml_storage.h"
#include "codec/internal/yaml_usual.h"

namespace pawl::codec {

using namespace internal;  // NOLINT: the scalars and the pre-scan of this very reader

namespace {

constexpr std::size_t kStandInsMax = 16;
constexpr const char* kMend = "mend the line that is shown; what is missing may stand just above it";
constexpr std::string_view kBom = "\xEF\xBB\xBF";
constexpr std::string_view kCore = "tag:yaml.org,2002:";

/// Maps libyaml's marks to bytes. Its `index` counts characters after the byte-order mark; ASCII files need no table, others the byte of every 64th
/// character.
class ByteIndex {
 public:
  ByteIndex(std::string_view bytes, bool ascii) : bytes_(bytes), bom_(bytes.starts_with(kBom) ? kBom.size() : 0), ascii_(ascii) {
    if (ascii) return;
    std::size_t characters = 0;
    for (std::size_t i = bom_; i < bytes.size(); ++i) {
      if (!starts_character(i)) continue;
      if (characters++ % kStep == 0) steps_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  [[nodiscard]] std::size_t byte(std::size_t character) const {
    if (ascii_) return std::min(character + bom_, bytes_.size());
    if (character / kStep >= steps_.size()) return bytes_.size();
    std::size_t at = steps_[character / kStep];
    for (std::size_t left = character % kStep; left > 0 && at < bytes_.size(); --left) {
      ++at;
      while (at < bytes_.size() && !starts_character(at)) ++at;
    }
    return at;
  }

 private:
  static constexpr std::size_t kStep = 64;
  [[nodiscard]] bool starts_character(std::size_t at) const { return (static_cast<unsigned char>(bytes_[at]) & 0xC0u) != 0x80u; }

  std::string_view bytes_;
  std::size_t bom_;
  bool ascii_;
  std::vector<std::uint32_t> steps_;
};

/// One event of libyaml.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&& other) noexcept : raw_(std::exchange(other.raw_, {})) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Event() { yaml_event_delete(&raw_); }
  yaml_event_t* out() { return &raw_; }
  const yaml_event_t* operator->() const { return &raw_; }
  const yaml_event_t& operator*() const { return raw_; }

 private:
  yaml_event_t raw_{};
};

class Reader {
 public:
  /// `stand_ins`: bytes that hold a tab in the document and are read as another character.
  Reader(YamlDocument& document, YamlStorage& storage, const YamlLimits& limits, const std::vector<std::size_t>& stand_ins)
      : doc_(document),
        storage_(storage),
        limits_(limits),
        stand_ins_(stand_ins),
        ascii_(all_plain_ascii(document.bytes)),
        index_(document.bytes, ascii_),
        lenience_(document.bytes) {
    if (!stand_ins.empty()) {
      with_stand_ins_ = document.bytes;
      for (const std::size_t at : stand_ins) with_stand_ins_[at] = kStandIn;
    }
    yaml_parser_initialize(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Status read() {
    // The byte-order mark is skipped here: libyaml would count it as a character of the first line.
    const std::size_t bom = doc_.bytes.starts_with(kBom) ? kBom.size() : 0;
    if (!ascii_) {
      if (!is_utf8(doc_.bytes)) return failure_at(first_bad_byte(), "not valid UTF-8");
      if (const auto bad = find_forbidden_character(doc_.bytes)) return failure_at(bad->at, bad->what + " is not allowed");
    }
    const std::string_view text = stand_ins_.empty() ? doc_.bytes : std::string_view(with_stand_ins_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()) + bom, text.size() - bom);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    bool seen = false;
    for (;;) {
      PAWL_ASSIGN(const Event event, next());
      switch (event->type) {
        case YAML_DOCUMENT_START_EVENT: {
          if (seen) return failure("a second document: only one is read", event->start_mark);
          seen = true;
          PAWL_ASSIGN(const Event first, next());
          PAWL_TRY(node(*first, doc_.root, 0, Role::kValue));
          break;
        }
        case YAML_STREAM_END_EVENT:
          if (const auto bad = lenience_.finish()) return failure_at(bad->at, bad->what);
          return {};
        default:
          break;
      }
    }
  }

  /// The byte of a tab that is the first character of block text: libyaml refuses it, PyYAML reads it.
  [[nodiscard]] std::optional<std::size_t> refused_tab() const { return refused_tab_; }

 private:
  Result<Event> next() {
    Event event;
    if (yaml_parser_parse(&parser_, event.out()) == 0) return unreadable();
    return event;
  }

  /// What libyaml refused.
  Error unreadable() {
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
      for (std::size_t k = 1; k <= n && !good; ++k) good = is_utf8(doc_.bytes.substr(i, k));
      low = i;
      if (!good) return low;
    }
    return low;
  }

  void place(YamlNode& node, const yaml_event_t& event) const {
    node.begin = static_cast<std::uint32_t>(index_.byte(event.start_mark.index));
    node.end = static_cast<std::uint32_t>(index_.byte(event.end_mark.index));
    node.line = static_cast<int>(event.start_mark.line) + 1;
    node.column = static_cast<int>(event.start_mark.column) + 1;
  }

  enum class Role { kKey, kValue };

  static std::string_view view(const unsigned char* t) { return t == nullptr ? std::string_view() : reinterpret_cast<const char*>(t); }

  void take_tag(YamlNode& out, const unsigned char* tag) {
    if (tag != nullptr) out.tag = storage_.keep_terminated(view(tag));
  }

  Status node(const yaml_event_t& event, YamlNode& out, int depth, Role role) {
    if (depth >= limits_.depth && event.type != YAML_SCALAR_EVENT && event.type != YAML_ALIAS_EVENT)
      return failure(fmt::format("nesting deeper than {} levels", limits_.depth), event.start_mark);
    ++nodes_;
    place(out, event);
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        const auto found = anchors_.find(view(event.data.alias.anchor));
        if (found == anchors_.end()) return failure(fmt::format("undefined alias *{}", view(event.data.alias.anchor)), event.start_mark);
        nodes_ += found->second.second;
        expanded_ += found->second.second;
        if (expanded_ > limits_.expanded) {
          return failure(fmt::format("aliases expand to too many nodes: more than {}", limits_.expanded), event.start_mark);
        }
        out = found->second.first;
        place(out, event);
        return {};
      }
      case YAML_SCALAR_EVENT: {
        out.kind = YamlNode::Kind::kScalar;
        take_tag(out, event.data.scalar.tag);
        out.plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        PAWL_TRY(take_text(event, out));
        PAWL_TRY(scalar(event, out, role));
        return anchor(event, event.data.scalar.anchor, out, 1);
      }
      case YAML_SEQUENCE_START_EVENT: {
        out.kind = YamlNode::Kind::kSequence;
        take_tag(out, event.data.sequence_start.tag);
        PAWL_TRY(collection(event, out.tag, "seq"));
        PAWL_TRY(fresh(event, event.data.sequence_start.anchor));
        const std::size_t before = nodes_, first = open_items_.size();
        const bool flow = event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        flow_ += flow ? 1 : 0;
        for (;;) {
          PAWL_ASSIGN(const Event item, next());
          if (item->type == YAML_SEQUENCE_END_EVENT) {
            out.end = static_cast<std::uint32_t>(index_.byte(item->end_mark.index));
            break;
          }
          YamlNode child;
          PAWL_TRY(node(*item, child, depth + 1, Role::kValue));
          open_items_.push_back(child);
        }
        flow_ -= flow ? 1 : 0;
        out.items = storage_.keep_all(open_items_.data() + first, open_items_.size() - first);
        open_items_.resize(first);
        remember(event.data.sequence_start.anchor, out, nodes_ - before + 1);
        return {};
      }
      case YAML_MAPPING_START_EVENT: {
        out.kind = YamlNode::Kind::kMapping;
        take_tag(out, event.data.mapping_start.tag);
        PAWL_TRY(collection(event, out.tag, "map"));
        PAWL_TRY(fresh(event, event.data.mapping_start.anchor));
        const std::size_t before = nodes_, first = open_entries_.size();
        const bool flow = event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        flow_ += flow ? 1 : 0;
        for (;;) {
          PAWL_ASSIGN(const Event key, next());
          if (key->type == YAML_MAPPING_END_EVENT) {
            out.end = static_cast<std::uint32_t>(index_.byte(key->end_mark.index));
            break;
          }
          YamlEntry entry;
          PAWL_TRY(node(*key, entry.key, depth + 1, Role::kKey));
          if (entry.key.kind != YamlNode::Kind::kScalar) return failure("a key must be a scalar", key->start_mark);
          PAWL_ASSIGN(const Event value, next());
          PAWL_TRY(node(*value, entry.value, depth + 1, Role::kValue));
          open_entries_.push_back(entry);
        }
        flow_ -= flow ? 1 : 0;
        PAWL_TRY(merge(first));
        out.entries = storage_.keep_all(open_entries_.data() + first, open_entries_.size() - first);
        open_entries_.resize(first);
        remember(event.data.mapping_start.anchor, out, nodes_ - before + 1);
        return {};
      }
      default:
        return failure("unexpected structure", event.start_mark);
    }
  }

  /// The text of a scalar: where the file has it as it is, a view into the file. Puts a tab back that was read as a stand-in.
  Status take_text(const yaml_event_t& event, YamlNode& out) {
    const auto style = event.data.scalar.style;
    const bool folded = style == YAML_FOLDED_SCALAR_STYLE, block = style == YAML_LITERAL_SCALAR_STYLE || folded;
    lenience_.scalar({out.begin, out.end, out.plain ? ScalarSpan::Style::kPlain : block ? ScalarSpan::Style::kBlock : ScalarSpan::Style::kQuoted});
    const std::string_view text(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
    const std::size_t quote = out.plain ? 0 : 1;
    if (!block && out.end - out.begin >= text.size() + 2 * quote) {
      const std::string_view written = doc_.bytes.substr(out.end - quote - text.size(), text.size());
      if (written == text) {
        out.text = YamlText(written);
        return {};
      }
    }
    if (block && !stand_ins_.empty()) {
      std::string mended(text);
      PAWL_TRY(put_tabs_back(out, folded, mended));
      out.text = YamlText(storage_.keep(mended));
      return {};
    }
    out.text = YamlText(storage_.keep(text));
    return {};
  }

  Status put_tabs_back(const YamlNode& out, bool folded, std::string& text) const {
    for (const std::size_t at : stand_ins_) {
      if (at < out.begin || at >= out.end) continue;
      const std::string_view rest = doc_.bytes.substr(at, out.end - at);
      const auto line_end = rest.find_first_of("\r\n");
      // A folded line that begins with a blank is not joined with the next: the stand-in would be.
      if (folded && line_end != std::string_view::npos && rest.find_first_not_of(" \r\n", line_end) != std::string_view::npos) {
        return failure_at(at, "a tab at the beginning of folded text of several lines: write it with | or in quotes");
      }
      const auto first = text.find_first_not_of('\n');
      if (first != std::string::npos && text[first] == kStandIn) text[first] = '\t';
    }
    return {};
  }

  /// Without quotes and tag, or with the tag `!`, which means the same.
  static bool read_as_plain(const YamlNode& node) {
    const std::string_view tag = node.tag;
    return tag == "!" || (node.plain && tag.empty());
  }

  /// What PyYAML says only when it makes the value: tags, and texts that look like a value and are none.
  Status scalar(const yaml_event_t& event, YamlNode& out, Role role) {
    if (out.plain && flow_ > 0 && out.text.contains('?'))
      return failure("a '?' inside plain text of a flow collection: put the text in quotes", event.start_mark);
    const std::string_view tag = out.tag;
    if (!tag.empty() && tag != "!") {
      static constexpr std::string_view kKnown[] = {"str", "int", "float", "bool", "null", "timestamp"};
      if (!tag.starts_with(kCore) || std::ranges::find(kKnown, tag.substr(kCore.size())) == std::end(kKnown))
        return failure(fmt::format("the tag {} is not known here", tag), event.start_mark);
    }
    if (read_as_plain(out) && role == Role::kValue && (out.text == "=" || out.text == "<<")) {
      return failure(fmt::format("'{}' as a value: put it in quotes", std::string_view(out.text)), event.start_mark);
    }
    const YamlNode::Type type = out.type();
    out.read_as = static_cast<signed char>(type);
    const auto none = [&](const char* what) { return failure(fmt::format("'{}' is no {}", std::string_view(out.text), what), event.start_mark); };
    switch (type) {
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
          return failure(fmt::format("'{}' looks like a date, but {}: put it in quotes", std::string_view(out.text), problem), event.start_mark);
        }
        break;
      case YamlNode::Type::kNull:
      case YamlNode::Type::kText:
        break;
    }
    return {};
  }

  Status collection(const yaml_event_t& event, std::string_view tag, std::string_view kind) const {
    if (tag.empty() || tag == "!" || (tag.starts_with(kCore) && tag.substr(kCore.size()) == kind)) return {};
    return failure(fmt::format("the tag {} is not known here", tag), event.start_mark);
  }

  Status fresh(const yaml_event_t& event, const unsigned char* anchor) {
    if (anchor == nullptr || names_.emplace(view(anchor)).second) return {};
    return failure(fmt::format("the anchor &{} stands here for the second time", view(anchor)), event.start_mark);
  }

  Status anchor(const yaml_event_t& event, const unsigned char* name, const YamlNode& node, std::size_t size) {
    PAWL_TRY(fresh(event, name));
    remember(name, node, size);
    return {};
  }

  /// Puts what the `<<` keys of a mapping name before its own entries, as PyYAML does: the own ones then win. The mapping
  /// is the end of `open_entries_`, from `first`.
  Status merge(std::size_t first) {
    const auto is_merge = [](const YamlEntry& entry) {
      return entry.key.kind == YamlNode::Kind::kScalar && read_as_plain(entry.key) && entry.key.text == "<<";
    };
    const auto own_begin = open_entries_.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(own_begin, open_entries_.end(), is_merge)) return {};
    std::vector<YamlEntry> merged, own;
    for (auto entry = own_begin; entry != open_entries_.end(); ++entry) {
      if (!is_merge(*entry)) {
        own.push_back(*entry);
        continue;
      }
      std::vector<const YamlNode*> sources;
      if (entry->value.kind == YamlNode::Kind::kSequence) {
        for (const YamlNode& item : entry->value.items) sources.insert(sources.begin(), &item);  // of several the first wins
      } else {
        sources.push_back(&entry->value);
      }
      for (const YamlNode* source : sources) {
        if (source->kind != YamlNode::Kind::kMapping) {
          return bad_input("not valid YAML: << needs a mapping or a list of mappings").at(doc_.place(*source)).advise(kMend);
        }
        merged.insert(merged.end(), source->entries.begin(), source->entries.end());
      }
    }
    open_entries_.resize(first);
    open_entries_.insert(open_entries_.end(), merged.begin(), merged.end());
    open_entries_.insert(open_entries_.end(), own.begin(), own.end());
    return {};
  }

  void remember(const unsigned char* anchor, const YamlNode& node, std::size_t size) {
    if (anchor != nullptr) anchors_.insert_or_assign(std::string(view(anchor)), std::pair{node, size});
  }

  static constexpr char kStandIn = 'x';

  YamlDocument& doc_;
  YamlStorage& storage_;
  const YamlLimits& limits_;
  const std::vector<std::size_t>& stand_ins_;
  bool ascii_;
  ByteIndex index_;
  LenienceFinder lenience_;
  std::string with_stand_ins_;                ///< what libyaml reads when there are stand-ins
  std::vector<YamlNode> open_items_;          ///< children of the sequences that are still open, the innermost last
  std::vector<YamlEntry> open_entries_;       ///< the same of mappings
  std::set<std::string, std::less<>> names_;  ///< anchors seen
  int flow_ = 0;                              ///< open flow collections
  std::optional<std::size_t> refused_tab_;
  yaml_parser_t parser_{};
  std::map<std::string, std::pair<YamlNode, std::size_t>, std::less<>> anchors_;
  std::size_t nodes_ = 0;     ///< seen so far, those of aliases included
  std::size_t expanded_ = 0;  ///< those of aliases alone
};

}  // namespace

YamlNode::Type YamlNode::type() const {
  if (read_as >= 0) return static_cast<Type>(read_as);
  const std::string_view tagged = tag;
  if (tagged.starts_with(kCore)) {
    const std::string_view name = tagged.substr(kCore.size());
    if (name == "int") return Type::kInt;
    if (name == "float") return Type::kFloat;
    if (name == "bool") return Type::kBool;
    if (name == "null") return Type::kNull;
    if (name == "timestamp") return Type::kTimestamp;
    return Type::kText;
  }
  if (tagged != "!" && (!plain || !tagged.empty())) return Type::kText;
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

SourcePlace YamlDocument::place(const YamlNode& node) const { return {name, node.line, node.column, line_at(bytes, node.begin)}; }

namespace {

Status check_size(std::string_view bytes, std::string_view name, const YamlLimits& limits) {
  constexpr std::size_t kOffsetMax = std::numeric_limits<std::uint32_t>::max() - 1;  // places are 32 bits
  const std::size_t most = std::min(limits.bytes, kOffsetMax);
  if (bytes.size() <= most) return {};
  return bad_input(fmt::format("{}: {} bytes of YAML, more than the {} MiB allowed", name, bytes.size(), most >> 20));
}

Result<YamlDocument> read_events(const std::shared_ptr<YamlStorage>& storage, std::string name, const YamlLimits& limits) {
  YamlDocument document{std::move(name), storage->bytes, {}, storage};
  std::vector<std::size_t> stand_ins;
  for (;;) {
    document.root = YamlNode{.plain = true, .line = 1, .column = 1};
    Reader reader(document, *storage, limits, stand_ins);
    Status status = reader.read();
    if (status) return document;
    const auto tab = reader.refused_tab();
    if (!tab || stand_ins.size() >= kStandInsMax || std::ranges::find(stand_ins, *tab) != stand_ins.end()) return std::move(status).error();
    stand_ins.push_back(*tab);
  }
}

}  // namespace

Result<YamlDocument> internal::parse_by_events(std::string bytes, std::string name, const YamlLimits& limits) {
  PAWL_TRY(check_size(bytes, name, limits));
  return read_events(std::make_shared<YamlStorage>(std::move(bytes)), std::move(name), limits);
}

Result<YamlDocument> parse_yaml(std::string bytes, std::string name, const YamlLimits& limits) {
  PAWL_TRY(check_size(bytes, name, limits));
  const auto storage = std::make_shared<YamlStorage>(std::move(bytes));
  if (const auto root = read_usual_form(*storage, limits)) return YamlDocument{std::move(name), storage->bytes, *root, storage};
  return read_events(storage, std::move(name), limits);
}

Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      switch (node.type()) {
        case YamlNode::Type::kNull:
          return Json(nullptr);
        case YamlNode::Type::kBool: {
          const auto value = tagged_bool(node.text);
          if (!value) return bad_input(fmt::format("'{}' is no boolean", std::string_view(node.text))).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kInt: {
          const auto value = integer_value(node.text);
          if (!value) return bad_input(fmt::format("the integer {} is larger than 64 bits", std::string_view(node.text))).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kFloat: {
          const auto value = float_value(node.text);
          if (!value || !std::isfinite(*value))
            return bad_input(fmt::format("the number {} is not finite", std::string_view(node.text))).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kTimestamp:
        case YamlNode::Type::kText:
          return Json(std::string(node.text));
      }
      return internal_error("unknown YAML type");
    case YamlNode::Kind::kSequence: {
      Json array = Json::array();
      array.get_ref<Json::array_t&>().reserve(node.items.size());
      for (const YamlNode& item : node.items) {
        PAWL_ASSIGN(Json value, yaml_value(document, item));
        array.push_back(std::move(value));
      }
      return array;
    }
    case YamlNode::Kind::kMapping: {
      Json object = Json::object();
      auto& members = static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
      members.reserve(node.entries.size());
      for (const YamlEntry& entry : node.entries) {
        PAWL_ASSIGN(Json value, yaml_value(document, entry.value));
        const std::string_view key = entry.key.text;
        const auto same = std::ranges::find_if(members, [&](const auto& member) { return std::string_view(member.first) == key; });
        if (same == members.end())
          members.emplace_back(key, std::move(value));
        else
          same->second = std::move(value);
      }
      return object;
    }
  }
  return internal_error("unknown YAML kind");
}

bool yaml_same(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return false;
  if (a.kind == YamlNode::Kind::kScalar) return a.type() == b.type() && a.text == b.text;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!yaml_same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (!yaml_same(a.entries[i].key, b.entries[i].key) || !yaml_same(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

Status yaml_values_fit(const YamlDocument& document, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar) {
    const YamlNode::Type type = node.type();
    if (type != YamlNode::Type::kInt && type != YamlNode::Type::kFloat && type != YamlNode::Type::kBool) return {};
    if (type == YamlNode::Type::kInt && integer_value(node.text)) return {};
    auto value = yaml_value(document, node);
    if (!value) return std::move(value).error();
    return {};
  }
  for (const YamlNode& item : node.items) PAWL_TRY(yaml_values_fit(document, item));
  for (const YamlEntry& entry : node.entries) PAWL_TRY(yaml_values_fit(document, entry.value));
  return {};
}

std::optional<std::string> yaml_integer_digits(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.type() != YamlNode::Type::kInt) return std::nullopt;
  return integer_digits(node.text);
}

std::string yaml_quoted(std::string_view text) {
  // JSON, but for characters that are line breaks, marks or nothing at all in YAML: those are escaped too.
  std::string out = write_json(Json(std::string(text)), JsonForm::kCompactUtf8);
  if (all_plain_ascii(out)) return out;
  std::string escaped;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string_view rest = std::string_view(out).substr(i);
    const auto byte = [&](std::size_t k) { return k < rest.size() ? static_cast<unsigned char>(rest[k]) : 0u; };
    unsigned character = 0;
    std::size_t length = 1;
    if (byte(0) == 0x7F) {
      character = 0x7F;
    } else if (byte(0) == 0xC2 && byte(1) < 0xA0) {
      character = byte(1), length = 2;
    } else if ((byte(0) == 0xE2 && byte(1) == 0x80 && (byte(2) == 0xA8 || byte(2) == 0xA9)) || (byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF) ||
               (byte(0) == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE)) {
      character = ((byte(0) & 0xFu) << 12) | ((byte(1) & 0x3Fu) << 6) | (byte(2) & 0x3Fu), length = 3;
    }
    if (character == 0) {
      escaped += out[i];
    } else {
      escaped += fmt::format("\\u{:04x}", character);
      i += length - 1;
    }
  }
  return escaped;
}

std::string yaml_scalar(std::string_view text) {
  YamlNode as_plain;
  as_plain.text = YamlText(text);
  as_plain.plain = true;
  const bool safe = !text.empty() && as_plain.type() == YamlNode::Type::kText &&
                    std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._-/:@+").contains(c); }) &&
                    (std::isalnum(static_cast<unsigned char>(text.front())) != 0) && !text.ends_with(':') && text != "<<";
  if (safe) return std::string(text);
  return yaml_quoted(text);
}

}  // namespace pawl::codec
