#include <algorithm>
#include <cstring>
#include <utility>

#include "loadgen/internal/worker_parts.h"

namespace pawl::loadgen {

using measure::Outcome;
using measure::Phase;
using measure::RequestRecord;

namespace {

constexpr Nanos kStampSlack = Millis(1);
constexpr std::size_t kFinishedWaiting = 64;

/// The time of the first token may then be too late: it is that of the read's last segment.
bool second_token_shares_read(const RequestRecord& record) {
  bool first = true;
  for (const measure::StreamEvent& event : record.events) {
    if (!event.is(measure::kToken)) continue;
    if (!first) return event.is(measure::kCoalesced);
    first = false;
  }
  return false;
}

}  // namespace

void Worker::start(Job job, std::size_t endpoint) {
  RequestRecord record = std::move(job.planned.record);
  record.worker = number_;
  record.ready = job.ready;
  record.admit = job.admit;
  record.sched = job.sched;
  if (task_.ramp > Nanos(0) && record.phase == Phase::kMeasured && job.ready < task_.begin + task_.ramp) record.phase = Phase::kRamp;
  backend::ReadOptions options = builder_.read_options();
  options.echo_bytes = job.planned.echo_bytes;
  options.keep_text = options.keep_text || (job.session != nullptr && job.session->needs_reply(job.node));

  std::unique_ptr<Exchange> exchange;
  // A wave of ends must not double the memory of a run: beyond some, one is handed over for each that starts.
  if (spare_exchanges_.empty() && finished_.size() > kFinishedWaiting) hand_over_one();
  if (spare_exchanges_.empty()) {
    exchange = std::make_unique<Exchange>(scratch_, load_.max_event_bytes);
  } else {
    exchange = std::move(spare_exchanges_.back());
    spare_exchanges_.pop_back();
  }
  // The list of events keeps the memory of the request before.
  std::swap(record.events, exchange->record().events);
  record.events.clear();
  record.events.reserve(std::min<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(record.asked_output, 0)) + 4, 4096));
  exchange->begin(builder_.backend(), options, std::move(record));

  ++started_;
  ++in_flight_;
  const std::int64_t now_in_flight = task_.shared->in_flight.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::int64_t peak = task_.shared->peak.load(std::memory_order_relaxed);
       now_in_flight > peak && !task_.shared->peak.compare_exchange_weak(peak, now_in_flight, std::memory_order_relaxed);) {
  }

  Connection* c = nullptr;
  auto& idle = idle_[endpoint];
  const MonoTime now = mono_now();
  while (c == nullptr && !idle.empty()) {
    Connection* candidate = idle.back();
    if (fresh(*candidate, now)) {
      c = candidate;
      idle.pop_back();
    } else {
      drop_connection(*candidate);
    }
  }
  const bool dial = c == nullptr;
  if (dial) c = &new_connection(endpoint);
  c->exchange = std::move(exchange);
  c->bytes = std::move(job.planned.bytes);
  c->sent = 0;
  c->replayed = false;
  c->session = job.session;
  c->node = job.node;
  if (dial) {
    dial_for(*c);
  } else {
    begin_sending(*c);
  }
}

void Worker::begin_sending(Connection& c) {
  const std::string& head = endpoints_[c.endpoint].head;
  if (c.tls) {
    // Encrypted first: `send` is the moment just before the kernel gets the first byte.
    Status done = c.tls->write(head);
    if (done) done = c.tls->write(c.bytes);
    if (!done) {
      c.exchange->abandon(Outcome::kFailed, "tls", done.error().message, mono_now());
      finish(c);
      return;
    }
  }
  c.state = Connection::State::kSending;
  RequestRecord& record = c.exchange->record();
  const MonoTime now = mono_now();
  c.last_read = now;
  if (!record.send) record.send = now;  // a replay keeps the first (BC-3.7)
  last_send_ = now;
  send_more(c);
}

