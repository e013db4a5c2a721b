#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace pawl::tokenizer {

[[nodiscard]] inline std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ull;
  value ^= value >> 32;
  value *= 0xD6E8FEB86659FD93ull;
  return value ^ (value >> 32);
}

[[nodiscard]] inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull ^ text.size();
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    hash = (hash ^ word) * 0x9FB21C651E98DF25ull;
    hash ^= hash >> 29;
    text.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  return mix(hash ^ word);
}

/// Texts of tokens, both ways. Texts of one arena; open addressing, at most half full.
class Vocabulary {
 public:
  /// Adds a token. A repeated text keeps its latest id, as the reference does with repeated keys. `searchable`: false
  /// for tokens that text never becomes (their text is then only for `text_of`).
  void add(std::string_view text, TokenId id, bool searchable = true);

  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;
  [[nodiscard]] std::string_view text_of(TokenId id) const;  ///< empty when there is none
  [[nodiscard]] bool has(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < by_id_.size() && by_id_[static_cast<std::size_t>(id)] != 0; }
  [[nodiscard]] TokenId id_limit() const { return static_cast<TokenId>(by_id_.size()); }
  [[nodiscard]] std::size_t size() const { return entries_.size() + hidden_.size(); }
  [[nodiscard]] std::size_t longest() const { return longest_; }  ///< bytes of the longest searchable text

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    TokenId id = 0;
  };
  [[nodiscard]] std::string_view view(const Entry& entry) const { return std::string_view(arena_).substr(entry.offset, entry.length); }
  void grow();

  std::string arena_;
  static constexpr std::uint32_t kHidden = 1u << 31;
  std::vector<Entry> entries_, hidden_;  ///< those that are searched for, those that are not
  std::vector<std::uint32_t> slots_;     ///< number of an entry + 1
  std::vector<std::uint32_t> by_id_;     ///< number of an entry + 1, with kHidden of a hidden one; 0: none
  std::size_t longest_ = 0;
};

/// What becomes of two neighbouring tokens.
struct Merge {
  std::uint32_t rank = 0;
  TokenId id = 0;
};

/// Merges by their pair; open addressing, at most half full.
class MergeTable {
 public:
  void reserve(std::size_t merges);
  /// A repeated pair keeps its latest merge, as the reference does.
  void add(TokenId left, TokenId right, Merge merge);
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = mix(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kEmpty) return nullptr;
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kEmpty = ~0ull;
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
  }
  std::vector<Slot> slots_ = std::vector<Slot>(2);
  std::size_t mask_ = 1, size_ = 0;
};

}  // namespace pawl::tokenizer
