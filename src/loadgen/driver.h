#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "io/progress.h"
#include "loadgen/load.h"
#include "loadgen/phase_log.h"
#include "loadgen/prompts.h"
#include "loadgen/tls.h"
#include "loadgen/worker.h"

namespace pawl::loadgen {

/// Runs the phases of a load: workers, one a thread, between which requests are shared out. Not reusable after an error.
class Driver {
 public:
  /// All but `targets` must outlive the driver.
  Driver(const LoadRequest& load, const RequestBuilder& builder, std::vector<Target> targets, io::Progress& progress, std::stop_token stop);
  ~Driver();

  /// Finds the address of each server that answers, and opens the connections (BC-9.8). Errors: a server cannot be
  /// reached (kTransient), no descriptors or ports (kExhausted), `stop` (kCancelled).
  Status open();

  /// Runs a phase. `count`: requests to send; nothing: as the load says, by count or time. The records go to the sinks, one
  /// for each worker. Error: kCancelled when `stop` fired and the load wants no partial results.
  Result<PhaseLog> run(measure::Phase phase, std::optional<std::int64_t> count, const std::vector<RecordSink*>& sinks);

  [[nodiscard]] std::size_t workers() const { return workers_.size(); }
  [[nodiscard]] const ClockMap& clock() const { return workers_.front()->clock(); }

 private:
  Result<Endpoint> find(const Target& target, Descriptor& connection);
  Status in_parallel(const std::function<Status(std::size_t)>& part);
  void report(measure::Phase phase, std::optional<std::int64_t> planned, std::int64_t in_flight);
  [[nodiscard]] bool open_loop() const { return load_.arrivals.has_value() || load_.data_set_arrivals; }
  [[nodiscard]] std::int64_t units_for(measure::Phase phase, std::int64_t requests, std::int64_t& planned) const;

  const LoadRequest& load_;
  const RequestBuilder& builder_;
  std::vector<Target> targets_;
  io::Progress& progress_;
  std::stop_token stop_;
  std::shared_ptr<TlsContext> tls_;
  std::vector<Endpoint> endpoints_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// How many workers a load gets when the user does not say: one, until it is more than one can carry.
[[nodiscard]] std::int64_t default_threads(const LoadRequest& load, std::int64_t cores);

}  // namespace pawl::loadgen
