#include "loadgen/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace pawl::loadgen {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr Nanos kConnectLimit = Seconds(10);
constexpr Nanos kStartSpacing = std::chrono::microseconds(100);  ///< first starts: a ramp, not a thundering herd
constexpr std::size_t kDialsAtOnce = 64;                         ///< below the backlog of common servers
constexpr int kTick = 10;                                        ///< ms: how late a stop or a deadline is noticed at most
constexpr Nanos kStampSlack = Millis(1);
constexpr Nanos kAfterInput = std::chrono::microseconds(200);  ///< between two looks at the sockets

std::string lower_first(const char* text) {
  std::string out = text;
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] - 'A' + 'a');
  return out;
}

bool is_local_shortage(int error_number) {
  return error_number == EMFILE || error_number == ENFILE || error_number == EADDRNOTAVAIL || error_number == ENOBUFS || error_number == ENOMEM;
}

}  // namespace

struct Driver::Slot {
  enum class State { kClosed, kConnecting, kIdle, kSending, kReceiving };
  State state = State::kClosed;
  Descriptor socket;
  unsigned watched = 0;
  bool touched = false;  ///< stands in the queue of those with events that wait
  bool used = false;     ///< the connection carried a request before
  MonoTime dial_at;
  MonoTime deadline;
  MonoTime last_read;
  std::unique_ptr<Exchange> exchange;
  std::string bytes;  ///< of the request
  std::size_t sent = 0;
};

