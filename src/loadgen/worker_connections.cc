#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "loadgen/internal/worker_parts.h"

namespace pawl::loadgen {

using measure::Outcome;
using measure::RequestRecord;

namespace {

constexpr std::size_t kDialsAtOnce = 64;                    ///< below the backlog of common servers
constexpr std::int64_t kSparesLeast = 4, kSparesMost = 64;  ///< open connections kept for arrivals to come

}  // namespace

Worker::Connection& Worker::new_connection(std::size_t endpoint) {
  if (!closed_[endpoint].empty()) {
    Connection& c = *closed_[endpoint].back();
    closed_[endpoint].pop_back();
    return c;
  }
  connections_.push_back(std::make_unique<Connection>());
  connections_.back()->endpoint = endpoint;
  return *connections_.back();
}

Status Worker::open(std::int64_t connections, std::vector<Descriptor> made, const std::stop_token& stop) {
  if (!epoll_ || !waker_) return machine_error(fmt::format("epoll: {}", std::strerror(errno)));
  std::int64_t dialled = 0;
  for (Descriptor& socket : made) {
    Connection& c = new_connection(static_cast<std::size_t>(dialled++));
    c.dial_at = mono_now();
    c.socket = std::move(socket);
    register_socket(c);
    connected(c);
  }
  shortage_ = 0;
  set_tick(Millis(10));
  while (dialled < connections || connecting_ > 0) {
    if (stop.stop_requested()) return cancelled();
    for (; dialled < connections && connecting_ < static_cast<std::int64_t>(kDialsAtOnce); ++dialled) {
      dial_for(new_connection(static_cast<std::size_t>(dialled) % endpoints_.size()));
    }
    if (connecting_ > 0) PAWL_TRY(wait(mono_now() + tick_, mono_now()));
    check_deadlines(mono_now());
  }
  // A server that takes fewer connections than asked for shows in the requests; a shortage of ours is known now.
  if (shortage_ != 0) return machine_error(fmt::format("cannot open {} connections: {}", connections, lower_first(std::strerror(shortage_))));
  return {};
}

void Worker::dial_for(Connection& c) {
  c.dial_at = mono_now();
  c.used = c.keep = false;
  Dialled dialled = dial(endpoints_[c.endpoint].address);
  if (!dialled.socket) {
    if (is_local_shortage(dialled.error_number)) shortage_ = dialled.error_number;
    connect_failed(c, is_local_shortage(dialled.error_number) ? "local" : "connect", dialled.error_number, {});
    return;
  }
  c.socket = std::move(dialled.socket);
  register_socket(c);
}

void Worker::register_socket(Connection& c) {
  c.state = Connection::State::kConnecting;
  ++connecting_;
  // Edges only, and all of them from the start: no socket is ever registered twice.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &c;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, c.socket.get(), &event);
}

void Worker::connect_failed(Connection& c, const char* cls, int error, std::string what) {
  if (!c.exchange) {
    drop_connection(c);
    return;
  }
  RequestRecord& record = c.exchange->record();
  record.conn_start = c.dial_at;
  record.error_number = error;
  c.exchange->abandon(Outcome::kFailed, cls, what.empty() ? lower_first(std::strerror(error)) : std::move(what), mono_now());
  finish(c);
}

void Worker::connected(Connection& c) {
  if (!endpoints_[c.endpoint].target.tls) {
    ready_to_send(c);
    return;
  }
  c.tls = std::make_unique<TlsSession>(*tls_, endpoints_[c.endpoint].target.host);
  c.state = Connection::State::kHandshaking;
  shake_hands(c);
}

void Worker::shake_hands(Connection& c) {
  const auto done = c.tls->handshake();
  if (!done) {
    flush_tls(c);  // the alert that tells the server why
    connect_failed(c, "tls", 0, done.error().message);
    return;
  }
  if (!flush_tls(c)) return;
  if (*done) ready_to_send(c);
}

/// Writes what TLS has for the socket. False: the connection broke and was dealt with.
bool Worker::flush_tls(Connection& c) {
  for (std::string_view pending = c.tls->pending(); !pending.empty(); pending = c.tls->pending()) {
    const ssize_t n = send_parts(c.socket, pending, {});
    if (n >= 0) {
      c.tls->sent(static_cast<std::size_t>(n));
    } else if (would_block(errno)) {
      return true;
    } else if (errno != EINTR) {
      if (c.state == Connection::State::kHandshaking) connect_failed(c, "tls", errno, {});
      return false;
    }
  }
  return true;
}

void Worker::ready_to_send(Connection& c) {
  if (c.state == Connection::State::kConnecting || c.state == Connection::State::kHandshaking) --connecting_;
  c.state = Connection::State::kIdle;
  c.handshake_end = mono_now();
  if (c.exchange) {
    c.exchange->record().conn_start = c.dial_at;
    c.exchange->record().conn_end = c.handshake_end;
    begin_sending(c);
  } else {
    c.idle_since = c.handshake_end;
    idle_[c.endpoint].push_back(&c);
  }
}

void Worker::drop_connection(Connection& c) {
  if (c.state == Connection::State::kIdle) std::erase(idle_[c.endpoint], &c);
  if (c.state == Connection::State::kConnecting || c.state == Connection::State::kHandshaking) --connecting_;
  c.socket.close();  // leaves the epoll with it
  c.tls.reset();
  c.state = Connection::State::kClosed;
  closed_[c.endpoint].push_back(&c);
}

/// BC-3.7: an idle connection is used again only if its peer has not closed it and it has not stood too long.
bool Worker::fresh(const Connection& c, MonoTime now) const {
  if (now - c.idle_since > of_seconds(load_.idle_connection_s)) return false;
  const IdleState state = idle_state(c.socket);
  return state == IdleState::kQuiet || (state == IdleState::kBytes && c.tls);  // TLS: a ticket, read with the answer
}

/// Open loop: an arrival that has to open a connection would be late by the handshake.
void Worker::keep_spares() {
  if (!task_.open || stopping_ || feed_done_) return;
  const std::int64_t wanted = std::clamp(in_flight_ / 8, kSparesLeast, kSparesMost);
  for (std::size_t e = 0; e < endpoints_.size(); ++e) {
    for (auto have = static_cast<std::int64_t>(idle_[e].size()) + connecting_; have < wanted && connecting_ < kSparesLeast; ++have) {
      shortage_ = 0;
      dial_for(new_connection(e));
      if (shortage_ != 0) return;
    }
  }
}

}  // namespace pawl::loadgen
