#include "loadgen/gate.h"

#include <utility>

namespace pawl::loadgen {

bool Gate::enter(Waiting& arrival) {
  if (!cap_) return true;
  const std::lock_guard lock(mutex_);
  if (inside_ < *cap_ && queue_.empty()) {
    ++inside_;
    return true;
  }
  queue_.emplace(arrival.item.unit, std::move(arrival));
  return false;
}

std::optional<Gate::Waiting> Gate::leave() {
  if (!cap_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) {
    --inside_;
    return std::nullopt;
  }
  Waiting first = std::move(queue_.begin()->second);
  queue_.erase(queue_.begin());
  return first;
}

std::optional<Gate::Waiting> Gate::give_up_one() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  Waiting first = std::move(queue_.begin()->second);
  queue_.erase(queue_.begin());
  return first;
}

bool Gate::empty() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty();
}

}  // namespace pawl::loadgen
