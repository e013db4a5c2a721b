#include "loadgen/feed.h"

#include <algorithm>
#include <utility>

namespace pawl::loadgen {

std::optional<Feed::Reserved> Feed::reserve() {
  if (next_ >= plan_.units) return std::nullopt;
  Reserved out{next_, std::nullopt};
  if (plan_.schedule) {
    // The sequence is one for all feeds: each walks past the others' arrivals.
    for (; scheduled_ <= next_; ++scheduled_) {
      out.offset = plan_.schedule->next();
      if (!out.offset || (plan_.horizon && *out.offset >= *plan_.horizon)) {
        next_ = plan_.units = std::min(plan_.units, next_);
        return std::nullopt;
      }
    }
  }
  next_ += plan_.stride;
  return out;
}

FeedItem Feed::make(const Reserved& reserved) const {
  FeedItem item{builder_.build(plan_.phase, builder_.span(plan_.phase, reserved.unit).first), reserved.unit, reserved.offset};
  if (plan_.own_arrivals) {
    const double offset = static_cast<double>(item.planned.arrival.value_or(Nanos(0)).count()) / plan_.speed;
    item.offset = Nanos(static_cast<std::int64_t>(offset));
  }
  return item;
}

bool Feed::fill_one() {
  std::optional<Reserved> reserved;
  {
    const std::lock_guard lock(mutex_);
    if (ready_.size() + making_ >= plan_.ahead || (!ready_.empty() && ready_bytes_ >= plan_.ahead_bytes)) return false;
    reserved = reserve();
    if (!reserved) return false;
    ++making_;
  }
  FeedItem item = make(*reserved);
  const std::lock_guard lock(mutex_);
  --making_;
  if (plan_.own_arrivals && plan_.horizon && *item.offset >= *plan_.horizon) return true;
  ready_bytes_ += item.planned.bytes.size();
  ready_.push_back(std::move(item));
  return true;
}

std::optional<FeedItem> Feed::take(bool& late) {
  late = false;
  std::unique_lock lock(mutex_);
  if (ready_.empty()) {
    const auto reserved = reserve();
    if (!reserved) return std::nullopt;
    ++making_;
    lock.unlock();
    late = true;
    FeedItem item = make(*reserved);
    lock.lock();
    --making_;
    return item;
  }
  FeedItem item = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= item.planned.bytes.size();
  return item;
}

std::optional<Nanos> Feed::next_offset() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!ready_.empty()) return ready_.front().offset;
    }
    // Rare: the one that is due next is not made yet.
    if (!fill_one()) return std::nullopt;
  }
}

bool Feed::drained() const {
  const std::lock_guard lock(mutex_);
  return ready_.empty() && making_ == 0 && next_ >= plan_.units;
}

}  // namespace pawl::loadgen
