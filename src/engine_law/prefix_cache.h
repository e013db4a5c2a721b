#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace pawl::engine_law {

/// The blocks of prompts that a KV cache still holds, by chained hash: equal hashes at equal places mean equal prompts up
/// to there. A block is pinned by the sequences that use it; unpinned ones stay until room is needed, the longest unused
/// first and of one prompt its end first (a block without those before it is of no use).
class PrefixCache {
 public:
  /// How many leading blocks are there, and how many of those nobody pins.
  struct Match {
    std::int64_t blocks = 0, unpinned = 0;
  };
  [[nodiscard]] Match match(std::span<const std::uint64_t> chain, std::int64_t most) const;
  enum class Was { kAbsent, kUnpinned, kPinned };
  /// Pins a block that is there or comes with this call; what it was before.
  Was pin(std::uint64_t block);
  /// True: nobody pins it any more.
  bool unpin(std::uint64_t block);
  /// Forgets up to `count` unpinned blocks; how many.
  std::int64_t evict(std::int64_t count);

  [[nodiscard]] std::int64_t pinned() const { return static_cast<std::int64_t>(blocks_.size() - unused_.size()); }
  [[nodiscard]] std::int64_t unpinned() const { return static_cast<std::int64_t>(unused_.size()); }

 private:
  struct Block {
    std::int64_t pins = 0;
    std::list<std::uint64_t>::iterator unused;  ///< its place in unused_, while pins is 0
  };
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::list<std::uint64_t> unused_;  ///< the next to go first
};

}  // namespace pawl::engine_law
