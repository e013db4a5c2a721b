#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/internal/tables.h"

namespace pawl::tokenizer {

/// The tables of a unigram model: each token has a score, the best sum wins.
struct UnigramModel {
  Vocabulary vocabulary;
  std::vector<double> scores;  ///< by id
  double unknown_score = 0;    ///< the least score − 10
  std::optional<TokenId> unknown;
  bool byte_fallback = false;
  std::array<TokenId, 256> byte_ids{};  ///< of <0x00>…; −1: none
};

class UnigramEncoder {
 public:
  explicit UnigramEncoder(const UnigramModel& model) : model_(model) {}
  /// Appends the tokens of one word; time linear in its bytes, times the longest token. Error: kInvalid for a character
  /// outside of a vocabulary without an unknown token.
  Status encode(std::string_view word, std::vector<TokenId>& out);

 private:
  struct Best {
    double score = 0;
    std::uint32_t from = kNowhere;
    TokenId id = 0;
  };
  static constexpr std::uint32_t kNowhere = ~0u;
  const UnigramModel& model_;
  std::vector<Best> best_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace pawl::tokenizer
