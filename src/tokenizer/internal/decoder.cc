#include "tokenizer/internal/decoder.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "tokenizer/internal/json_fields.h"

namespace pawl::tokenizer {
namespace {

/// <0x41>
std::optional<char> byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, ec] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (ec != std::errc{} || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

/// Runs of byte tokens become their text; a run that is no UTF-8 becomes one U+FFFD a byte.
std::vector<std::string> fall_back(const std::vector<std::string>& tokens) {
  std::vector<std::string> out;
  std::string run;
  const auto flush = [&] {
    if (run.empty()) return;
    if (is_utf8(run)) {
      out.push_back(run);
    } else {
      for (std::size_t i = 0; i < run.size(); ++i) out.emplace_back("\xEF\xBF\xBD");
    }
    run.clear();
  };
  for (const std::string& token : tokens) {
    if (const auto byte = byte_token(token)) {
      run += *byte;
    } else {
      flush();
      out.push_back(token);
    }
  }
  flush();
  return out;
}

}  // namespace

void Decoder::add(const codec::Json& json) {
  const std::string type = text_field(json, "type");
  if (type == "Sequence") {
    for (const codec::Json& item : part(json, "decoders")) add(item);
  } else if (type == "Metaspace") {
    const std::string scheme = text_field(json, "prepend_scheme", flag_field(json, "add_prefix_space", true) ? "always" : "never");
    steps_.emplace_back(Metaspace{text_field(json, "replacement", "\xE2\x96\x81"), scheme != "never"});
  } else if (type == "ByteFallback") {
    steps_.emplace_back(ByteFallback());
  } else if (type == "Fuse") {
    steps_.emplace_back(Fuse());
  } else if (type == "Strip") {
    const auto count = [&](const char* key) -> std::size_t { return part(json, key).is_number_unsigned() ? part(json, key).get<std::size_t>() : 0; };
    steps_.emplace_back(Strip{text_field(json, "content"), count("start"), count("stop")});
  } else if (type == "Replace" && part(part(json, "pattern"), "String").is_string()) {
    steps_.emplace_back(Replace{text_field(part(json, "pattern"), "String"), text_field(json, "content")});
  } else if (type == "BPEDecoder") {
    steps_.emplace_back(Suffix{text_field(json, "suffix", "</w>")});
  } else {
    unknown_ = type.empty() ? "without a type" : type;
  }
}

Decoder Decoder::from_json(const codec::Json& json) {
  Decoder out;
  out.none_ = json.is_null();
  if (!out.none_) out.add(json);
  return out;
}

Result<std::string> Decoder::apply(std::vector<std::string> tokens) const {
  if (!unknown_.empty()) return bad_input("decoder \"" + unknown_ + "\" is not supported");
  if (none_) return join(tokens, " ");
  for (const Step& step : steps_) {
    if (const auto* meta = std::get_if<Metaspace>(&step)) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = replace_all(std::move(tokens[i]), meta->replacement, i == 0 && meta->drop_first ? "" : " ");
      }
    } else if (std::holds_alternative<ByteFallback>(step)) {
      tokens = fall_back(tokens);
    } else if (std::holds_alternative<Fuse>(step)) {
      tokens = {join(tokens, "")};
    } else if (const auto* strip = std::get_if<Strip>(&step)) {
      if (strip->content.empty()) continue;
      for (std::string& token : tokens) {
        std::string_view left = token;
        for (std::size_t i = 0; i < strip->start && left.starts_with(strip->content); ++i) left.remove_prefix(strip->content.size());
        for (std::size_t i = 0; i < strip->stop && left.ends_with(strip->content); ++i) left.remove_suffix(strip->content.size());
        token = std::string(left);
      }
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      for (std::string& token : tokens) token = replace_all(std::move(token), replace->plain, replace->content);
    } else if (const auto* suffix = std::get_if<Suffix>(&step)) {
      for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = replace_all(std::move(tokens[i]), suffix->suffix, i + 1 == tokens.size() ? "" : " ");
    }
  }
  return join(tokens, "");
}

}  // namespace pawl::tokenizer
