#pragma once

#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

#include "io/progress.h"
#include "loadgen/clock_map.h"
#include "loadgen/exchange.h"
#include "loadgen/load.h"
#include "loadgen/prompts.h"
#include "loadgen/socket.h"

namespace pawl::loadgen {

/// What one phase gave: the records of its requests in the order of their ends, and how well the client kept up.
struct PhaseLog {
  std::vector<RequestRecord> records;
  std::vector<double> rx_delay_ms;  ///< user stamp − kernel stamp, one a read that has both
  std::int64_t kernel_reads = 0;    ///< reads whose time is the kernel's
  std::int64_t user_reads = 0;      ///< reads whose time is our own
  std::int64_t late_bodies = 0;     ///< requests whose body was made only when its slot was already free
  std::int64_t peak_in_flight = 0;
  std::int64_t clock_steps = 0;
};

/// The event loop: `concurrency` slots on one epoll, each with at most one connection and one request, so that the cap
/// cannot be exceeded. One thread; not reusable after an error.
class Driver {
 public:
  /// All but `addresses` must outlive the driver.
  Driver(const LoadRequest& load, const Target& target, const RequestBuilder& builder, std::vector<Address> addresses, io::Progress& progress,
         std::stop_token stop);
  ~Driver();

  /// Opens one connection a slot. Error: none could be opened (kTransient), no descriptors or ports (kExhausted).
  Status open();

  /// Sends `count` requests of the phase and waits for all of them. Error: kCancelled only.
  Result<PhaseLog> run(Phase phase, std::int64_t count);

  [[nodiscard]] const ClockMap& clock() const { return clock_; }

 private:
  struct Slot;

  void start(Slot& slot, MonoTime ready);
  void dial_for(Slot& slot);
  void connected(Slot& slot);
  void begin_sending(Slot& slot);
  void send_more(Slot& slot);
  void receive_some(Slot& slot);
  void on_ready(Slot& slot, unsigned events);
  void check_deadlines(MonoTime now);
  void finish(Slot& slot);
  void watch(Slot& slot, unsigned events);
  void drop_connection(Slot& slot);
  MonoTime native_time(const Slot& slot, const Received& received);
  PlannedRequest next_request();
  void after_input(bool all);
  void start_freed();
  void report(MonoTime now, bool last);
  Status wait(int timeout_ms);

  const LoadRequest& load_;
  const Target& target_;
  const RequestBuilder& builder_;
  std::vector<Address> addresses_;
  io::Progress& progress_;
  std::stop_token stop_;

  ClockMap clock_;
  Descriptor epoll_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t address_ = 0;  ///< the one that answered
  std::vector<char> buffer_;
  int shortage_ = 0;  ///< errno of the last socket that this machine could not open

  // Of the phase that runs.
  Phase phase_ = Phase::kWarmup;
  std::int64_t planned_ = 0, built_ = 0, started_ = 0, in_flight_ = 0, finished_count_ = 0;
  std::deque<PlannedRequest> pool_;                 ///< made ahead
  std::deque<std::unique_ptr<Exchange>> finished_;  ///< over, not yet interpreted
  std::deque<Slot*> touched_;                       ///< have events that wait; each slot once
  std::deque<std::pair<Slot*, MonoTime>> free_;     ///< slots to start again, and since when
  PhaseLog log_;
  MonoTime reported_, checked_;
};

}  // namespace pawl::loadgen
