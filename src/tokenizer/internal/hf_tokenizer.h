#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <variant>

#include "tokenizer/internal/added_tokens.h"
#include "tokenizer/internal/bpe.h"
#include "tokenizer/internal/decoder.h"
#include "tokenizer/internal/normalizer.h"
#include "tokenizer/internal/pre_tokenizer.h"
#include "tokenizer/internal/unigram.h"

namespace pawl::tokenizer {

/// The parts of a tokenizer of the Hugging Face kind: added tokens, normalizer, pre-tokenizer, model, decoder.
struct HfParts {
  std::string name;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::variant<BpeModel, UnigramModel> model;
  Decoder decoder;
  AddedTokens raw_added, normalized_added;  ///< found before the normalizer, and after it
  std::unordered_set<TokenId> added_ids;
  std::int64_t vocab_size = 0, special_overhead = 0;
};

[[nodiscard]] std::shared_ptr<const Tokenizer> make_hf_tokenizer(HfParts parts);

}  // namespace pawl::tokenizer
