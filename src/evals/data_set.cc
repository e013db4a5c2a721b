#include "evals/data_set.h"

#include <fmt/format.h>

#include "base/text.h"
#include "workload/rows.h"

namespace pawl::evals {
namespace {

constexpr std::uint64_t kDataSetMax = 1u << 30;
constexpr std::size_t kRowMax = 16u << 20;

bool name_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

}  // namespace

Result<FieldTemplate> FieldTemplate::parse(std::string text) {
  FieldTemplate out;
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const bool twice = text.compare(i, 2, "{{") == 0;
    if (text.compare(i, 2, "{%") == 0)
      return bad_input(fmt::format("'{}' holds a statement of a template language, which is not understood", text.substr(i, 40)));
    if (text[i] != '{') {
      plain += text[i++];
      continue;
    }
    const std::string_view close = twice ? "}}" : "}";
    const std::size_t begin = i + close.size(), end = text.find(close, begin);
    const std::string_view inside = end == std::string::npos ? std::string_view() : trim(std::string_view(text).substr(begin, end - begin));
    bool name = !inside.empty();
    for (const char c : inside) name = name && name_character(c);
    if (!name) {
      if (twice) return bad_input(fmt::format("'{}' is more than the name of a field, which is not understood", text.substr(i, 60)));
      plain += text[i++];
      continue;
    }
    if (!plain.empty()) out.parts_.push_back({std::move(plain), false});
    plain.clear();
    out.parts_.push_back({std::string(inside), true});
    i = end + close.size();
  }
  if (!plain.empty()) out.parts_.push_back({std::move(plain), false});
  return out;
}

Result<std::string> FieldTemplate::fill(const codec::Json& row) const {
  std::string out;
  for (const Part& part : parts_) {
    if (!part.field) {
      out += part.text;
      continue;
    }
    const auto value = row.find(part.text);
    if (value == row.end()) return bad_input(fmt::format("the row has no field {}", part.text));
    if (value->is_string())
      out += value->get_ref<const std::string&>();
    else if (value->is_number())
      out += value->dump();
    else
      return bad_input(fmt::format("the field {} is neither a text nor a number", part.text));
  }
  return out;
}

Result<std::vector<codec::Json>> read_rows(std::string bytes, const std::string& name) {
  PAWL_ASSIGN(const std::string text, workload::unpacked(std::move(bytes), name, kDataSetMax));
  PAWL_ASSIGN(const std::vector<std::string_view> rows, workload::split_rows(text, name));
  std::vector<codec::Json> out;
  out.reserve(rows.size());
  for (const std::string_view row : rows) {
    PAWL_ASSIGN(codec::Json json, codec::parse_json(row, fmt::format("{}: row {}", name, out.size() + 1), kRowMax));
    if (!json.is_object()) return bad_input(fmt::format("{}: row {} is no JSON object", name, out.size() + 1));
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace pawl::evals
