#include "loadgen/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "loadgen/internal/worker_parts.h"

namespace pawl::loadgen {

using measure::Outcome;
using measure::RequestRecord;

namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr Nanos kIdleWork = std::chrono::microseconds(200);  ///< between two looks at the sockets

timespec span_of(Nanos span) {
  const auto ns = std::max<std::int64_t>(span.count(), 0);
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

Nanos thread_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return Seconds(now.tv_sec) + Nanos(now.tv_nsec);
}

}  // namespace

Worker::Worker(const LoadRequest& load, const RequestBuilder& builder, std::span<const Endpoint> endpoints, const TlsContext* tls, std::int64_t number)
    : load_(load),
      builder_(builder),
      endpoints_(endpoints),
      tls_(tls),
      number_(number),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      waker_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ticker_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      idle_(endpoints.size()),
      closed_(endpoints.size()),
      buffer_(kReadBytes),
      plain_(tls != nullptr ? kReadBytes : 0),
      gather_(load.gather) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, waker_.get(), &event);
  if (ticker_ && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ticker_.get(), &event) != 0) ticker_.close();
}

Worker::~Worker() = default;

void Worker::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(waker_.get(), &one, sizeof one);
}

void Worker::on_ready(Connection& c, unsigned events) {
  using State = Connection::State;
  if (c.state == State::kClosed) return;  // closed since, in this very round
  if (c.state == State::kConnecting) {
    const int error = dial_result(c.socket);
    if (error != 0) {
      connect_failed(c, "connect", error, {});
    } else if ((events & EPOLLOUT) != 0 && is_connected(c.socket)) {
      connected(c);
    }
    return;
  }
  if ((events & EPOLLOUT) != 0) {
    if (c.state == State::kSending) send_more(c);
    if (c.state == State::kHandshaking) flush_tls(c);
    if (c.state == State::kClosed) return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) receive_all(c, (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0);
}

Result<std::size_t> Worker::read_ready(const timespec* timeout) {
  std::array<epoll_event, 512> ready;
  std::size_t seen = 0;
  const timespec none{};
  for (;;) {
    const int n = ::epoll_pwait2(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout, nullptr);
    if (n < 0 && errno != EINTR) return internal_error(fmt::format("epoll_wait: {}", std::strerror(errno)));
    if (seen == 0) woke_ = mono_now();
    for (int i = 0; i < std::min(n, 4); ++i) __builtin_prefetch(ready[static_cast<std::size_t>(i)].data.ptr);
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = ready[static_cast<std::size_t>(i)];
      if (i + 4 < n) __builtin_prefetch(ready[static_cast<std::size_t>(i) + 4].data.ptr);
      if (i + 1 < n) {
        const auto* soon = static_cast<const Connection*>(ready[static_cast<std::size_t>(i) + 1].data.ptr);
        if (soon != nullptr && soon->exchange) soon->exchange->prefetch();
      }
      if (event.data.ptr == nullptr) {
        std::uint64_t count = 0;
        [[maybe_unused]] ssize_t got = ::read(waker_.get(), &count, sizeof count);
        got = ::read(ticker_.get(), &count, sizeof count);  // it runs on only when it is read
        continue;
      }
      on_ready(*static_cast<Connection*>(event.data.ptr), event.events);
      // A freed slot sends again before the next socket is read: receive times are the kernel's, send times are ours.
      if (!freed_.empty()) start_freed();
    }
    seen += static_cast<std::size_t>(std::max(n, 0));
    if (n < static_cast<int>(ready.size())) return seen;
    timeout = &none;
  }
}

void Worker::set_tick(Nanos tick) {
  tick_ = tick;
  itimerspec every{};
  every.it_interval = every.it_value = span_of(tick);
  if (ticker_ && ::timerfd_settime(ticker_.get(), 0, &every, nullptr) != 0) ticker_.close();
}

