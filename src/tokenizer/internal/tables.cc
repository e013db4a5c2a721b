#include "tokenizer/internal/tables.h"

#include <algorithm>
#include <bit>

namespace pawl::tokenizer {

void Vocabulary::grow() {
  slots_.assign(std::max<std::size_t>(16, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t at = hash_of(view(entries_[i])) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

void Vocabulary::add(std::string_view text, TokenId id, bool searchable) {
  if (static_cast<std::size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<std::size_t>(id) + 1, 0);
  std::uint32_t& by_id = by_id_[static_cast<std::size_t>(id)];
  const Entry entry{arena_.size(), static_cast<std::uint32_t>(text.size()), id};
  if (!searchable) {
    hidden_.push_back(entry);
    arena_ += text;
    by_id = static_cast<std::uint32_t>(hidden_.size()) | kHidden;
    return;
  }
  longest_ = std::max(longest_, text.size());
  if (2 * (entries_.size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_of(text) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    Entry& found = entries_[slots_[at] - 1];
    if (view(found) != text) continue;
    found.id = id;
    by_id = slots_[at];
    return;
  }
  entries_.push_back(entry);
  arena_ += text;
  slots_[at] = static_cast<std::uint32_t>(entries_.size());
  by_id = slots_[at];
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of(text) & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (entry.length == text.size() && view(entry) == text) return entry.id;
  }
  return std::nullopt;
}

std::string_view Vocabulary::text_of(TokenId id) const {
  if (!has(id)) return {};
  const std::uint32_t number = by_id_[static_cast<std::size_t>(id)];
  return (number & kHidden) != 0 ? view(hidden_[(number & ~kHidden) - 1]) : view(entries_[number - 1]);
}

void MergeTable::reserve(std::size_t merges) {
  const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(2, 2 * merges));
  if (wanted <= slots_.size()) return;
  std::vector<Slot> old(wanted);
  old.swap(slots_);
  mask_ = wanted - 1;
  for (const Slot& slot : old) {
    if (slot.key == kEmpty) continue;
    std::size_t at = mix(slot.key) & mask_;
    while (slots_[at].key != kEmpty) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

void MergeTable::add(TokenId left, TokenId right, Merge merge) {
  reserve(size_ + 1);
  const std::uint64_t key = key_of(left, right);
  std::size_t at = mix(key) & mask_;
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  if (slots_[at].key == kEmpty) ++size_;
  slots_[at] = {key, merge};
}

}  // namespace pawl::tokenizer
