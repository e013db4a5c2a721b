#include "codec/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/assert.h"
#include "codec/json_append.h"

namespace pawl::codec {
namespace {

constexpr int kDepthMax = 300;

int depth_of(const std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

void write_escape(std::string& out, unsigned int unit) { out += fmt::format("\\u{:04x}", unit); }

bool stands_for_itself(unsigned char c, bool ascii) { return c >= 0x20 && c != '"' && c != '\\' && (c < 0x80 || !ascii); }

void write_string(std::string& out, const std::string& text, bool ascii) {
  out += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    // What needs no escape is nearly all there is: it goes over in one piece.
    std::size_t end = i;
    while (end < text.size() && stands_for_itself(static_cast<unsigned char>(text[end]), ascii)) ++end;
    out.append(text, i, end - i);
    if (end == text.size()) break;
    i = end;
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        continue;
      case '\\':
        out += "\\\\";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\t':
        out += "\\t";
        continue;
      case '\b':
        out += "\\b";
        continue;
      case '\f':
        out += "\\f";
        continue;
      default:
        break;
    }
    if (c < 0x20) {
      write_escape(out, c);
    } else {
      const int extra = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
      unsigned int point = c & (0x3Fu >> extra);
      for (int k = 0; k < extra && i + 1 < text.size(); ++k) point = (point << 6) | (static_cast<unsigned char>(text[++i]) & 0x3Fu);
      if (point >= 0x10000) {
        point -= 0x10000;
        write_escape(out, 0xD800 + (point >> 10));
        write_escape(out, 0xDC00 + (point & 0x3FF));
      } else {
        write_escape(out, point);
      }
    }
  }
  out += '"';
}

void write_integer(std::string& out, auto value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

struct Style {
  std::string_view comma, colon;
  bool ascii = false;
  bool sorted = false;
  int indent = -1;  // below 0: one line
};

void write_value(std::string& out, const Json& value, const Style& style, int level) {
  const auto line_break = [&](int at) {
    if (style.indent >= 0) {
      out += '\n';
      out.append(static_cast<std::size_t>(style.indent * at), ' ');
    }
  };
  switch (value.type()) {
    case Json::value_t::object: {
      if (value.empty()) {
        out += "{}";
        return;
      }
      out += '{';
      bool first = true;
      const auto write_member = [&](const std::string& key, const Json& member) {
        if (!first) out += style.comma;
        first = false;
        line_break(level + 1);
        write_string(out, key, style.ascii);
        out += style.colon;
        write_value(out, member, style, level + 1);
      };
      const auto& members = value.get_ref<const Json::object_t&>();
      if (style.sorted) {
        std::vector<const Json::object_t::value_type*> sorted;
        sorted.reserve(members.size());
        for (const auto& member : members) sorted.push_back(&member);
        std::ranges::sort(sorted, {}, [](const auto* m) -> const std::string& { return m->first; });
        for (const auto* member : sorted) write_member(member->first, member->second);
      } else {
        for (const auto& [key, member] : members) write_member(key, member);
      }
      line_break(level);
      out += '}';
      return;
    }
    case Json::value_t::array: {
      if (value.empty()) {
        out += "[]";
        return;
      }
      out += '[';
      bool first = true;
      for (const Json& item : value) {
        if (!first) out += style.comma;
        first = false;
        line_break(level + 1);
        write_value(out, item, style, level + 1);
      }
      line_break(level);
      out += ']';
      return;
    }
    case Json::value_t::string:
      write_string(out, value.get_ref<const std::string&>(), style.ascii);
      return;
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case Json::value_t::number_integer:
      write_integer(out, value.get<std::int64_t>());
      return;
    case Json::value_t::number_unsigned:
      write_integer(out, value.get<std::uint64_t>());
      return;
    case Json::value_t::number_float:
      out += python_float(value.get<double>());
      return;
    case Json::value_t::null:
    case Json::value_t::discarded:
    case Json::value_t::binary:
      out += "null";
      return;
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, const std::string& name, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return bad_input(fmt::format("{}: {} bytes of JSON, more than the {} allowed", name, text.size(), max_bytes));
  }
  if (depth_of(text) > kDepthMax) return bad_input(fmt::format("{}: JSON nested deeper than {} levels", name, kDepthMax));
  try {
    Json value = Json::parse(text);
    return value;
  } catch (const Json::parse_error& e) {
    const std::size_t at = std::min<std::size_t>(e.byte == 0 ? 0 : e.byte - 1, text.size());
    const auto line = 1 + std::ranges::count(text.substr(0, at), '\n');
    const auto line_start = text.substr(0, at).rfind('\n');
    const auto column = at - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
    std::string what = e.what();
    if (const auto colon = what.find(": syntax error "); colon != std::string::npos) what = what.substr(colon + 2);
    return bad_input(fmt::format("{}:{}:{}: not valid JSON: {}", name, line, column, what));
  } catch (const std::exception& e) {
    return bad_input(fmt::format("{}: not valid JSON: {}", name, e.what()));
  }
}

std::string python_float(double value) {
  // JSON has no word for these; whoever writes one has skipped the check that leaves such a key out.
  PAWL_ASSERT(std::isfinite(value));
  std::array<char, 32> buffer{};
  const auto sci = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(sci.ptr - buffer.data()));
  const auto e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, e), exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  std::array<char, 64> fixed{};
  const auto end = std::to_chars(fixed.data(), fixed.data() + fixed.size(), value, std::chars_format::fixed);
  std::string out(fixed.data(), static_cast<std::size_t>(end.ptr - fixed.data()));
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string write_json(const Json& value, JsonForm form) {
  std::string out;
  append_json(out, value, form);
  return out;
}

void append_json(std::string& out, const Json& value, JsonForm form) {
  const bool spaced = form == JsonForm::kPySpaced;
  write_value(out, value, {spaced ? ", " : ",", spaced ? ": " : ":", form != JsonForm::kCompactUtf8}, 0);
}

void append_json_text(std::string& out, const std::string& text) { write_string(out, text, false); }

std::string write_json_sorted(const Json& value) {
  std::string out;
  write_value(out, value, {",", ":", true, true}, 0);
  return out;
}

std::string write_json_pretty(const Json& value) {
  std::string out;
  write_value(out, value, {",", ": ", false, false, 2}, 0);
  out += '\n';
  return out;
}

}  // namespace pawl::codec