Status Worker::wait(MonoTime until, MonoTime now) {
  iterations_.add((now - woke_).count());
  ++log_.wakeups;
  if (!gather_.on()) {
    const timespec timeout = span_of(until - now);
    // Arming a timer for each wait costs more than reading an event.
    PAWL_TRY(read_ready(ticker_ && until >= now + tick_ ? nullptr : &timeout));
    return {};
  }
  ++log_.gathered_wakeups;
  if (quiet_ && until > now) {
    // Nothing came in the last window: sleep until something does, then gather what follows it.
    const timespec timeout = span_of(until - now);
    pollfd item{epoll_.get(), POLLIN, 0};
    ::ppoll(&item, 1, &timeout, nullptr);
    woke_ = now = mono_now();
    ++log_.wakeups;
  }
  const MonoTime target = std::min(until, woke_ + Gather::kWindow);
  if (target > now) {
    const timespec at = span_of(target.since_boot);
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
  }
  const timespec none{};
  PAWL_ASSIGN(const std::size_t seen, read_ready(&none));
  quiet_ = seen == 0;
  return {};
}

bool Worker::may_start(MonoTime now) const { return !stopping_ && (!task_.duration || now < task_.begin + *task_.duration); }

/// Starts what waits for a slot that is free now; one that fails at once waits for the next round.
void Worker::start_freed() {
  const MonoTime now = mono_now();
  for (std::size_t n = freed_.size(); n > 0; --n) {
    Freed freed = std::move(freed_.front());
    freed_.pop_front();
    if (freed.waiting) {
      start_unit(std::move(freed.waiting->item), freed.waiting->ready, freed.since, freed.endpoint);
      continue;
    }
    if (!may_start(now)) continue;
    bool late = false;
    auto item = task_.feed->take(late);
    feed_room_ = true;
    if (late) ++log_.late_bodies;
    if (item) {
      start_unit(std::move(*item), freed.since, std::nullopt, freed.endpoint);
    } else if (!task_.feed->drained()) {
      freed_.push_back(std::move(freed));  // the last ones are being made by another worker
    }
  }
}

void Worker::start_unit(FeedItem item, MonoTime ready, std::optional<MonoTime> admit, std::size_t endpoint) {
  const workload::SessionSpan span = builder_.span(task_.phase, item.unit);
  std::optional<MonoTime> sched;
  if (task_.open) sched = ready;
  if (span.count == 1) {
    start({.planned = std::move(item.planned), .ready = ready, .admit = admit, .sched = sched}, endpoint);
    return;
  }
  std::vector<workload::Prompt> prompts;
  for (std::int64_t i = 0; i < span.count; ++i) prompts.push_back(builder_.prompt(task_.phase, span.first + i));
  const auto run = std::make_shared<SessionRun>(item.unit, span.first, std::move(prompts), endpoint);
  sessions_.emplace(run.get(), run);
  for (const SessionRun::Due& due : run->begin(ready)) {
    if (due.node != 0 || due.ready > mono_now()) {
      turns_.push({due.ready, run, due.node});
      continue;
    }
    run->started(0);  // it was made ahead
    start({.planned = std::move(item.planned), .ready = ready, .admit = admit, .sched = sched, .session = run.get(), .node = 0}, endpoint);
  }
}

void Worker::start_turn(const TurnDue& due) {
  SessionRun& run = *due.run;
  if (!run.is_due(due.node)) return;  // the session ended meanwhile
  const std::int64_t index = run.first() + static_cast<std::int64_t>(due.node);
  const MonoTime began = mono_now();
  Job job{.planned = run.prompt(due.node).continues ? builder_.build_turn(task_.phase, index, run.prompt(due.node), run.conversation(due.node))
                                                    : builder_.build(task_.phase, index),
          .ready = due.at,
          .session = &run,
          .node = due.node};
  job.planned.record.build = mono_now() - began;
  run.started(due.node);
  start(std::move(job), run.endpoint());
}

