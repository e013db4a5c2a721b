#include "service/answer_cache.h"

namespace pawl::service {
namespace {

/// What an entry may take: the body, its compressed forms, the key twice, the bookkeeping. Small answers to long questions
/// count too.
std::size_t cost_of(const std::string& key, const CachedAnswer& answer) { return 2 * answer.answer.body.size() + 2 * key.size() + 1024; }

}  // namespace

std::string CachedAnswer::form(Encoding encoding) {
  if (encoding == Encoding::kIdentity) return answer.body;
  const std::lock_guard lock(mutex);
  std::string& made = compressed[static_cast<std::size_t>(encoding)];
  if (made.empty()) made = compress(answer.body, encoding);
  return made;
}

std::shared_ptr<CachedAnswer> AnswerCache::find(const std::string& key, std::int64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_) return nullptr;
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void AnswerCache::put(const std::string& key, std::int64_t generation, std::shared_ptr<CachedAnswer> answer) {
  const std::lock_guard lock(mutex_);
  if (generation < generation_) return;
  if (generation > generation_) {
    entries_.clear();
    by_key_.clear();
    bytes_ = 0;
    generation_ = generation;
  }
  if (by_key_.contains(key)) return;
  bytes_ += cost_of(key, *answer);
  entries_.push_front({key, std::move(answer)});
  by_key_[key] = entries_.begin();
  while (bytes_ > bytes_max_ && entries_.size() > 1) {
    bytes_ -= cost_of(entries_.back().key, *entries_.back().answer);
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::size_t AnswerCache::clear() {
  const std::lock_guard lock(mutex_);
  const std::size_t count = entries_.size();
  entries_.clear();
  by_key_.clear();
  bytes_ = 0;
  return count;
}

std::size_t AnswerCache::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace pawl::service
