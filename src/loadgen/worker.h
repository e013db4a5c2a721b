#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "loadgen/clock_map.h"
#include "loadgen/exchange.h"
#include "loadgen/feed.h"
#include "loadgen/gate.h"
#include "loadgen/gather.h"
#include "loadgen/load.h"
#include "loadgen/phase_log.h"
#include "loadgen/session_run.h"
#include "loadgen/socket.h"
#include "loadgen/tls.h"

struct timespec;

namespace pawl::loadgen {

/// A server as all workers see it.
struct Endpoint {
  Target target;
  Address address;   ///< the one that answered
  std::string head;  ///< first part of every request to it
};

/// What a worker tells of itself while it runs; read by the thread that watches. Written once a round of the loop.
struct alignas(64) LiveCounters {
  std::atomic<std::int64_t> started = 0, finished = 0, ok = 0, failed = 0, token_events = 0;
  std::atomic<std::int64_t> ttft_ns = 0, ttft_n = 0, gap_ns = 0, gap_n = 0;
};

/// What all workers of a phase share.
struct PhaseShared {
  PhaseShared(std::optional<std::int64_t> cap) : gate(cap) {}
  Gate gate;
  std::atomic<std::int64_t> in_flight = 0, peak = 0;
};

/// The part of a phase that is one worker's.
struct PhaseTask {
  measure::Phase phase = measure::Phase::kMeasured;
  bool open = false;  ///< open loop: arrivals by the clock
  Feed* feed = nullptr;
  PhaseShared* shared = nullptr;
  std::int64_t first_slot = 0, slot_stride = 1, slots = 0;  ///< closed loop: slots first, first + stride, … below `slots`
  MonoTime begin;                                           ///< of the phase, the same for all workers
  Nanos spacing{0};                                         ///< closed loop: slot k starts k × spacing after the begin
  Nanos ramp{0};                                            ///< requests that become ready within it are tagged kRamp
  std::optional<Nanos> duration;                            ///< nothing is sent after it
  std::optional<Nanos> drain;                               ///< what still runs so long after the last send is censored
  RecordSink* sink = nullptr;
};

/// One event loop on one thread: opens connections, sends requests, reads answers. Nothing in it is shared but what the
/// task names. All references given must outlive it.
class Worker {
 public:
  Worker(const LoadRequest& load, const RequestBuilder& builder, std::span<const Endpoint> endpoints, const TlsContext* tls, std::int64_t number);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Opens so many connections, shared out among the endpoints; `made` are there already, one for each of the first
  /// endpoints. Error: this machine has no more to give (kExhausted).
  Status open(std::int64_t connections, std::vector<Descriptor> made, const std::stop_token& stop);

  /// Runs its part of a phase to the end, or until `stop`: what is in flight then is cancelled. Error: the event loop
  /// itself broke.
  Result<WorkerLog> run(const PhaseTask& task, const std::stop_token& stop);

  [[nodiscard]] const LiveCounters& live() const { return live_; }
  [[nodiscard]] const ClockMap& clock() const { return clock_; }
  /// Wakes the loop from another thread.
  void wake() const;

 private:
  struct Job;
  struct Connection;
  struct TurnDue;

  // connections
  Connection& new_connection(std::size_t endpoint);
  void dial_for(Connection& c);
  void register_socket(Connection& c);
  void connected(Connection& c);
  void shake_hands(Connection& c);
  void ready_to_send(Connection& c);
  void connect_failed(Connection& c, const char* cls, int error, std::string what);
  void drop_connection(Connection& c);
  bool fresh(const Connection& c, MonoTime now) const;
  void keep_spares();