/// True when it sent something, so that `now` is not the time any more.
bool Worker::start_due(MonoTime now) {
  const std::int64_t started_before = started_;
  while (!turns_.empty() && turns_.top().at <= now && !stopping_) {
    const TurnDue due = turns_.top();
    turns_.pop();
    start_turn(due);
  }
  if (task_.open) {
    while (!feed_done_ && may_start(now)) {
      const auto offset = task_.feed->next_offset();
      if (!offset) {
        feed_done_ = true;
        break;
      }
      const MonoTime at = task_.begin + *offset;
      if (at > now) break;
      bool late = false;
      auto item = task_.feed->take(late);
      feed_room_ = true;
      if (!item) continue;
      Gate::Waiting arrival{std::move(*item), at};
      const std::size_t endpoint = static_cast<std::size_t>(arrival.item.unit) % endpoints_.size();
      if (task_.shared->gate.enter(arrival)) start_unit(std::move(arrival.item), at, std::nullopt, endpoint);
      now = mono_now();
    }
    if (!may_start(now)) feed_done_ = true;
    keep_spares();
  } else {
    for (; next_slot_ < task_.slots && may_start(now); next_slot_ += task_.slot_stride) {
      const MonoTime at = task_.begin + task_.spacing * next_slot_;
      if (at > now) break;
      freed_.push_back({at, static_cast<std::size_t>(next_slot_) % endpoints_.size(), std::nullopt});
      start_freed();
      now = mono_now();
    }
  }
  if (!freed_.empty()) start_freed();
  return started_ != started_before;
}

MonoTime Worker::next_wake(MonoTime now) {
  MonoTime at = now + tick_;
  if (!turns_.empty()) at = std::min(at, turns_.top().at);
  if (task_.open) {
    if (!feed_done_) {
      if (const auto offset = task_.feed->next_offset()) at = std::min(at, task_.begin + *offset);
    }
  } else {
    if (next_slot_ < task_.slots && may_start(now)) at = std::min(at, task_.begin + task_.spacing * next_slot_);
    if (!freed_.empty()) at = std::min(at, now + Millis(1));
  }
  if (task_.duration) at = std::min(at, std::max(now, task_.begin + *task_.duration));
  return !finished_.empty() || feed_room_ ? now : at;
}

bool Worker::over(MonoTime now) {
  if (in_flight_ > 0) return false;
  if (stopping_) return true;
  if (!turns_.empty() || !freed_.empty()) return false;
  if (task_.open) return feed_done_;
  return !may_start(now) || task_.feed->drained();
}

void Worker::check_deadlines(MonoTime now) {
  if (now - published_ < tick_) return;
  published_ = now;
  publish();
  // What still runs at the end of the drain says how slow the server is, not how long it took (BC-9.15).
  if (task_.drain && in_flight_ > 0 && !stopping_) {
    const MonoTime last = task_.duration ? std::max(task_.begin + *task_.duration, MonoTime{}) : last_send_;
    const bool all_sent = task_.duration ? now >= last : task_.open ? feed_done_ : task_.feed->drained();
    if (all_sent && now >= last + *task_.drain) give_up_all(Outcome::kCensored, now);
  }
  if (now - checked_ < deadline_tick_) return;
  checked_ = now;
  const Nanos connect = of_seconds(load_.connect_timeout_s), total = of_seconds(load_.request_timeout_s);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& c = *connections_[i];
    using State = Connection::State;
    if (c.state == State::kClosed || c.state == State::kIdle) continue;
    if (c.state == State::kConnecting || c.state == State::kHandshaking) {
      if (now < c.dial_at + connect) continue;
      if (c.exchange) {
        c.exchange->abandon(Outcome::kTimeout, "timeout_connect", fmt::format("no connection within {} s", load_.connect_timeout_s), now);
        finish(c);
      } else {
        drop_connection(c);
      }
      continue;
    }
    const RequestRecord& record = c.exchange->record();
    const char* cls = nullptr;
    double limit = 0;
    if (now >= *record.send + total) {
      cls = "timeout_total";
      limit = load_.request_timeout_s;
    } else if (load_.first_token_timeout_s > 0 && !record.first_token && now >= *record.send + of_seconds(load_.first_token_timeout_s)) {
      cls = "timeout_first_token";
      limit = load_.first_token_timeout_s;
    } else if (load_.idle_timeout_s > 0 && now >= c.last_read + of_seconds(load_.idle_timeout_s)) {
      cls = "timeout_idle";
      limit = load_.idle_timeout_s;
    }
    if (cls == nullptr) continue;
    c.exchange->abandon(Outcome::kTimeout, cls, fmt::format("nothing more within {} s", limit), now);
    finish(c);
  }
}

