#include "codec/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/checked.h"
#include "base/text.h"

namespace pawl::codec {
namespace {

constexpr std::size_t kBytesMax = 64u << 20;
constexpr int kDepthMax = 300;
constexpr std::size_t kNodesMax = 1'000'000;

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

std::string line_at(std::string_view bytes, int line) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  for (int i = 1; i < line; ++i) {
    const auto nl = bytes.find('\n');
    if (nl == std::string_view::npos) return {};
    bytes.remove_prefix(nl + 1);
  }
  std::string_view text = bytes.substr(0, bytes.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text.substr(0, 200));
}

bool digits_only(std::string_view t) {
  return !t.empty() && std::ranges::all_of(t, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_null(std::string_view t) { return t.empty() || t == "~" || t == "null" || t == "Null" || t == "NULL"; }

std::optional<bool> as_bool(std::string_view t) {
  for (const auto& [lower, value] : {std::pair{std::string_view("yes"), true}, {"no", false}, {"on", true}, {"off", false}, {"true", true}, {"false", false}}) {
    std::string upper(lower), title(lower);
    std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    title[0] = upper[0];
    if (t == lower || t == upper || t == title) return value;
  }
  return std::nullopt;
}

bool is_int(std::string_view t) {
  if (!t.empty() && (t[0] == '+' || t[0] == '-')) t.remove_prefix(1);
  if (t.empty()) return false;
  const auto all = [](std::string_view s, std::string_view set) { return s.find_first_not_of(set) == std::string_view::npos; };
  if (t == "0") return true;
  if (t.starts_with("0b")) return t.size() > 2 && all(t.substr(2), "01_");
  if (t.starts_with("0x")) return t.size() > 2 && all(t.substr(2), "0123456789abcdefABCDEF_");
  if (t[0] == '0') return all(t, "01234567_");
  if (t[0] < '1' || t[0] > '9') return false;
  if (t.find(':') == std::string_view::npos) return all(t, "0123456789_");
  const auto groups = split(t, ':');
  if (!all(groups[0], "0123456789_")) return false;
  return std::all_of(groups.begin() + 1, groups.end(), [](std::string_view g) { return digits_only(g) && (g.size() == 1 || (g.size() == 2 && g[0] <= '5')); });
}

std::optional<std::int64_t> int_value(std::string_view t) {
  bool negative = false;
  if (t[0] == '+' || t[0] == '-') {
    negative = t[0] == '-';
    t.remove_prefix(1);
  }
  int base = 10;
  std::vector<std::string_view> groups{t};
  if (t.starts_with("0b"))
    base = 2, groups[0].remove_prefix(2);
  else if (t.starts_with("0x"))
    base = 16, groups[0].remove_prefix(2);
  else if (t[0] == '0')
    base = 8;
  else
    groups = split(t, ':');
  std::int64_t total = 0;
  for (const std::string_view group : groups) {
    std::int64_t value = 0;
    for (const char c : group) {
      if (c == '_') continue;
      const std::int64_t digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      const auto shifted = checked_mul<std::int64_t>(value, base);
      const auto next = shifted ? checked_add(*shifted, digit) : std::nullopt;
      if (!next) return std::nullopt;
      value = *next;
    }
    const auto shifted = checked_mul<std::int64_t>(total, 60);
    const auto next = shifted ? checked_add(*shifted, value) : std::nullopt;
    if (!next) return std::nullopt;
    total = *next;
  }
  return negative ? -total : total;
}

bool is_float(std::string_view t) {
  std::string_view s = t;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) s.remove_prefix(1);
  if (s == ".inf" || s == ".Inf" || s == ".INF") return true;
  if (t == ".nan" || t == ".NaN" || t == ".NAN") return true;
  const auto dot = s.find('.');
  if (dot == std::string_view::npos || s.find('.', dot + 1) != std::string_view::npos) return false;
  const std::string_view before = s.substr(0, dot);
  std::string_view after = s.substr(dot + 1);
  if (before.find(':') != std::string_view::npos) {  // base 60
    const auto groups = split(before, ':');
    if (groups[0].empty() || groups[0][0] < '0' || groups[0][0] > '9' || after.find_first_not_of("0123456789_") != std::string_view::npos) return false;
    return groups[0].find_first_not_of("0123456789_") == std::string_view::npos && std::all_of(groups.begin() + 1, groups.end(), [](std::string_view g) {
             return digits_only(g) && (g.size() == 1 || (g.size() == 2 && g[0] <= '5'));
           });
  }
  if (const auto e = after.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view exponent = after.substr(e + 1);
    if (exponent.empty() || (exponent[0] != '+' && exponent[0] != '-') || !digits_only(exponent.substr(1))) return false;
    after = after.substr(0, e);
  }
  if (before.empty()) return !after.empty() && after[0] >= '0' && after[0] <= '9' && after.find_first_not_of("0123456789_") == std::string_view::npos;
  return before[0] >= '0' && before[0] <= '9' && before.find_first_not_of("0123456789_") == std::string_view::npos &&
         after.find_first_not_of("0123456789_") == std::string_view::npos;
}

double float_value(std::string_view t) {
  std::string clean = replace_all(std::string(t), "_", "");
  double sign = 1;
  std::string_view s = clean;
  if (s[0] == '+' || s[0] == '-') {
    sign = s[0] == '-' ? -1 : 1;
    s.remove_prefix(1);
  }
  if (s.starts_with(".i") || s.starts_with(".I")) return sign * std::numeric_limits<double>::infinity();
  if (s.starts_with(".n") || s.starts_with(".N")) return std::numeric_limits<double>::quiet_NaN();
  double total = 0;
  for (const std::string_view group : split(s, ':')) total = total * 60 + std::strtod(std::string(group).c_str(), nullptr);
  return sign * total;
}

bool is_timestamp(std::string_view t) {
  if (t.size() < 8 || t[4] != '-' || !digits_only(t.substr(0, 4))) return false;
  if (t.size() == 10) return t[7] == '-' && digits_only(t.substr(5, 2)) && digits_only(t.substr(8, 2));
  const auto sep = t.find_first_of("Tt \t");
  if (sep == std::string_view::npos || sep < 8) return false;
  const auto clock = trim(t.substr(sep + 1));
  // year-month-day, then hour:minute:second, then what may follow
  const auto parts = split(t.substr(0, sep), '-');
  if (parts.size() != 3 || !digits_only(parts[1]) || parts[1].size() > 2 || !digits_only(parts[2]) || parts[2].size() > 2) return false;
  const auto hms = split(clock, ':');
  return hms.size() >= 3 && digits_only(hms[0]) && hms[0].size() <= 2 && digits_only(hms[1]) && hms[1].size() == 2 && hms[2].size() >= 2 &&
         digits_only(hms[2].substr(0, 2));
}

class Reader {
 public:
  explicit Reader(YamlDocument& document) : doc_(document), index_(document.bytes) { yaml_parser_initialize(&parser_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { yaml_parser_delete(&parser_); }

  Status read() {
    // The byte-order mark is skipped here: libyaml would count it as a character of the first line.
    const std::size_t bom = doc_.bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(doc_.bytes.data()) + bom, doc_.bytes.size() - bom);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    bool seen = false;
    for (;;) {
      PAWL_ASSIGN(Event event, next());
      switch (event->type) {
        case YAML_DOCUMENT_START_EVENT: {
          if (seen) return failure("a second document: only one is read", event->start_mark);
          seen = true;
          PAWL_ASSIGN(Event first, next());
          PAWL_TRY(node(*first, doc_.root, 0));
          break;
        }
        case YAML_STREAM_END_EVENT:
          return {};
        default:
          break;
      }
    }
  }

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
      return failure(what, mark);
    }
    return Event(raw);
  }

  Error failure(const std::string& what, const yaml_mark_t& mark) const {
    const int line = static_cast<int>(mark.line) + 1;
    return bad_input("not valid YAML: " + what).at({doc_.name, line, static_cast<int>(mark.column) + 1, line_at(doc_.bytes, line)});
  }

  void place(YamlNode& node, const yaml_event_t& event) const {
    node.begin = index_.byte(event.start_mark.index);
    node.end = index_.byte(event.end_mark.index);
    node.line = static_cast<int>(event.start_mark.line) + 1;
    node.column = static_cast<int>(event.start_mark.column) + 1;
  }

  Status node(const yaml_event_t& event, YamlNode& out, int depth) {
    if (depth > kDepthMax) return failure(fmt::format("nesting deeper than {} levels", kDepthMax), event.start_mark);
    if (++nodes_ > kNodesMax) return failure("too many nodes", event.start_mark);
    place(out, event);
    const auto text_of = [](const unsigned char* t) { return t == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(t)); };
    switch (event.type) {
      case YAML_ALIAS_EVENT: {
        const std::string name = text_of(event.data.alias.anchor);
        const auto found = anchors_.find(name);
        if (found == anchors_.end()) return failure("undefined alias *" + name, event.start_mark);
        YamlNode here = found->second.first;
        nodes_ += found->second.second;
        if (nodes_ > kNodesMax) return failure("aliases expand to too many nodes", event.start_mark);
        place(here, event);
        out = std::move(here);
        return {};
      }
      case YAML_SCALAR_EVENT: {
        out.kind = YamlNode::Kind::kScalar;
        out.text.assign(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
        out.tag = text_of(event.data.scalar.tag);
        out.plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        remember(text_of(event.data.scalar.anchor), out, 1);
        return {};
      }
      case YAML_SEQUENCE_START_EVENT: {
        out.kind = YamlNode::Kind::kSequence;
        out.tag = text_of(event.data.sequence_start.tag);
        const std::size_t before = nodes_;
        for (;;) {
          PAWL_ASSIGN(Event item, next());
          if (item->type == YAML_SEQUENCE_END_EVENT) {
            out.end = index_.byte(item->end_mark.index);
            break;
          }
          PAWL_TRY(node(*item, out.items.emplace_back(), depth + 1));
        }
        remember(text_of(event.data.sequence_start.anchor), out, nodes_ - before + 1);
        return {};
      }
      case YAML_MAPPING_START_EVENT: {
        out.kind = YamlNode::Kind::kMapping;
        out.tag = text_of(event.data.mapping_start.tag);
        const std::size_t before = nodes_;
        for (;;) {
          PAWL_ASSIGN(Event key, next());
          if (key->type == YAML_MAPPING_END_EVENT) {
            out.end = index_.byte(key->end_mark.index);
            break;
          }
          YamlEntry& entry = out.entries.emplace_back();
          PAWL_TRY(node(*key, entry.key, depth + 1));
          PAWL_ASSIGN(Event value, next());
          PAWL_TRY(node(*value, entry.value, depth + 1));
        }
        remember(text_of(event.data.mapping_start.anchor), out, nodes_ - before + 1);
        return {};
      }
      default:
        return failure("unexpected structure", event.start_mark);
    }
  }

  void remember(const std::string& anchor, const YamlNode& node, std::size_t size) {
    if (!anchor.empty()) anchors_.insert_or_assign(anchor, std::pair{node, size});
  }

  YamlDocument& doc_;
  ByteIndex index_;
  yaml_parser_t parser_{};
  std::map<std::string, std::pair<YamlNode, std::size_t>> anchors_;
  std::size_t nodes_ = 0;
};

}  // namespace

