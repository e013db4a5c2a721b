#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>

#include "loadgen/prompts.h"
#include "workload/schedule.h"

namespace pawl::loadgen {

/// A request that waits for its turn.
struct FeedItem {
  PlannedRequest planned;
  std::int64_t unit = 0;        ///< number of the session; without sessions, of the request
  std::optional<Nanos> offset;  ///< open loop: when to send it, from the start of the phase
};

struct FeedPlan {
  measure::Phase phase = measure::Phase::kMeasured;
  std::int64_t first = 0, stride = 1;                             ///< the units of this feed: first, first + stride, …
  std::int64_t units = std::numeric_limits<std::int64_t>::max();  ///< units of all feeds together: those from here on do not exist
  std::optional<workload::Schedule> schedule;                     ///< open loop: the arrivals of all units
  bool own_arrivals = false;                                      ///< open loop: arrivals come with the prompts
  double speed = 1;                                               ///< of arrivals that come with the prompts
  std::optional<Nanos> horizon;                                   ///< arrivals from here on do not exist
  std::size_t ahead = 1;                                          ///< requests to make ahead at most
  std::size_t ahead_bytes = 64 << 20;                             ///< and their bytes, but always one
};

/// Requests made ahead of their time (BC-2.6), in memory that does not grow with their number. Thread-safe: a closed loop
/// shares one among its workers; an open loop has one for each, with disjoint parts of one sequence (BC-9.11).
class Feed {
 public:
  /// `builder` must outlive the feed.
  Feed(const RequestBuilder& builder, FeedPlan plan) : builder_(builder), plan_(std::move(plan)), next_(plan_.first) {}

  /// Makes one request if there is room and one is left. False: nothing was to be done.
  bool fill_one();

  /// The next request; nothing when none is left (or the last ones are being made by another thread: see `drained`).
  /// `late` tells that it had to be made now.
  std::optional<FeedItem> take(bool& late);

  /// Open loop: when the next one is due, from the start of the phase; nothing when none is left.
  std::optional<Nanos> next_offset();

  /// Nothing is left and nothing is being made.
  [[nodiscard]] bool drained() const;

 private:
  struct Reserved {
    std::int64_t unit;
    std::optional<Nanos> offset;
  };
  std::optional<Reserved> reserve();  ///< under the lock
  FeedItem make(const Reserved& reserved) const;

  const RequestBuilder& builder_;
  FeedPlan plan_;
  mutable std::mutex mutex_;
  std::int64_t next_;           ///< unit to be made next
  std::int64_t scheduled_ = 0;  ///< offsets taken off the schedule
  std::deque<FeedItem> ready_;
  std::size_t ready_bytes_ = 0;
  std::size_t making_ = 0;
};

}  // namespace pawl::loadgen