  // one request
  void start(Job job, std::size_t endpoint);
  void begin_sending(Connection& c);
  void send_more(Connection& c);
  bool flush_tls(Connection& c);
  void receive_all(Connection& c, bool to_the_end);
  void take_bytes(Connection& c, std::string_view bytes, MonoTime at, Nanos late);
  void take_cipher(Connection& c, std::string_view bytes, MonoTime at, Nanos late);
  void peer_closed(Connection& c, const Received& received);
  bool replay(Connection& c);
  void finish(Connection& c);
  void after_end(SessionRun* session, std::size_t node, Exchange& exchange, std::size_t endpoint);
  void skip(const SessionRun& session, const std::vector<std::size_t>& nodes);
  void unit_over(MonoTime at, std::size_t endpoint);
  MonoTime native_time(Connection& c, const Received& received);

  // the loop
  void on_ready(Connection& c, unsigned events);
  void set_tick(Nanos tick);
  Status wait(MonoTime until, MonoTime now);
  Result<std::size_t> read_ready(const timespec* timeout);
  bool start_due(MonoTime now);
  void start_freed();
  void start_unit(FeedItem item, MonoTime ready, std::optional<MonoTime> admit, std::size_t endpoint);
  void start_turn(const TurnDue& due);
  void check_deadlines(MonoTime now);
  void idle_work(bool all);
  void hand_over_one();
  void give_up_all(measure::Outcome outcome, MonoTime now);
  void publish();
  [[nodiscard]] bool may_start(MonoTime now) const;
  [[nodiscard]] bool over(MonoTime now);
  [[nodiscard]] MonoTime next_wake(MonoTime now);

  const LoadRequest& load_;
  const RequestBuilder& builder_;
  std::span<const Endpoint> endpoints_;
  const TlsContext* tls_;
  std::int64_t number_;

  ClockMap clock_;
  Descriptor epoll_, waker_;
  Descriptor ticker_;  ///< wakes the loop each tick, so that waiting for bytes needs no timer of its own
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::vector<Connection*>> idle_;    ///< by endpoint; the one used last is taken first
  std::vector<std::vector<Connection*>> closed_;  ///< by endpoint: to be dialled when needed
  std::vector<char> buffer_, plain_;
  backend::EventFacts scratch_;
  std::vector<std::unique_ptr<Exchange>> spare_exchanges_;
  int shortage_ = 0;  ///< errno of the last socket that this machine could not open
  std::int64_t connecting_ = 0;

  // Of the phase that runs.
  PhaseTask task_;
  WorkerLog log_;
  stats::HistogramFeed rx_delays_, iterations_;  ///< ns; go into the log at the end
  struct Freed {
    MonoTime since;
    std::size_t endpoint;
    std::optional<Gate::Waiting> waiting;  ///< open loop: the one that may start in its place
  };
  struct TurnDue {
    MonoTime at;
    std::shared_ptr<SessionRun> run;
    std::size_t node;
    bool operator<(const TurnDue& other) const { return other.at < at; }
  };
  std::int64_t next_slot_ = 0;
  std::deque<Freed> freed_;
  std::deque<std::unique_ptr<Exchange>> finished_;
  std::map<const SessionRun*, std::shared_ptr<SessionRun>> sessions_;  ///< those that are not over
  std::priority_queue<TurnDue> turns_;
  std::int64_t in_flight_ = 0;
  std::int64_t started_ = 0, ended_ = 0, ok_ = 0, failed_ = 0, events_ = 0;
  std::int64_t ttft_ns_ = 0, ttft_n_ = 0, gap_ns_ = 0, gap_n_ = 0;
  bool stopping_ = false;
  bool feed_done_ = false;  ///< open loop: no arrival is left
  bool feed_room_ = false;  ///< requests may be made ahead
  bool quiet_ = false;      ///< the last window brought nothing
  MonoTime published_, checked_, last_send_, woke_;
  Nanos tick_{0};           ///< between two looks at what others want to know
  Nanos deadline_tick_{0};  ///< between two looks at the deadlines of all connections
  Gather gather_;
  LiveCounters live_;
};

}  // namespace pawl::loadgen