YamlNode::Type YamlNode::type() const {
  const std::string_view core = "tag:yaml.org,2002:";
  std::string_view t = tag;
  const bool by_text = t == "!" || (plain && t.empty());
  if (t.starts_with(core)) {
    t.remove_prefix(core.size());
    if (t == "str") return Type::kText;
    if (t == "int") return Type::kInt;
    if (t == "float") return Type::kFloat;
    if (t == "bool") return Type::kBool;
    if (t == "null") return Type::kNull;
    if (t == "timestamp") return Type::kTimestamp;
  }
  if (!by_text) return Type::kText;
  if (is_null(text)) return Type::kNull;
  if (as_bool(text)) return Type::kBool;
  if (is_int(text)) return Type::kInt;
  if (is_float(text)) return Type::kFloat;
  if (is_timestamp(text)) return Type::kTimestamp;
  return Type::kText;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const YamlNode* found = nullptr;
  for (const YamlEntry& entry : entries) {
    if (entry.key.kind == Kind::kScalar && entry.key.text == key) found = &entry.value;
  }
  return found;
}

SourcePlace YamlDocument::place(const YamlNode& node) const { return {name, node.line, node.column, line_at(bytes, node.line)}; }

Result<YamlDocument> parse_yaml(std::string bytes, std::string name) {
  YamlDocument document{std::move(name), std::move(bytes), {}};
  if (document.bytes.size() > kBytesMax) return bad_input(fmt::format("{}: larger than {} MiB", document.name, kBytesMax >> 20));
  document.root.plain = true;
  Reader reader(document);
  PAWL_TRY(reader.read());
  return document;
}

