#include "tokenizer/internal/unigram.h"

#include <algorithm>
#include <utility>

#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {

/// Viterbi from left to right. Of equal sums the one found first stays, as in the reference.
Status UnigramEncoder::encode(std::string_view word, std::vector<TokenId>& out) {
  constexpr TokenId kUnknown = -1;
  best_.assign(word.size() + 1, Best());
  best_[0].from = 0;
  for (std::size_t at = 0; at < word.size();) {
    const double here = best_[at].score;
    const std::size_t one = utf8_length(word[at]);
    bool has_one = false;
    const std::size_t limit = std::min(word.size(), at + model_.vocabulary.longest());
    for (std::size_t end = at + one; end <= limit;) {
      if (const auto id = model_.vocabulary.find(word.substr(at, end - at))) {
        const double score = here + model_.scores[static_cast<std::size_t>(*id)];
        Best& target = best_[end];
        if (target.from == kNowhere || score > target.score) target = {score, static_cast<std::uint32_t>(at), *id};
        has_one |= end == at + one;
      }
      if (end == word.size()) break;
      end += utf8_length(word[end]);
    }
    if (!has_one) {
      Best& target = best_[at + one];
      const double score = here + model_.unknown_score;
      if (target.from == kNowhere || score > target.score) target = {score, static_cast<std::uint32_t>(at), kUnknown};
    }
    at += one;
  }
  ends_.clear();
  for (std::size_t at = word.size(); at > 0; at = best_[at].from) ends_.push_back(static_cast<std::uint32_t>(at));
  std::ranges::reverse(ends_);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (best_[ends_[i]].id != kUnknown && best_[ends_[i]].id != model_.unknown.value_or(kUnknown)) {
      out.push_back(best_[ends_[i]].id);
      continue;
    }
    // Neighbours that are unknown are one token, unless they go out as bytes.
    const std::size_t begin = best_[ends_[i]].from;
    while (i + 1 < ends_.size() && (best_[ends_[i + 1]].id == kUnknown || best_[ends_[i + 1]].id == model_.unknown.value_or(kUnknown))) ++i;
    const std::string_view bytes = word.substr(begin, ends_[i] - begin);
    if (model_.byte_fallback && std::ranges::all_of(bytes, [&](char c) { return model_.byte_ids[static_cast<unsigned char>(c)] >= 0; })) {
      for (const char c : bytes) out.push_back(model_.byte_ids[static_cast<unsigned char>(c)]);
    } else if (model_.unknown) {
      out.push_back(*model_.unknown);
    } else {
      return bad_input("a character that the tokenizer has no token for, and it has none for unknown ones");
    }
  }
  return {};
}

}  // namespace pawl::tokenizer
