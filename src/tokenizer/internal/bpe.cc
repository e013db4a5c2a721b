#include "tokenizer/internal/bpe.h"

#include <algorithm>
#include <cstring>

#include "tokenizer/internal/utf8.h"

namespace pawl::tokenizer {
namespace {

constexpr std::uint32_t kNoMerge = ~0u;
constexpr std::size_t kFew = 48;              ///< up to here a scan for the lowest rank is faster than a heap
constexpr std::size_t kCacheSlots = 1 << 13;  ///< 64 bytes each
constexpr std::uint32_t kGone = ~0u;
constexpr std::string_view kMark = "\xE2\x96\x81";  // ▁

}  // namespace

BpeEncoder::BpeEncoder(const BpeModel& model) : model_(model), cache_(kCacheSlots) {}

void BpeEncoder::encode(std::string_view word, std::vector<TokenId>& out) {
  if (model_.words_begin_at_marks && !model_.ignore_merges) {
    std::size_t begin = 0;
    for (std::size_t mark = word.find(kMark, 1); mark != std::string_view::npos; mark = word.find(kMark, mark + kMark.size())) {
      if (mark - begin >= kMark.size() && word.substr(mark - kMark.size(), kMark.size()) == kMark) continue;  // within a run
      encode_word(word.substr(begin, mark - begin), out);
      begin = mark;
    }
    word.remove_prefix(begin);
  }
  encode_word(word, out);
}

void BpeEncoder::encode_word(std::string_view word, std::vector<TokenId>& out) {
  if (word.empty()) return;
  if (model_.ignore_merges) {
    if (const auto whole = model_.vocabulary.find(word)) {
      out.push_back(*whole);
      return;
    }
  }
  Cached* slot = nullptr;
  std::uint64_t hash = 0;
  if (word.size() <= Cached().word.size()) {
    hash = hash_of(word);
    slot = &cache_[hash & (kCacheSlots - 1)];
    if (slot->hash == hash && slot->bytes == word.size() && std::memcmp(slot->word.data(), word.data(), word.size()) == 0) {
      out.insert(out.end(), slot->ids.begin(), slot->ids.begin() + slot->tokens);
      return;
    }
  }
  start(word);
  if (symbols_.size() <= kFew) {
    merge_few();
  } else {
    merge_many();
  }
  for (const Symbol& symbol : symbols_) out.push_back(symbol.id);
  if (slot != nullptr && symbols_.size() <= slot->ids.size()) {
    slot->hash = hash;
    slot->bytes = static_cast<std::uint8_t>(word.size());
    slot->tokens = static_cast<std::uint8_t>(symbols_.size());
    std::memcpy(slot->word.data(), word.data(), word.size());
    for (std::size_t i = 0; i < symbols_.size(); ++i) slot->ids[i] = symbols_[i].id;
  }
}

/// The symbols of a word before any merge.
void BpeEncoder::start(std::string_view word) {
  symbols_.clear();
  if (model_.byte_level) {
    for (const char c : word) {
      const TokenId id = model_.byte_ids[static_cast<unsigned char>(c)];
      if (id >= 0) {
        symbols_.push_back({id});
      } else if (model_.unknown) {
        symbols_.push_back({*model_.unknown});
      }
    }
    return;
  }
  bool in_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = utf8_length(word[at]);
    std::string_view character = word.substr(at, length);
    if (!model_.subword_prefix.empty() || !model_.word_suffix.empty()) {
      piece_.clear();
      if (at > 0) piece_ += model_.subword_prefix;
      piece_ += character;
      if (at + length == word.size()) piece_ += model_.word_suffix;
      character = piece_;
    }
    const std::string_view bytes = word.substr(at, length);
    at += length;
    if (const auto id = model_.vocabulary.find(character)) {
      symbols_.push_back({*id});
      in_unknown = false;
      continue;
    }
    if (model_.byte_fallback && std::ranges::all_of(bytes, [&](char c) { return model_.byte_ids[static_cast<unsigned char>(c)] >= 0; })) {
      for (const char c : bytes) symbols_.push_back({model_.byte_ids[static_cast<unsigned char>(c)]});
      in_unknown = false;
      continue;
    }
    if (!model_.unknown) continue;
    if (!(in_unknown && model_.fuse_unknown)) symbols_.push_back({*model_.unknown});
    in_unknown = true;
  }
}

/// A scan for the lowest rank, leftmost first, until there is none.
void BpeEncoder::merge_few() {
  const auto look = [this](std::size_t at) {
    Symbol& symbol = symbols_[at];
    const Merge* merge = at + 1 < symbols_.size() ? model_.merges.find(symbol.id, symbols_[at + 1].id) : nullptr;
    symbol.rank = merge == nullptr ? kNoMerge : merge->rank;
    symbol.merged = merge == nullptr ? 0 : merge->id;
  };
  for (std::size_t i = 0; i < symbols_.size(); ++i) look(i);
  while (symbols_.size() > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < symbols_.size(); ++i) {
      if (symbols_[i].rank < symbols_[best].rank) best = i;
    }
    if (symbols_[best].rank == kNoMerge) return;
    symbols_[best].id = symbols_[best].merged;
    symbols_.erase(symbols_.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    look(best);
    if (best > 0) look(best - 1);
  }
}

/// Notes the merge of a living symbol with its right neighbour.
void BpeEncoder::look_right(std::size_t at) {
  if (after_[at] == kGone) return;
  const Merge* merge = model_.merges.find(symbols_[at].id, symbols_[after_[at]].id);
  if (merge == nullptr) return;
  heap_.push_back({merge->rank, static_cast<std::uint32_t>(at), merge->id});
  std::ranges::push_heap(heap_, std::less<>());
}

/// The same with a heap of merges and links between neighbours.
void BpeEncoder::merge_many() {
  const std::size_t n = symbols_.size();
  before_.resize(n);
  after_.resize(n);
  heap_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    before_[i] = i == 0 ? kGone : static_cast<std::uint32_t>(i - 1);
    after_[i] = i + 1 == n ? kGone : static_cast<std::uint32_t>(i + 1);
  }
  for (std::size_t i = 0; i < n; ++i) look_right(i);
  constexpr TokenId kDead = -1;
  while (!heap_.empty()) {
    const Candidate best = heap_.front();
    std::ranges::pop_heap(heap_, std::less<>());
    heap_.pop_back();
    if (symbols_[best.at].id == kDead || after_[best.at] == kGone) continue;
    const std::uint32_t right = after_[best.at];
    // Both sides may have changed since this was noted.
    const Merge* now = model_.merges.find(symbols_[best.at].id, symbols_[right].id);
    if (now == nullptr || now->id != best.merged) continue;
    symbols_[best.at].id = best.merged;
    symbols_[right].id = kDead;
    after_[best.at] = after_[right];
    if (after_[right] != kGone) before_[after_[right]] = best.at;
    look_right(best.at);
    if (before_[best.at] != kGone) look_right(before_[best.at]);
  }
  std::erase_if(symbols_, [](const Symbol& symbol) { return symbol.id == kDead; });
}

}  // namespace pawl::tokenizer