Result<Json> yaml_value(const YamlDocument& document, const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      switch (node.type()) {
        case YamlNode::Type::kNull:
          return Json(nullptr);
        case YamlNode::Type::kBool: {
          const auto value = as_bool(node.text);
          if (!value) return bad_input(fmt::format("'{}' is no boolean", node.text)).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kInt: {
          if (!is_int(node.text)) return bad_input(fmt::format("'{}' is no integer", node.text)).at(document.place(node));
          const auto value = int_value(node.text);
          if (!value) return bad_input(fmt::format("the integer {} is too large", node.text)).at(document.place(node));
          return Json(*value);
        }
        case YamlNode::Type::kFloat: {
          const double value = float_value(node.text);
          if (!std::isfinite(value)) return bad_input(fmt::format("the number {} is not finite", node.text)).at(document.place(node));
          return Json(value);
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
      std::vector<const YamlNode*> merges;
      for (const YamlEntry& entry : node.entries) {
        if (entry.key.kind != YamlNode::Kind::kScalar) {
          return bad_input("a key must be a scalar").at(document.place(entry.key));
        }
        if (entry.key.plain && entry.key.text == "<<") {
          merges.push_back(&entry.value);
          continue;
        }
        PAWL_ASSIGN(Json value, yaml_value(document, entry.value));
        object[entry.key.text] = std::move(value);
      }
      for (const YamlNode* merge : merges) {
        std::vector<const YamlNode*> sources;
        if (merge->kind == YamlNode::Kind::kSequence) {
          for (const YamlNode& item : merge->items) sources.push_back(&item);
        } else {
          sources.push_back(merge);
        }
        for (const YamlNode* source : sources) {
          if (source->kind != YamlNode::Kind::kMapping) return bad_input("<< needs a mapping").at(document.place(*source));
          PAWL_ASSIGN(Json merged, yaml_value(document, *source));
          for (auto it = merged.begin(); it != merged.end(); ++it) {
            if (!object.contains(it.key())) object[it.key()] = it.value();
          }
        }
      }
      return object;
    }
  }
  return internal_error("unknown YAML kind");
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
