#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/internal/tables.h"

namespace pawl::tokenizer {

/// The tables of a BPE model. Texts of a byte-level model are the raw bytes, else UTF-8.
struct BpeModel {
  Vocabulary vocabulary;
  MergeTable merges;
  std::array<TokenId, 256> byte_ids{};  ///< of single bytes (byte-level) or of <0x00>… (byte fallback); −1: none
  bool byte_level = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  ///< a whole word of the vocabulary is that token, whatever the merges say
  bool fuse_unknown = false;
  std::optional<TokenId> unknown;
  std::string subword_prefix, word_suffix;  ///< of a plain model; usually empty
  /// No merge joins a token that does not end with ▁ and one that begins with it. A text may then be cut before each run
  /// of marks without changing a token, which makes one long word into many that the cache knows.
  bool words_begin_at_marks = false;
};

/// Splits words into tokens. Scratch and cache of one thread.
class BpeEncoder {
 public:
  explicit BpeEncoder(const BpeModel& model);
  /// Appends the tokens of one word, in time n·log(n) of its bytes.
  void encode(std::string_view word, std::vector<TokenId>& out);

 private:
  void encode_word(std::string_view word, std::vector<TokenId>& out);
  struct Symbol {
    TokenId id = 0;
    std::uint32_t rank = 0;  ///< of the merge with its right neighbour; kNoMerge: none
    TokenId merged = 0;      ///< what that merge gives
  };
  struct Cached {
    std::uint64_t hash = 0;
    std::uint8_t bytes = 0;  ///< of the word; 0: empty slot
    std::uint8_t tokens = 0;
    std::array<char, 22> word{};
    std::array<TokenId, 8> ids{};
  };
  void start(std::string_view word);
  void merge_few();
  void merge_many();
  void look_right(std::size_t at);

  const BpeModel& model_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint32_t> before_, after_;
  struct Candidate {
    std::uint32_t rank = 0, at = 0;
    TokenId merged = 0;
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }  // the lowest is on top
  };
  std::vector<Candidate> heap_;
  std::vector<Cached> cache_;
  std::string piece_;
};

}  // namespace pawl::tokenizer