void Worker::send_more(Connection& c) {
  const std::string_view head = endpoints_[c.endpoint].head;
  for (;;) {
    std::string_view first, second;
    if (c.tls) {
      first = c.tls->pending();
    } else {
      first = c.sent < head.size() ? head.substr(c.sent) : std::string_view{};
      second = c.sent < head.size() ? std::string_view(c.bytes) : std::string_view(c.bytes).substr(c.sent - head.size());
    }
    if (first.empty() && second.empty()) break;
    const ssize_t n = send_parts(c.socket, first, second);
    if (n >= 0) {
      c.sent += static_cast<std::size_t>(n);
      if (c.tls) c.tls->sent(static_cast<std::size_t>(n));
    } else if (would_block(errno)) {
      return;  // the edge comes when there is room
    } else if (errno != EINTR) {
      const int error = errno;
      if (replay(c)) return;
      RequestRecord& record = c.exchange->record();
      record.error_number = error;
      if (c.used) ++record.flags["stale_conn"];
      c.exchange->abandon(Outcome::kFailed, c.used ? "early_eof" : "send", lower_first(std::strerror(error)), mono_now());
      finish(c);
      return;
    }
  }
  acknowledge_at_once(c.socket);
  RequestRecord& record = c.exchange->record();
  record.sent = mono_now();
  log_.write_ns.add((*record.sent - *record.send).count());
  c.state = Connection::State::kReceiving;
  if (!load_.replay_stale) c.bytes = {};
}

/// A kept connection that the peer closed before any byte of the answer: once more on a fresh one, if the user wants it.
bool Worker::replay(Connection& c) {
  if (!load_.replay_stale || !c.used || c.replayed || c.exchange->answered()) return false;
  c.socket.close();
  c.tls.reset();
  c.replayed = true;
  ++c.exchange->record().flags["replayed"];
  c.sent = 0;
  dial_for(c);
  return true;
}

MonoTime Worker::native_time(Connection& c, const Received& received) {
  if (received.kernel) {
    const MonoTime kernel = clock_.to_mono(*received.kernel);
    // Outside these bounds the calendar clock has moved: the stamp says nothing.
    if (kernel <= received.user + kStampSlack && kernel + kStampSlack >= c.last_read) {
      ++log_.kernel_reads;
      const MonoTime at = std::clamp(kernel, c.last_read, std::max(c.last_read, received.user));
      rx_delays_.add((received.user - at).count());
      return at;
    }
  }
  ++log_.user_reads;
  return received.user;
}

void Worker::receive_all(Connection& c, bool to_the_end) {
  for (;;) {
    if (c.exchange) c.exchange->prefetch();
    const Received received = receive(c.socket, buffer_);
    if (c.exchange && received.size > 0) c.exchange->prefetch_tails(static_cast<std::size_t>(received.size));
    if (received.size < 0 && received.error_number == EINTR) continue;
    if (received.size < 0 && would_block(received.error_number)) return;
    if (received.size <= 0) {
      peer_closed(c, received);
      return;
    }
    if (!c.exchange && !c.tls) {
      drop_connection(c);  // bytes that answer nothing
      return;
    }
    const MonoTime at = native_time(c, received);
    c.last_read = at;
    const std::string_view bytes{buffer_.data(), static_cast<std::size_t>(received.size)};
    if (c.tls) {
      take_cipher(c, bytes, at, received.user - at);
    } else {
      take_bytes(c, bytes, at, received.user - at);
    }
    if (!c.socket || c.state == Connection::State::kConnecting) return;
    // A short read has emptied the socket: what arrives later is a new edge.
    if (!to_the_end && bytes.size() < buffer_.size()) return;
  }
}

void Worker::take_bytes(Connection& c, std::string_view bytes, MonoTime at, Nanos late) {
  if (!c.exchange) {
    drop_connection(c);
    return;
  }
  Exchange& exchange = *c.exchange;
  const std::size_t before = exchange.record().events.size();
  const std::size_t taken = exchange.on_bytes(bytes, at, late);
  events_ += static_cast<std::int64_t>(exchange.record().events.size() - before);
  if (!exchange.over()) return;
  c.keep = taken == bytes.size() && exchange.reusable();
  finish(c);
}

