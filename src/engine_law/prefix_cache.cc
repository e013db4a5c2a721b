#include "engine_law/prefix_cache.h"

#include "base/assert.h"

namespace pawl::engine_law {

PrefixCache::Match PrefixCache::match(std::span<const std::uint64_t> chain, std::int64_t most) const {
  Match out;
  for (const std::uint64_t block : chain) {
    if (out.blocks == most) break;
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) break;
    ++out.blocks;
    if (found->second.pins == 0) ++out.unpinned;
  }
  return out;
}

PrefixCache::Was PrefixCache::pin(std::uint64_t block) {
  const auto [at, fresh] = blocks_.try_emplace(block);
  const Was was = fresh ? Was::kAbsent : at->second.pins == 0 ? Was::kUnpinned : Was::kPinned;
  if (was == Was::kUnpinned) unused_.erase(at->second.unused);
  ++at->second.pins;
  return was;
}

bool PrefixCache::unpin(std::uint64_t block) {
  const auto found = blocks_.find(block);
  PAWL_ASSERT(found != blocks_.end() && found->second.pins > 0);
  if (--found->second.pins > 0) return false;
  found->second.unused = unused_.insert(unused_.end(), block);
  return true;
}

std::int64_t PrefixCache::evict(std::int64_t count) {
  std::int64_t gone = 0;
  for (; gone < count && !unused_.empty(); ++gone) {
    blocks_.erase(unused_.front());
    unused_.pop_front();
  }
  return gone;
}

}  // namespace pawl::engine_law
