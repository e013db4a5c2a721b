#include "loadgen/calibrate.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "loadgen/driver.h"
#include "loadgen/stamped_source.h"
#include "stats/moments.h"
#include "stats/percentile.h"

namespace pawl::loadgen {
namespace {

/// What of an answer is compared.
struct Said {
  std::int64_t index = 0;
  MonoTime send;
  std::vector<MonoTime> tokens;
};

class SaidSink final : public RecordSink {
 public:
  std::vector<Said> said;
  void take(measure::RequestRecord& record) override {
    if (record.outcome != measure::Outcome::kOk || !record.send) return;
    Said& one = said.emplace_back(Said{record.index, *record.send, {}});
    for (const measure::StreamEvent& event : record.events) {
      if (event.is(measure::kToken)) one.tokens.push_back(event.at);
    }
  }
};

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

/// Keeps the threads that start within its life off one core.
class KeepOff {
 public:
  explicit KeepOff(int core) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t set = before_;
    if (core >= 0) CPU_CLR(static_cast<std::size_t>(core), &set);
    ::sched_setaffinity(0, sizeof set, &set);
  }
  ~KeepOff() { ::sched_setaffinity(0, sizeof before_, &before_); }
  KeepOff(const KeepOff&) = delete;
  KeepOff& operator=(const KeepOff&) = delete;

 private:
  cpu_set_t before_{};
};

double p99_of_size(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return stats::percentile(errors, 99);
}

Result<model::Calibration> measure_once(const CalibrationOptions& options, std::int64_t streams, io::Progress& progress, const std::stop_token& stop) {
  const std::vector<int> cores = usable_cores();
  const int source_core = cores.size() > 1 ? cores.front() : -1;
  PAWL_ASSIGN(const auto source, StampedSource::start({.gap = Nanos(static_cast<std::int64_t>(options.gap_ms * 1e6)), .core = source_core}));
  LoadRequest load;
  load.url = source->url();
  load.model = "calibrate";
  load.isl = 32;
  load.osl = options.tokens;
  load.concurrency = streams;
  load.requests = streams * options.rounds;
  const KeepOff off(source_core);
  const RequestBuilder builder(load);
  PAWL_ASSIGN(const Target target, parse_target(load.url));
  Driver driver(load, builder, {target}, progress, stop);
  PAWL_TRY(driver.open());
  std::vector<SaidSink> sinks(driver.workers());
  std::vector<RecordSink*> where;
  for (SaidSink& sink : sinks) where.push_back(&sink);
  PAWL_ASSIGN(const PhaseLog log, driver.run(measure::Phase::kMeasured, std::nullopt, where));
  const auto truth = source->stop();

  std::vector<Said> said;
  for (SaidSink& sink : sinks) std::ranges::move(sink.said, std::back_inserter(said));
  std::ranges::sort(said, {}, &Said::send);
  std::vector<double> ttft, later, gaps, gap_sizes;
  model::Calibration out;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const auto found = truth.find(fmt::format("pawl-{}-m-{}", load.seed, said[i].index));
    if (found == truth.end() || found->second.events.size() != said[i].tokens.size() || said[i].tokens.empty()) continue;
    const TrueTimes& true_times = found->second;
    const double error = millis_of((said[i].tokens.front() - said[i].send) - (true_times.events.front() - true_times.arrived));
    ttft.push_back(error);
    if (i >= static_cast<std::size_t>(streams)) later.push_back(error);
    for (std::size_t k = 1; k < said[i].tokens.size(); ++k) {
      gaps.push_back(millis_of((said[i].tokens[k] - said[i].tokens[k - 1]) - (true_times.events[k] - true_times.events[k - 1])));
      gap_sizes.push_back(std::abs(gaps.back()));
    }
    out.token_events += static_cast<std::int64_t>(said[i].tokens.size());
  }
  if (ttft.size() < static_cast<std::size_t>(load.requests)) {
    return run_failed(fmt::format("calibration: {} of {} answers could be compared", ttft.size(), load.requests), "measure again on a quiet machine");
  }
  out.cores = static_cast<std::int64_t>(cores.size());
  out.clock = log.total.kernel_reads > log.total.user_reads ? "kernel" : "user";
  out.streams = streams;
  out.requests = load.requests;
  out.gap_ms = options.gap_ms;
  out.ttft_error_mean_ms = stats::mean(ttft);
  out.ttft_error_p99_ms = p99_of_size(ttft);
  out.ttft_error_after_burst_mean_ms = stats::mean(later);
  out.ttft_error_after_burst_p99_ms = p99_of_size(later);
  out.gap_error_p50_ms = stats::percentile(gap_sizes, 50);
  out.gap_error_p99_ms = stats::percentile(gap_sizes, 99);
  out.gap_error_sigma_ms = stats::population_std(gaps);
  out.cpu_s_per_million_events = log.total.cpu_s / static_cast<double>(out.token_events) * 1e6;
  return out;
}

}  // namespace

Result<model::Calibration> calibrate(const CalibrationOptions& options, io::Progress& progress, std::stop_token stop) {
  if (options.streams < 1 || options.tokens < 2 || options.rounds < 2 || !(options.gap_ms > 0)) {
    return bad_input("a calibration needs at least 1 stream, 2 tokens an answer, 2 answers a stream and a gap above 0");
  }
  PAWL_ASSIGN(model::Calibration out, measure_once(options, options.streams, progress, stop));
  if (options.most_streams <= options.streams) return out;
  if (out.ttft_error_p99_ms <= 1) out.streams_within_1ms = options.streams;
  for (std::int64_t streams = options.streams * 2; streams <= options.most_streams && out.streams_within_1ms > 0; streams *= 2) {
    auto more = measure_once(options, streams, progress, stop);
    if (!more) {
      if (more.error().cls == ErrorClass::kExhausted) break;  // this machine has no more descriptors or ports
      return std::move(more).error();
    }
    if (more->ttft_error_p99_ms > 1) break;
    out.streams_within_1ms = streams;
  }
  return out;
}

}  // namespace pawl::loadgen
