#include "tokenizer/internal/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "tokenizer/internal/json_fields.h"
#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {
namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

bool is_space(char32_t c) {
  return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace

Status Normalizer::add(const codec::Json& json, std::vector<Step>& steps) {
  if (json.is_null()) return {};
  const std::string type = text_field(json, "type");
  if (type == "Sequence") {
    for (const codec::Json& item : part(json, "normalizers")) PAWL_TRY(add(item, steps));
  } else if (type == "NFC") {
    steps.emplace_back(Unicode{Form::kNfc});
  } else if (type == "NFD") {
    steps.emplace_back(Unicode{Form::kNfd});
  } else if (type == "NFKC") {
    steps.emplace_back(Unicode{Form::kNfkc});
  } else if (type == "NFKD") {
    steps.emplace_back(Unicode{Form::kNfkd});
  } else if (type == "Lowercase") {
    steps.emplace_back(Lowercase());
  } else if (type == "Strip") {
    steps.emplace_back(Strip{flag_field(json, "strip_left", true), flag_field(json, "strip_right", true)});
  } else if (type == "Prepend") {
    steps.emplace_back(Prepend{text_field(json, "prepend")});
  } else if (type == "Replace") {
    PAWL_ASSIGN(Regex pattern, pattern_field(json));
    steps.emplace_back(Replace{std::move(pattern), text_field(json, "content"), text_field(part(json, "pattern"), "String")});
  } else {
    return bad_input("normalizer \"" + type + "\" is not supported", "supported: NFC, NFD, NFKC, NFKD, Lowercase, Strip, Prepend, Replace, Sequence");
  }
  return {};
}

Result<Normalizer> Normalizer::from_json(const codec::Json& json) {
  Normalizer out;
  PAWL_TRY(add(json, out.steps_));
  return out;
}

Status Normalizer::unicode(std::string& text, Form form) {
  if (is_ascii(text)) return {};
  int options = UTF8PROC_STABLE;
  options |= form == Form::kNfc || form == Form::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == Form::kNfkc || form == Form::kNfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()), &made,
                                               static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owned(made, std::free);
  if (length < 0) return bad_input(fmt::format("text that cannot be normalised: {}", utf8proc_errmsg(length)));
  text.assign(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length));
  return {};
}

Status Normalizer::apply(std::string& text, RegexScratch& scratch) const {
  for (const Step& step : steps_) {
    if (const auto* form = std::get_if<Unicode>(&step)) {
      PAWL_TRY(unicode(text, form->form));
    } else if (std::holds_alternative<Lowercase>(step)) {
      std::string lower;
      lower.reserve(text.size());
      for (std::size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
        const char32_t c = utf8_at(text, at);
        if (c == 0x130) {
          lower += "i\xCC\x87";  // the one character whose lower case is two
        } else {
          append_utf8(lower, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
        }
      }
      text = std::move(lower);
    } else if (const auto* strip = std::get_if<Strip>(&step)) {
      std::size_t begin = 0, end = text.size();
      while (strip->left && begin < end && is_space(utf8_at(text, begin))) begin += utf8_length(text[begin]);
      while (strip->right && end > begin) {
        std::size_t last = end - 1;
        while (last > begin && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
        if (!is_space(utf8_at(text, last))) break;
        end = last;
      }
      text = text.substr(begin, end - begin);
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (!text.empty()) text.insert(0, prepend->text);
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      if (!replace->plain.empty()) {
        if (text.find(replace->plain) != std::string::npos) text = replace_all(std::move(text), replace->plain, replace->content);
        continue;
      }
      std::string out;
      std::size_t done = 0;
      for (;;) {
        PAWL_ASSIGN(const auto match, replace->pattern.find(text, done, scratch));
        if (!match) break;
        out.append(text, done, match->begin - done);
        out += replace->content;
        done = match->end;
      }
      out.append(text, done);
      text = std::move(out);
    }
  }
  return {};
}

}  // namespace pawl::tokenizer
