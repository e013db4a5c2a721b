#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "upstream/extract.h"

namespace pawl::upstream {
namespace {

/// `key = "value"` or `key = value` of an attribute; empty when it is not there, "*" for a key without a value.
std::string attribute(const std::string& text, const std::string& key) {
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    std::size_t end = at + key.size();
    if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
    while (end < text.size() && text[end] == ' ') ++end;
    if (end >= text.size() || text[end] != '=') return "*";
    ++end;
    while (end < text.size() && text[end] == ' ') ++end;
    if (end < text.size() && (text[end] == '"' || text[end] == '\'')) {
      const std::size_t close = text.find(text[end], end + 1);
      return close == std::string::npos ? std::string() : text.substr(end + 1, close - end - 1);
    }
    const std::size_t close = std::min(text.find_first_of(",)]", end), text.size());
    return std::string(trim(std::string_view(text).substr(end, close - end)));
  }
  return {};
}

}  // namespace

std::vector<Argument> arguments_of_clap(const std::string& text, const std::string& name) {
  std::vector<Argument> out;
  std::string attributes, docs;
  int line = 0;
  bool open = false;
  for (const std::string_view raw : split(text, '\n')) {
    ++line;
    const std::string body(trim(raw));
    if (open || body.starts_with("#[arg(") || body.starts_with("#[clap(")) {
      attributes += body + " ";
      open = !body.ends_with(")]");
      continue;
    }
    if (body.starts_with("///")) {
      docs += (docs.empty() ? "" : " ") + std::string(trim(std::string_view(body).substr(3)));
      continue;
    }
    if (body.starts_with("#[") || body.starts_with("//")) continue;
    const std::string long_name = attribute(attributes, "long");
    std::string field = body.starts_with("pub ") ? body.substr(4) : body;
    const std::size_t colon = field.find(':');
    if (!long_name.empty() && colon != std::string::npos) {
      Argument a;
      a.dest = field.substr(0, colon);
      a.type = field.substr(colon + 1);
      while (!a.type.empty() && (a.type.back() == ',' || a.type.back() == ' ')) a.type.pop_back();
      a.type = std::string(trim(a.type));
      a.names.push_back("--" + (long_name == "*" ? replace_all(a.dest, "_", "-") : long_name));
      if (const std::string alias = attribute(attributes, "alias"); !alias.empty() && alias != "*") a.names.push_back("--" + alias);
      a.takes_value = a.type != "bool";
      a.help = docs;
      for (const char* key : {"default_value", "default_value_t"}) {
        const std::string value = attribute(attributes, key);
        if (value.empty() || value == "*") continue;
        a.fallback_text = value;
        if (const auto whole = parse_int(value)) {
          a.fallback = *whole;
        } else if (const auto real = parse_double(value)) {
          a.fallback = *real;
        } else if (value == "true" || value == "false") {
          a.fallback = value == "true";
        } else if (std::string_view(key) == "default_value") {
          a.fallback = value;
        }
      }
      if (const std::string environment = attribute(attributes, "env"); environment != "*") a.environment = environment;
      a.place = {name, line};
      out.push_back(std::move(a));
    }
    attributes.clear();
    docs.clear();
  }
  return out;
}

}  // namespace pawl::upstream