void Worker::give_up_all(Outcome outcome, MonoTime now) {
  stopping_ = true;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& c = *connections_[i];
    if (!c.exchange) continue;
    c.exchange->abandon(outcome, {}, {}, now);
    finish(c);
  }
  while (auto waiting = task_.shared->gate.give_up_one()) {
    RequestRecord& record = waiting->item.planned.record;
    record.ready = waiting->ready;
    record.sched = waiting->ready;
    record.outcome = outcome;
    if (task_.sink != nullptr) task_.sink->take(record);
  }
  freed_.clear();
  for (auto& [key, run] : sessions_) skip(*run, run->give_up());
}

/// What can wait until all sockets are read: making the next bodies, handing over what is finished. A little at a time
/// unless `all`: while this runs no freed slot can send.
void Worker::idle_work(bool all) {
  if (finished_.empty() && !feed_room_) return;
  const MonoTime limit = mono_now() + kIdleWork;
  const auto in_time = [&] { return all || finished_.size() > 1024 || mono_now() < limit; };
  while (feed_room_ && in_time()) feed_room_ = !stopping_ && task_.feed->fill_one();
  while (!finished_.empty() && in_time()) hand_over_one();
}

void Worker::hand_over_one() {
  std::unique_ptr<Exchange> exchange = std::move(finished_.front());
  finished_.pop_front();
  if (task_.sink != nullptr) task_.sink->take(exchange->record());
  spare_exchanges_.push_back(std::move(exchange));
}

void Worker::publish() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  live_.started.store(started_, kRelaxed);
  live_.finished.store(ended_, kRelaxed);
  live_.ok.store(ok_, kRelaxed);
  live_.failed.store(failed_, kRelaxed);
  live_.token_events.store(events_, kRelaxed);
  live_.ttft_ns.store(ttft_ns_, kRelaxed);
  live_.ttft_n.store(ttft_n_, kRelaxed);
  live_.gap_ns.store(gap_ns_, kRelaxed);
  live_.gap_n.store(gap_n_, kRelaxed);
}

Result<WorkerLog> Worker::run(const PhaseTask& task, const std::stop_token& stop) {
  task_ = task;
  log_ = {};
  started_ = ended_ = ok_ = failed_ = events_ = 0;
  ttft_ns_ = ttft_n_ = gap_ns_ = gap_n_ = 0;
  stopping_ = feed_done_ = quiet_ = feed_room_ = false;
  next_slot_ = task.first_slot;
  freed_.clear();
  gather_.restart();
  // Deadlines are looked at 50 times within the shortest of them.
  double shortest = std::min(load_.request_timeout_s, load_.connect_timeout_s);
  for (const double each : {load_.first_token_timeout_s, load_.idle_timeout_s}) shortest = each > 0 ? std::min(shortest, each) : shortest;
  const Nanos often = std::max<Nanos>(of_seconds(shortest / 50), Millis(1));
  set_tick(std::min<Nanos>(often, Millis(100)));
  deadline_tick_ = std::min<Nanos>(often, Seconds(1));  // a look touches every connection

  const std::int64_t steps_before = clock_.steps();
  const Nanos cpu_before = thread_cpu();
  const MonoTime began = mono_now();
  woke_ = published_ = checked_ = last_send_ = began;
  // The clock is read as rarely as it can be: at high rates a round handles one event or two.
  for (MonoTime now = began;; now = mono_now()) {
    if (stop.stop_requested() && !stopping_) give_up_all(Outcome::kCancelled, now);
    clock_.refresh(now);
    if (start_due(now)) now = mono_now();
    if (over(now)) break;
    gather_.observe(now, events_, ended_, in_flight_, log_.kernel_reads > log_.user_reads);
    PAWL_TRY(wait(next_wake(now), now));
    idle_work(false);
    check_deadlines(woke_);
  }
  idle_work(true);
  publish();
  sessions_.clear();
  turns_ = {};
  log_.rx_delay_ns = rx_delays_.take();
  log_.iteration_ns = iterations_.take();
  log_.clock_steps = clock_.steps() - steps_before;
  log_.cpu_s = seconds_of(thread_cpu() - cpu_before);
  log_.wall_s = seconds_of(mono_now() - began);
  return std::move(log_);
}

}  // namespace pawl::loadgen
