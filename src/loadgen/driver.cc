#include "loadgen/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "loadgen/internal/worker_parts.h"

namespace pawl::loadgen {

using measure::Phase;

namespace {

constexpr Nanos kStartSpacing = std::chrono::microseconds(100);  ///< first starts: a ramp, not a thundering herd
constexpr std::int64_t kStreamsPerThread = 2048;                 ///< of a closed loop; one thread carries some 150,000 events a second
constexpr double kRatePerThread = 2000;                          ///< requests a second of an open loop
constexpr std::int64_t kAheadMost = 4096;                        ///< requests made ahead, by all workers together
constexpr std::size_t kAheadBytes = 64u << 20;
constexpr double kDrainByTime_s = 60;
constexpr Nanos kLook = Millis(100);  ///< how often the watching thread looks

std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace

std::int64_t default_threads(const LoadRequest& load, std::int64_t cores) {
  std::int64_t wanted = 1;
  if (load.arrivals || load.data_set_arrivals) {
    double rate = 0;
    if (load.arrivals) {
      for (const workload::Stage& stage : load.arrivals->stages) rate = std::max({rate, stage.from_rate, stage.to_rate});
    }
    wanted = static_cast<std::int64_t>(rate / kRatePerThread) + 1;
  } else {
    wanted = (load.concurrency + kStreamsPerThread - 1) / kStreamsPerThread;
  }
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, cores));
}

void PhaseLog::add(const WorkerLog& log) {
  total.rx_delay_ns.merge(log.rx_delay_ns);
  total.iteration_ns.merge(log.iteration_ns);
  total.write_ns.merge(log.write_ns);
  total.kernel_reads += log.kernel_reads;
  total.user_reads += log.user_reads;
  total.late_bodies += log.late_bodies;
  total.clock_steps = std::max(total.clock_steps, log.clock_steps);
  total.joined_first += log.joined_first;
  total.wakeups += log.wakeups;
  total.gathered_wakeups += log.gathered_wakeups;
  total.cpu_s += log.cpu_s;
  total.wall_s += log.wall_s;
  if (log.wall_s > 0) busiest_cpu_share = std::max(busiest_cpu_share, log.cpu_s / log.wall_s);
}

Driver::Driver(const LoadRequest& load, const RequestBuilder& builder, std::vector<Target> targets, io::Progress& progress, std::stop_token stop)
    : load_(load), builder_(builder), targets_(std::move(targets)), progress_(progress), stop_(std::move(stop)) {}

Driver::~Driver() = default;

/// Tries the addresses of a server one after the other.
Result<Endpoint> Driver::find(const Target& target, Descriptor& connection) {
  PAWL_ASSIGN(const auto addresses, resolve(target));
  int error_number = ECONNREFUSED;
  for (const Address& address : addresses) {
    Dialled dialled = dial(address);
    error_number = dialled.error_number;
    if (!dialled.socket) continue;
    const MonoTime limit = mono_now() + Nanos(static_cast<std::int64_t>(load_.connect_timeout_s * 1e9));
    pollfd item{dialled.socket.get(), POLLOUT, 0};
    error_number = ETIMEDOUT;
    while (mono_now() < limit) {
      if (stop_.stop_requested()) return cancelled();
      if (::poll(&item, 1, 10) <= 0) continue;
      error_number = dial_result(dialled.socket);
      break;
    }
    if (error_number != 0) continue;
    connection = std::move(dialled.socket);
    return Endpoint{target, address, builder_.head(target)};
  }
  if (error_number == EMFILE || error_number == ENFILE || error_number == EADDRNOTAVAIL) {
    return machine_error(fmt::format("cannot open a connection: {}", lower_first(std::strerror(error_number))));
  }
  return peer_error(fmt::format("cannot reach {}: {}", target.url, lower_first(std::strerror(error_number))),
                    "check that the server runs and that the address is right");
}

Status Driver::open() {
  const std::int64_t connections = open_loop() ? std::min<std::int64_t>(load_.open_limit.value_or(16), 1024) : load_.concurrency;
  PAWL_TRY(ensure_descriptors(open_loop() ? std::max<std::int64_t>(connections, 256) : connections));
  if (std::ranges::any_of(targets_, &Target::tls)) {
    PAWL_ASSIGN(tls_, TlsContext::make(load_.tls));
  }
  std::vector<Descriptor> found;
  for (const Target& target : targets_) {
    PAWL_ASSIGN(Endpoint endpoint, find(target, found.emplace_back()));
    endpoints_.push_back(std::move(endpoint));
  }
  const std::int64_t threads = std::min(load_.threads > 0 ? load_.threads : default_threads(load_, usable_cores()), std::max<std::int64_t>(1, connections));
  for (std::int64_t i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(load_, builder_, endpoints_, tls_.get(), i));
  return in_parallel([&](std::size_t i) {
    // The connections that found the servers are the first of the first worker.
    return workers_[i]->open((connections + threads - 1 - static_cast<std::int64_t>(i)) / threads, i == 0 ? std::move(found) : std::vector<Descriptor>{},
                             stop_);
  });
}

/// Runs `part` for every worker on a thread of its own; the first error is that of all.
Status Driver::in_parallel(const std::function<Status(std::size_t)>& part) {
  std::vector<Status> results(workers_.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      threads.emplace_back([&, i] {
        ::prctl(PR_SET_TIMERSLACK, 1UL);  // arrivals are to the microsecond
        results[i] = part(i);
      });
    }
  }
  for (Status& result : results) {
    if (!result) return std::move(result);
  }
  return {};
}