Driver::Driver(const LoadRequest& load, const Target& target, const RequestBuilder& builder, std::vector<Address> addresses, io::Progress& progress,
               std::stop_token stop)
    : load_(load),
      target_(target),
      builder_(builder),
      addresses_(std::move(addresses)),
      progress_(progress),
      stop_(std::move(stop)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      buffer_(kReadBytes) {
  for (std::int64_t i = 0; i < load.concurrency; ++i) slots_.push_back(std::make_unique<Slot>());
}

Driver::~Driver() = default;

// ── connections ──────────────────────────────────────────────────────────────────────────────────────────────────────

Status Driver::open() {
  PAWL_TRY(ensure_descriptors(load_.concurrency));
  if (!epoll_) return machine_error(fmt::format("epoll: {}", std::strerror(errno)));

  // The first connection finds the address that answers; the rest follow in groups.
  int error_number = ECONNREFUSED;
  std::size_t opened = 0;
  for (address_ = 0; address_ < addresses_.size() && opened == 0; ++address_) {
    Dialled dialled = dial(addresses_[address_]);
    error_number = dialled.error_number;
    if (!dialled.socket) continue;
    const MonoTime limit = mono_now() + kConnectLimit;
    pollfd item{dialled.socket.get(), POLLOUT, 0};
    error_number = ETIMEDOUT;
    while (mono_now() < limit) {
      if (stop_.stop_requested()) return cancelled();
      if (::poll(&item, 1, kTick) <= 0) continue;
      error_number = dial_result(dialled.socket);
      break;
    }
    if (error_number != 0) continue;
    slots_[0]->socket = std::move(dialled.socket);
    connected(*slots_[0]);
    opened = 1;
  }
  if (opened == 0) {
    if (is_local_shortage(error_number)) return machine_error(fmt::format("cannot open a connection: {}", lower_first(std::strerror(error_number))));
    return peer_error(fmt::format("cannot reach {}: {}", target_.url, lower_first(std::strerror(error_number))),
                      "check that the server runs and that the address is right");
  }
  --address_;

  std::size_t next = 1;
  std::size_t pending = 0;
  while (next < slots_.size() || pending > 0) {
    if (stop_.stop_requested()) return cancelled();
    for (; next < slots_.size() && pending < kDialsAtOnce; ++next) dial_for(*slots_[next]);
    PAWL_TRY(wait(kTick));
    check_deadlines(mono_now());
    pending = static_cast<std::size_t>(std::ranges::count_if(slots_, [](const auto& slot) { return slot->state == Slot::State::kConnecting; }));
  }
  // A server that takes fewer connections than asked for shows in the requests; a shortage of ours is known now.
  if (shortage_ != 0) return machine_error(fmt::format("cannot open {} connections: {}", load_.concurrency, lower_first(std::strerror(shortage_))));
  return {};
}

void Driver::dial_for(Slot& slot) {
  Dialled dialled = dial(addresses_[address_]);
  slot.dial_at = mono_now();
  slot.deadline = slot.dial_at + kConnectLimit;
  if (!dialled.socket) {
    slot.state = Slot::State::kClosed;
    if (is_local_shortage(dialled.error_number)) shortage_ = dialled.error_number;
    if (slot.exchange) {
      slot.exchange->record().error_number = dialled.error_number;
      slot.exchange->abandon(Outcome::kFailed, is_local_shortage(dialled.error_number) ? "local" : "connect", lower_first(std::strerror(dialled.error_number)),
                             slot.dial_at);
      finish(slot);
    }
    return;
  }
  slot.socket = std::move(dialled.socket);
  slot.state = Slot::State::kConnecting;
  watch(slot, EPOLLOUT);
}

void Driver::connected(Slot& slot) {
  slot.state = Slot::State::kIdle;
  slot.used = false;
  watch(slot, EPOLLIN);
  if (slot.exchange) {
    slot.exchange->record().conn_start = slot.dial_at;
    slot.exchange->record().conn_end = mono_now();
    begin_sending(slot);
  }
}

void Driver::drop_connection(Slot& slot) {
  slot.socket.close();  // leaves the epoll with it
  slot.watched = 0;
  slot.state = Slot::State::kClosed;
}

void Driver::watch(Slot& slot, unsigned events) {
  if (slot.watched == events) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = &slot;
  ::epoll_ctl(epoll_.get(), slot.watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, slot.socket.get(), &event);
  slot.watched = events;
}

// ── one request ──────────────────────────────────────────────────────────────────────────────────────────────────────

PlannedRequest Driver::next_request() {
  if (pool_.empty()) {
    ++log_.late_bodies;
    return builder_.build(phase_, built_++);
  }
  PlannedRequest request = std::move(pool_.front());
  pool_.pop_front();
  return request;
}

void Driver::start(Slot& slot, MonoTime ready) {
  PlannedRequest request = next_request();
  request.record.ready = ready;
  slot.bytes = std::move(request.bytes);
  slot.sent = 0;
  slot.exchange = std::make_unique<Exchange>(builder_.protocol(), std::move(request.record));
  ++started_;
  ++in_flight_;
  log_.peak_in_flight = std::max(log_.peak_in_flight, in_flight_);
  if (slot.state == Slot::State::kIdle && !still_idle(slot.socket)) drop_connection(slot);
  if (slot.state == Slot::State::kIdle) {
    begin_sending(slot);
  } else {
    dial_for(slot);
  }
}

void Driver::begin_sending(Slot& slot) {
  slot.state = Slot::State::kSending;
  const MonoTime now = mono_now();
  slot.exchange->record().send = now;
  slot.last_read = now;
  slot.deadline = now + std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(load_.request_timeout_s));
  send_more(slot);
}

void Driver::send_more(Slot& slot) {
  while (slot.sent < slot.bytes.size()) {
    const ssize_t n = ::send(slot.socket.get(), slot.bytes.data() + slot.sent, slot.bytes.size() - slot.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      slot.sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      watch(slot, EPOLLIN | EPOLLOUT);
      return;
    } else if (errno != EINTR) {
      const int error = errno;
      slot.exchange->record().error_number = error;
      if (slot.used) ++slot.exchange->record().flags["stale_conn"];
      slot.exchange->abandon(Outcome::kFailed, slot.used ? "early_eof" : "send", lower_first(std::strerror(error)), mono_now());
      finish(slot);
      return;
    }
  }
  acknowledge_at_once(slot.socket);
  slot.exchange->record().sent = mono_now();
  slot.state = Slot::State::kReceiving;
  watch(slot, EPOLLIN);
}

