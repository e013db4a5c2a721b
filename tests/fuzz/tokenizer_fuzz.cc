// Tokenizer files and texts. Input: a tokenizer.json, a zero byte, a text. What loads must encode, and give ids that it has.
#include <vector>

#include "fuzz_target.h"
#include "tokenizer/tokenizer.h"

namespace pawl::fuzz {

const std::size_t kInputMax = 4096;

bool one_input(std::string_view input) {
  const std::size_t zero = input.find('\0');
  const std::string_view file = input.substr(0, zero), text = zero == std::string_view::npos ? std::string_view("a b") : input.substr(zero + 1);
  // SentencePiece parses its own format; what is fuzzed here is ours.
  const auto loaded = tokenizer::load_tokenizer_json(file, "fuzz");
  if (!loaded) return file.size() > 2 && file[0] == '{';
  std::vector<tokenizer::TokenId> ids, again;
  const auto encoder = (*loaded)->encoder();
  if (!encoder->encode(text, ids)) return true;
  PAWL_FUZZ_CHECK(encoder->encode(text, again).has_value());
  PAWL_FUZZ_CHECK(ids == again);
  for (const tokenizer::TokenId id : ids) PAWL_FUZZ_CHECK(id >= 0 && id < (*loaded)->id_limit());
  (void)(*loaded)->decode(ids);
  return true;
}

}  // namespace pawl::fuzz