/// How many sessions hold so many requests; without sessions as many.
std::int64_t Driver::units_for(Phase phase, std::int64_t requests, std::int64_t& planned) const {
  planned = 0;
  std::int64_t units = 0;
  const auto most = phase == Phase::kWarmup ? std::nullopt : builder_.workload().sessions();
  while (planned < requests && (!most || units < *most)) planned += builder_.span(phase, units++).count;
  return units;
}

Result<PhaseLog> Driver::run(Phase phase, std::optional<std::int64_t> count, const std::vector<RecordSink*>& sinks) {
  const bool measured = phase == Phase::kMeasured;
  const bool open = measured && open_loop();
  const bool by_time = measured && !count && load_.duration_s > 0;
  PhaseLog log;
  std::int64_t units = std::numeric_limits<std::int64_t>::max();
  if (by_time) {
    if (const auto most = builder_.workload().sessions()) units = *most;
  } else {
    units = units_for(phase, count.value_or(load_.requests), log.planned);
  }
  if (units == 0) return log;

  FeedPlan plan;
  plan.phase = phase;
  plan.units = units;
  const auto duration = Nanos(static_cast<std::int64_t>(load_.duration_s * 1e9));
  const auto threads = static_cast<std::int64_t>(workers_.size());
  std::vector<std::unique_ptr<Feed>> feeds;
  if (open) {
    if (load_.arrivals) {
      PAWL_ASSIGN(plan.schedule, workload::Schedule::make(*load_.arrivals));
    }
    plan.own_arrivals = load_.data_set_arrivals;
    plan.speed = load_.data_set_speed;
    if (by_time) plan.horizon = duration;
    plan.stride = threads;
    plan.ahead = static_cast<std::size_t>(std::max<std::int64_t>(kAheadMost / threads / 4, 16));
    plan.ahead_bytes = kAheadBytes / static_cast<std::size_t>(threads);
    for (std::int64_t i = 0; i < threads; ++i) {
      plan.first = i;
      feeds.push_back(std::make_unique<Feed>(builder_, plan));
    }
  } else {
    plan.ahead = static_cast<std::size_t>(std::clamp<std::int64_t>(load_.concurrency + 8, 16, kAheadMost));
    plan.ahead_bytes = kAheadBytes;
    feeds.push_back(std::make_unique<Feed>(builder_, plan));
  }
  // Before the clock runs: the opening burst finds its requests made.
  for (const auto& feed : feeds) {
    while (!stop_.stop_requested() && feed->fill_one()) {
    }
  }

  PhaseShared shared(open ? load_.open_limit : std::nullopt);
  PhaseTask task;
  task.phase = phase;
  task.open = open;
  task.shared = &shared;
  task.slot_stride = threads;
  task.slots = load_.concurrency;
  task.spacing = kStartSpacing;
  if (measured && !open && load_.ramp_s > 0) {
    task.ramp = Nanos(static_cast<std::int64_t>(load_.ramp_s * 1e9));
    task.spacing = task.ramp / load_.concurrency;
  }
  if (by_time) task.duration = duration;
  if (measured && (load_.drain_s || by_time)) task.drain = Nanos(static_cast<std::int64_t>(load_.drain_s.value_or(kDrainByTime_s) * 1e9));
  task.begin = log.begin = mono_now() + (threads > 1 ? Nanos(Millis(2)) : Nanos(0));  // threads take a moment to stand ready

  if (measured && load_.observer != nullptr) load_.observer->begin(task.begin, clock().to_wall(task.begin));

  std::vector<WorkerLog> logs(workers_.size());
  std::atomic<bool> running = true;
  std::mutex mutex;
  std::condition_variable ended;
  std::jthread watcher([&] {
    MonoTime reported = mono_now();
    std::unique_lock lock(mutex);
    while (running) {
      ended.wait_for(lock, kLook, [&] { return !running; });
      if (mono_now() - reported < Seconds(1) || !running) continue;
      reported = mono_now();
      report(phase, by_time ? std::nullopt : std::optional(log.planned), shared.in_flight.load());
    }
  });
  const std::stop_callback on_stop(stop_, [this] {
    for (const auto& worker : workers_) worker->wake();
  });
  const Status done = in_parallel([&](std::size_t i) -> Status {
    PhaseTask own = task;
    own.feed = feeds[open ? i : 0].get();
    own.first_slot = static_cast<std::int64_t>(i);
    own.sink = i < sinks.size() ? sinks[i] : nullptr;
    PAWL_ASSIGN(logs[i], workers_[i]->run(own, stop_));
    return {};
  });
  {
    const std::lock_guard lock(mutex);
    running = false;
  }
  ended.notify_all();
  watcher.join();
  PAWL_TRY(done);
  log.end = mono_now();
  log.peak_in_flight = shared.peak;
  log.threads = threads;
  for (const WorkerLog& each : logs) log.add(each);
  log.stopped = stop_.stop_requested();
  if (log.stopped && !load_.partial_on_stop) return cancelled();
  report(phase, std::nullopt, 0);
  return log;
}

void Driver::report(Phase phase, std::optional<std::int64_t> planned, std::int64_t in_flight) {
  std::int64_t finished = 0;
  for (const auto& worker : workers_) finished += worker->live().finished.load(std::memory_order_relaxed);
  io::ProgressLine line{.stage = phase == Phase::kWarmup ? "warm-up" : "load",
                        .message = in_flight == 0 ? "all answered" : fmt::format("{} in flight", in_flight),
                        .done = finished,
                        .total = planned,
                        .numbers = {{"in_flight", static_cast<double>(in_flight)}}};
  if (in_flight == 0) line.total = finished;
  progress_.report(line);
}

}  // namespace pawl::loadgen
