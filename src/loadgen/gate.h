#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "loadgen/feed.h"

namespace pawl::loadgen {

/// The cap of an open loop (BC-9.6), exact across all threads: arrivals that find no permit wait here, in order, and the
/// thread whose request ends starts the first of them with the permit that became free.
class Gate {
 public:
  /// Without a cap nothing ever waits.
  explicit Gate(std::optional<std::int64_t> cap) : cap_(cap) {}

  struct Waiting {
    FeedItem item;
    MonoTime ready;
  };

  /// True: a permit was taken, send it now. False: it was taken over and waits.
  bool enter(Waiting& arrival);
  /// A permit became free. Gives the one that may start with it, or keeps it for later arrivals.
  std::optional<Waiting> leave();
  /// Takes everything that waits: the run ends.
  std::optional<Waiting> give_up_one();
  [[nodiscard]] bool empty() const;

 private:
  std::optional<std::int64_t> cap_;
  mutable std::mutex mutex_;
  std::int64_t inside_ = 0;
  std::map<std::int64_t, Waiting> queue_;  ///< by unit: the order of the schedule
};

}  // namespace pawl::loadgen
