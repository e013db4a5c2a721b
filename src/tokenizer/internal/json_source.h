#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "tokenizer/tokenizer.h"

namespace pawl::tokenizer {

/// The two big parts of a tokenizer.json, which never become a tree, and the rest, which does.
struct JsonSource {
  struct Text {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };
  std::string arena;
  struct Token {
    Text text;
    std::int64_t id = 0;  ///< BPE; of a unigram model its place in the list
    double score = 0;     ///< unigram
  };
  std::vector<Token> vocab;
  std::vector<std::pair<Text, Text>> merges;
  codec::Json rest;  ///< without model.vocab and model.merges

  [[nodiscard]] std::string_view view(Text text) const { return std::string_view(arena).substr(text.offset, text.length); }
};

/// Reads the file. Errors: kInvalid for JSON that is broken or beyond the limits of `load_tokenizer_json`.
[[nodiscard]] Result<JsonSource> read_json_source(std::string_view text, const std::string& name);

}  // namespace pawl::tokenizer
