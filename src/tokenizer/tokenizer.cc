#include "tokenizer/tokenizer.h"

namespace pawl::tokenizer {

Result<std::int64_t> Encoder::count(std::string_view text) {
  counted_.clear();
  PAWL_TRY(encode(text, counted_));
  return static_cast<std::int64_t>(counted_.size());
}

Result<std::shared_ptr<const Tokenizer>> load_tokenizer(std::string_view bytes, const std::string& name) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos || bytes[first] != '{') return load_sentencepiece(bytes, name);
  // Mistral's file has its expression right at its start.
  const std::string_view head = bytes.substr(0, 4096);
  if (head.find("\"pattern\"") != std::string_view::npos && head.find("\"default_num_special_tokens\"") != std::string_view::npos) {
    return load_tekken(bytes, name);
  }
  return load_tokenizer_json(bytes, name);
}

}  // namespace pawl::tokenizer