MonoTime Driver::native_time(const Slot& slot, const Received& received) {
  if (received.kernel) {
    const MonoTime kernel = clock_.to_mono(*received.kernel);
    // Outside these bounds the calendar clock has moved: the stamp says nothing.
    if (kernel <= received.user + kStampSlack && kernel + kStampSlack >= slot.last_read) {
      ++log_.kernel_reads;
      const MonoTime at = std::clamp(kernel, slot.last_read, std::max(slot.last_read, received.user));
      log_.rx_delay_ms.push_back(millis_of(received.user - at));
      return at;
    }
  }
  ++log_.user_reads;
  return received.user;
}

void Driver::receive_some(Slot& slot) {
  const Received received = receive(slot.socket, buffer_);
  if (received.size < 0 && (received.error_number == EAGAIN || received.error_number == EINTR)) return;
  if (!slot.exchange) {
    drop_connection(slot);  // closed while idle, or bytes that answer nothing
    return;
  }
  Exchange& exchange = *slot.exchange;
  if (received.size > 0) {
    const MonoTime at = native_time(slot, received);
    slot.last_read = at;
    const auto taken = exchange.on_bytes({buffer_.data(), static_cast<std::size_t>(received.size)}, at);
    const bool surplus = taken < static_cast<std::size_t>(received.size);
    if (!exchange.over()) {
      if (!std::exchange(slot.touched, true)) touched_.push_back(&slot);
      return;
    }
    if (surplus || !exchange.reusable() || slot.state == Slot::State::kSending) drop_connection(slot);
  } else {
    if (!exchange.answered() && slot.used) ++exchange.record().flags["stale_conn"];
    exchange.record().error_number = received.error_number;
    exchange.on_close(received.user);
    drop_connection(slot);
  }
  finish(slot);
}

/// Takes a request that is over off its slot; the slot is free from the moment at which it ended.
void Driver::finish(Slot& slot) {
  const MonoTime end = *slot.exchange->record().end;
  if (slot.state == Slot::State::kReceiving) {
    slot.state = Slot::State::kIdle;
    slot.used = true;
  } else {
    drop_connection(slot);
  }
  finished_.push_back(std::move(slot.exchange));
  --in_flight_;
  ++finished_count_;
  free_.emplace_back(&slot, end);
}

// ── the loop ─────────────────────────────────────────────────────────────────────────────────────────────────────────

void Driver::on_ready(Slot& slot, unsigned events) {
  if (slot.state == Slot::State::kConnecting) {
    const int error = dial_result(slot.socket);
    if (error == 0 && (events & EPOLLOUT) == 0) return;
    if (error == 0) {
      connected(slot);
      return;
    }
    if (slot.exchange) {
      slot.exchange->record().error_number = error;
      slot.exchange->abandon(Outcome::kFailed, "connect", lower_first(std::strerror(error)), mono_now());
      finish(slot);
    } else {
      drop_connection(slot);
    }
    return;
  }
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) receive_some(slot);
  if ((events & EPOLLOUT) != 0 && slot.state == Slot::State::kSending) send_more(slot);
}

/// Starts the slots that are free now; one that fails at once waits for the next turn of the loop.
void Driver::start_freed() {
  for (std::size_t n = free_.size(); n > 0 && started_ < planned_; --n) {
    const auto [slot, since] = free_.front();
    free_.pop_front();
    start(*slot, since);
  }
}

Status Driver::wait(int timeout_ms) {
  std::array<epoll_event, 256> ready{};
  const int n = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout_ms);
  if (n < 0 && errno != EINTR) return internal_error(fmt::format("epoll_wait: {}", std::strerror(errno)));
  for (int i = 0; i < n; ++i) {
    Slot& slot = *static_cast<Slot*>(ready[static_cast<std::size_t>(i)].data.ptr);
    on_ready(slot, ready[static_cast<std::size_t>(i)].events);
    // A freed slot sends again before the next socket is read: receive times are the kernel's, send times are ours.
    start_freed();
  }
  return {};
}

