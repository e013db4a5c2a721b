#include "backend/internal/body_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pawl::backend {

void append_json_text(std::string& out, std::string_view value) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : value) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += "\\u00";
          out += kHex[static_cast<unsigned char>(c) >> 4];
          out += kHex[static_cast<unsigned char>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

BodyWriter::BodyWriter(std::string& out, const codec::Json& extra) : out_(&out), extra_(&extra) { out += '{'; }

const codec::Json& BodyWriter::none() {
  static const codec::Json null_value;
  return null_value;
}

const codec::Json* BodyWriter::given(std::string_view key) const {
  if (!extra_->is_object()) return nullptr;
  const auto found = extra_->find(key);
  return found == extra_->end() ? nullptr : &*found;
}

void BodyWriter::begin(std::string_view key) {
  if (!first_) *out_ += ',';
  first_ = false;
  append_json_text(*out_, key);
  *out_ += ':';
}

void BodyWriter::raw(std::string_view key, std::string_view json) {
  if (is_given(key)) return;
  begin(key);
  *out_ += json;
}

void BodyWriter::text(std::string_view key, std::string_view value) {
  if (is_given(key)) return;
  begin(key);
  append_json_text(*out_, value);
}

void BodyWriter::integer(std::string_view key, std::int64_t value) { raw(key, fmt::format_int(value).c_str()); }

void BodyWriter::number(std::string_view key, double value) { raw(key, codec::write_json(codec::Json(value), codec::JsonForm::kCompactUtf8)); }

void BodyWriter::ids(std::string_view key, const std::vector<std::int32_t>& values) {
  if (is_given(key)) return;
  begin(key);
  *out_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) *out_ += ',';
    const fmt::format_int digits(values[i]);
    out_->append(digits.data(), digits.size());
  }
  *out_ += ']';
}

void BodyWriter::length(std::string_view key, std::int64_t tokens, std::initializer_list<std::string_view> aliases) {
  if (std::ranges::any_of(aliases, [&](std::string_view alias) { return is_given(alias); })) return;
  integer(key, tokens);
}

void BodyWriter::finish() {
  if (extra_->is_object()) {
    for (const auto& [key, value] : extra_->items()) {
      if (std::ranges::find(merged_, key) != merged_.end()) continue;
      begin(key);
      *out_ += codec::write_json(value, codec::JsonForm::kCompactUtf8);
    }
  }
  *out_ += '}';
}

}  // namespace pawl::backend
