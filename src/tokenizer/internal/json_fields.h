#pragma once

#include <string>

#include "base/result.h"
#include "codec/json.h"
#include "tokenizer/internal/regex.h"

namespace pawl::tokenizer {

// Fields of the parts of a tokenizer.json. A field of the wrong type reads as absent.

[[nodiscard]] inline std::string text_field(const codec::Json& json, const char* key, const std::string& otherwise = {}) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}
[[nodiscard]] inline bool flag_field(const codec::Json& json, const char* key, bool otherwise) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
[[nodiscard]] inline const codec::Json& part(const codec::Json& json, const char* key) {
  static const codec::Json kNothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found != json.end() ? *found : kNothing;
}

/// {"String": …} or {"Regex": …}
[[nodiscard]] inline Result<Regex> pattern_field(const codec::Json& json) {
  const codec::Json& pattern = part(json, "pattern");
  if (pattern.is_string()) return Regex::literal(pattern.get_ref<const std::string&>());
  if (const std::string text = text_field(pattern, "String"); !text.empty()) return Regex::literal(text);
  if (const std::string text = text_field(pattern, "Regex"); !text.empty()) return Regex::compile(text);
  return bad_input("a pattern that is neither a text nor a regular expression");
}

}  // namespace pawl::tokenizer