void Worker::take_cipher(Connection& c, std::string_view bytes, MonoTime at, Nanos late) {
  c.tls->received(bytes);
  if (c.state == Connection::State::kHandshaking) {
    shake_hands(c);
    if (!c.tls || c.state == Connection::State::kHandshaking) return;
  }
  while (c.tls) {
    const auto n = c.tls->read(plain_.data(), plain_.size());
    if (!n) {
      if (c.exchange) {
        c.exchange->abandon(Outcome::kFailed, "tls", n.error().message, at);
        finish(c);
      } else {
        drop_connection(c);
      }
      return;
    }
    if (*n > 0) {
      take_bytes(c, {plain_.data(), *n}, at, late);
      continue;
    }
    if (c.tls->peer_closed()) {
      Received closed;
      closed.user = at;
      peer_closed(c, closed);
    } else {
      flush_tls(c);
    }
    return;
  }
}

void Worker::peer_closed(Connection& c, const Received& received) {
  if (c.state == Connection::State::kHandshaking) {
    connect_failed(c, "tls", received.error_number, received.error_number == 0 ? "the server closed during the handshake" : "");
    return;
  }
  if (!c.exchange) {
    drop_connection(c);
    return;
  }
  if (replay(c)) return;
  Exchange& exchange = *c.exchange;
  if (!exchange.answered() && c.used) ++exchange.record().flags["stale_conn"];
  exchange.record().error_number = received.error_number;
  exchange.on_close(received.user);
  c.keep = false;
  finish(c);
}

/// Takes a request that is over off its connection.
void Worker::finish(Connection& c) {
  const RequestRecord& record = c.exchange->record();
  const MonoTime end = *record.end;
  if (c.state == Connection::State::kReceiving && std::exchange(c.keep, false)) {
    c.state = Connection::State::kIdle;
    c.used = true;
    c.idle_since = end;
    idle_[c.endpoint].push_back(&c);
  } else {
    drop_connection(c);
  }
  c.bytes = {};
  --in_flight_;
  task_.shared->in_flight.fetch_sub(1, std::memory_order_relaxed);
  ++ended_;
  if (record.outcome == Outcome::kOk) {
    ++ok_;
    if (second_token_shares_read(record)) ++log_.joined_first;
    if (record.first_token && record.send) {
      ttft_ns_ += (*record.first_token - *record.send).count();
      ++ttft_n_;
      if (record.last_token > record.first_token && record.events.size() > 1) {
        gap_ns_ += (*record.last_token - *record.first_token).count();
        gap_n_ += static_cast<std::int64_t>(record.events.size()) - 1;
      }
    }
  } else if (record.outcome == Outcome::kFailed || record.outcome == Outcome::kTimeout) {
    ++failed_;
  }
  after_end(std::exchange(c.session, nullptr), c.node, *c.exchange, c.endpoint);
  finished_.push_back(std::move(c.exchange));
}

void Worker::after_end(SessionRun* session, std::size_t node, Exchange& exchange, std::size_t endpoint) {
  RequestRecord& record = exchange.record();
  const MonoTime end = *record.end;
  if (session == nullptr) {
    unit_over(end, endpoint);
    return;
  }
  if (record.outcome == Outcome::kOk && !stopping_) {
    std::string reply = record.text;
    if (!load_.keep_text) record.text = {};
    for (const SessionRun::Due& due : session->ended(node, end, std::move(reply))) turns_.push({due.ready, sessions_.at(session), due.node});
  } else {
    skip(*session, session->failed(node, end));
  }
  if (!session->over()) return;
  const MonoTime last = session->last_end();
  sessions_.erase(session);
  unit_over(last, endpoint);
}

/// Records of requests that will never be sent, because their session has ended (BC-3.1).
void Worker::skip(const SessionRun& session, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) {
    RequestRecord record = builder_.plan(task_.phase, session.first() + static_cast<std::int64_t>(node), session.prompt(node));
    record.outcome = Outcome::kSkipped;
    record.worker = number_;
    if (task_.sink != nullptr) task_.sink->take(record);
  }
}

/// A slot of a closed loop, or a permit of an open one, is free.
void Worker::unit_over(MonoTime at, std::size_t endpoint) {
  if (!task_.open) {
    freed_.push_back({at, endpoint, std::nullopt});
  } else if (auto waiting = task_.shared->gate.leave()) {
    freed_.push_back({at, endpoint, std::move(waiting)});
  }
}

}  // namespace pawl::loadgen