void Driver::check_deadlines(MonoTime now) {
  if (now - checked_ < Millis(kTick)) return;
  checked_ = now;
  for (const auto& owned : slots_) {
    Slot& slot = *owned;
    if (slot.state == Slot::State::kClosed || slot.state == Slot::State::kIdle || now < slot.deadline) continue;
    const bool connecting = slot.state == Slot::State::kConnecting;
    if (slot.exchange) {
      slot.exchange->abandon(Outcome::kTimeout, connecting ? "timeout_connect" : "timeout_total", "no end within the time limit", now);
      drop_connection(slot);
      finish(slot);
    } else {
      drop_connection(slot);
    }
  }
}

/// What can wait until all sockets are read: reading events, settling requests, making the next bodies. A little at a
/// time unless `all`: while this runs no freed slot can send.
void Driver::after_input(bool all) {
  const MonoTime limit = mono_now() + kAfterInput;
  const auto in_time = [&] { return all || finished_.size() > 4 * slots_.size() || mono_now() < limit; };
  while (built_ < planned_ && pool_.size() < 2 * slots_.size() && in_time()) pool_.push_back(builder_.build(phase_, built_++));
  while (!finished_.empty() && in_time()) {
    finished_.front()->interpret();
    if (phase_ == Phase::kMeasured && load_.observer != nullptr) load_.observer->take(finished_.front()->record());
    log_.records.push_back(std::move(finished_.front()->record()));
    finished_.pop_front();
  }
  while (!touched_.empty() && in_time()) {
    Slot& slot = *touched_.front();
    touched_.pop_front();
    slot.touched = false;
    if (slot.exchange) slot.exchange->interpret();
  }
}

void Driver::report(MonoTime now, bool last) {
  if (!last && now - reported_ < Seconds(1)) return;
  reported_ = now;
  progress_.report({.stage = phase_ == Phase::kWarmup ? "warm-up" : "load",
                    .message = last ? "all answered" : fmt::format("{} in flight", in_flight_),
                    .done = finished_count_,
                    .total = planned_,
                    .numbers = {{"in_flight", static_cast<double>(in_flight_)}}});
}

Result<PhaseLog> Driver::run(Phase phase, std::int64_t count) {
  phase_ = phase;
  planned_ = count;
  built_ = started_ = in_flight_ = finished_count_ = 0;
  log_ = {};
  pool_.clear();
  free_.clear();
  const auto ahead = std::min<std::int64_t>(count, 2 * static_cast<std::int64_t>(slots_.size()));
  while (built_ < ahead && !stop_.stop_requested()) pool_.push_back(builder_.build(phase_, built_++));
  if (count == 0) return std::move(log_);

  const std::int64_t steps_before = clock_.steps();
  reported_ = mono_now();
  std::size_t ramp = 0;
  const std::size_t first_starts = static_cast<std::size_t>(std::min<std::int64_t>(count, static_cast<std::int64_t>(slots_.size())));
  const MonoTime begin = mono_now();
  if (phase == Phase::kMeasured && load_.observer != nullptr) load_.observer->begin(begin, clock_.to_wall(begin));
  while (finished_count_ < planned_) {
    if (stop_.stop_requested()) return cancelled();
    clock_.refresh(mono_now());
    while (ramp < first_starts && mono_now() >= begin + kStartSpacing * static_cast<std::int64_t>(ramp)) {
      if (started_ >= planned_) {
        ramp = first_starts;
        break;
      }
      start(*slots_[ramp], begin + kStartSpacing * static_cast<std::int64_t>(ramp));
      ++ramp;
    }
    start_freed();  // those that failed outside of `wait`: time-outs, refused connections
    const bool work_waits = ramp < first_starts || (!free_.empty() && started_ < planned_) || !finished_.empty() || !touched_.empty();
    if (finished_count_ < planned_) PAWL_TRY(wait(work_waits ? 0 : kTick));
    after_input(false);
    const MonoTime now = mono_now();
    check_deadlines(now);
    report(now, false);
  }
  after_input(true);
  report(mono_now(), true);
  log_.clock_steps = clock_.steps() - steps_before;
  return std::move(log_);
}

}  // namespace pawl::loadgen
