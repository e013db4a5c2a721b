#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli.h"
#include "measure/observer.h"
#include "model/bench_result.h"
#include "telemetry/engine_metrics.h"
#include "telemetry/power_source.h"

namespace pawl::app {

/// The flags of `pawl bench` that say what is watched beside the load.
struct BenchPowerFlags {
  telemetry::SourceOptions source{.kind = "off"};
  std::int64_t expected_gpus = 0;  ///< 0: those that are sampled
  std::filesystem::path samples;   ///< CSV of the samples
  bool required = false;
  std::vector<std::string> metrics;  ///< URLs, or "auto"
};

void add_bench_power_options(CLI::App& app, BenchPowerFlags& flags);
/// Those of the source alone, which other commands have too.
void add_power_source_options(CLI::App& app, telemetry::SourceOptions& source, bool off_allowed, const std::string& group);

/// Power is required and did not come out valid.
[[nodiscard]] bool lacks_power(const BenchPowerFlags& flags, const model::BenchResult& result);

/// Watches power and the engine's counters beside load runs: each from its measured phase's begin until `finish`.
class BenchProbe final : public measure::RunObserver {
 public:
  /// Null when nothing is to be watched. Sampling begins here. Errors: the source that is named is not there; for `auto`
  /// that is no error: it is said on standard error, and stands in the result.
  static Result<std::unique_ptr<BenchProbe>> open(const BenchPowerFlags& flags, const std::vector<std::string>& urls, World& world);

  void pass_on_to(measure::RunObserver* next) { next_ = next; }
  void begin(MonoTime origin, WallTime wall) override;
  void first_request(std::string_view head, std::string_view body) override;
  void take(const measure::RequestRecord& record) override;

  /// Right after a run: fills `power` and `engine_counters`. Waits for the sample after the end. Trouble with either is
  /// written there and is no error.
  Status finish(model::BenchResult& result, std::stop_token stop);

 private:
  explicit BenchProbe(World& world) : world_(world) {}
  [[nodiscard]] Result<telemetry::MetricsPage> look(const std::string& url, std::stop_token stop) const;

  World& world_;
  BenchPowerFlags flags_;
  std::unique_ptr<telemetry::PowerSource> source_;
  std::string no_source_;  ///< why there is none, though it was asked for
  std::vector<std::string> pages_;
  std::vector<Result<telemetry::MetricsPage>> first_;  ///< written by look_, read after it has been joined
  std::jthread look_;
  measure::RunObserver* next_ = nullptr;
};

}  // namespace pawl::app
