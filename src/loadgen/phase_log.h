#pragma once

#include <cstdint>
#include <vector>

#include "loadgen/record.h"
#include "stats/log_histogram.h"

namespace pawl::loadgen {

/// Takes the records of requests that are over. Each worker has one of its own and calls it on its thread, when no socket
/// waits to be read. What it needs of the record it must copy: the record is used again.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void take(measure::RequestRecord& record) = 0;
};

/// How well one worker kept up in a phase.
struct WorkerLog {
  stats::LogHistogram rx_delay_ns;   ///< user stamp − kernel stamp, one a read that has both
  stats::LogHistogram iteration_ns;  ///< from waking up to going to sleep again
  stats::LogHistogram write_ns;      ///< `sent` − `send`: how far the true moment of sending may lie from the stamp
  std::int64_t kernel_reads = 0;     ///< reads whose time is the kernel's
  std::int64_t user_reads = 0;       ///< reads whose time is our own
  std::int64_t late_bodies = 0;      ///< requests whose body was made only when it should have gone out
  std::int64_t clock_steps = 0;
  std::int64_t joined_first = 0;  ///< ok answers whose first two token events came out of one read
  std::int64_t wakeups = 0, gathered_wakeups = 0;
  double cpu_s = 0, wall_s = 0;  ///< of the worker's thread
};

/// What one phase gave in all.
struct PhaseLog {
  WorkerLog total;  ///< of all workers; times summed
  std::int64_t threads = 0;
  double busiest_cpu_share = 0;  ///< of one core, of the worker with the highest
  std::int64_t planned = 0;      ///< requests that were to be sent
  std::int64_t peak_in_flight = 0;
  MonoTime begin, end;
  bool stopped = false;  ///< ended early, by the user

  void add(const WorkerLog& log);
};

}  // namespace pawl::loadgen
