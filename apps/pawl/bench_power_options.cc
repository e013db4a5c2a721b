#include "bench_power_options.h"

#include <fmt/format.h>

#include <cmath>

#include "telemetry/power_csv.h"

namespace pawl::app {
namespace {

constexpr Seconds kLookLimit{10};

/// "http://host:8000/v1" → "http://host:8000/metrics"
Result<std::string> metrics_url(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return usage_error(fmt::format("--scrape-metrics auto: {} is no http address", url), "give the address of the metrics");
  return url.substr(0, url.find('/', scheme + 3)) + "/metrics";
}

}  // namespace

void add_power_source_options(CLI::App& app, telemetry::SourceOptions& source, bool off_allowed, const std::string& group) {
  std::vector<std::string> kinds{"auto", "nvml", "nvidia-smi", "amd-smi"};
  if (off_allowed) kinds.emplace_back("off");
  app.add_option(off_allowed ? "--power" : "--source", source.kind,
                 "Where power is read: nvml (the driver's library), nvidia-smi, amd-smi; auto: the first that is there")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str()
      ->group(group);
  app.add_option(off_allowed ? "--power-interval" : "--interval", source.interval_s, "Seconds between samples (default: 0.1 of nvml, 1 of a command)")
      ->check(CLI::Range(0.005, 60.0))
      ->group(group);
  app.add_option(off_allowed ? "--power-gpus" : "--gpus", source.gpus, "GPUs to sample, by index or UUID (default: all)")
      ->delimiter(',')
      ->group(group)
      ->type_name("LIST");
  app.add_option("--nvml-library", source.library, "NVML under another name (default: the driver's libnvidia-ml.so.1)")->group(group)->type_name("FILE");
}

void add_bench_power_options(CLI::App& app, BenchPowerFlags& flags) {
  const std::string group = "What is watched beside the load";
  add_power_source_options(app, flags.source, true, group);
  app.add_option("--power-expect", flags.expected_gpus, "GPUs that the engine uses; power does not count when another number is seen (default: those sampled)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000}))
      ->group(group);
  app.add_option("--power-samples", flags.samples, "Write the samples as CSV; of a sweep, those of its last point")->group(group)->type_name("FILE");
  app.add_flag("--require-power", flags.required, "Exit with 1 when power does not count")->group(group);
  app.add_option("--scrape-metrics", flags.metrics,
                 "Read the engine's own counters before and after, from this address, or, with auto, from /metrics of each --url; may be given several times")
      ->allow_extra_args(false)
      ->group(group)
      ->type_name("URL|auto");
}

bool lacks_power(const BenchPowerFlags& flags, const model::BenchResult& result) { return flags.required && (!result.power || !result.power->valid); }

Result<std::unique_ptr<BenchProbe>> BenchProbe::open(const BenchPowerFlags& flags, const std::vector<std::string>& urls, World& world) {
  const bool power = flags.source.kind != "off";
  if (!power && flags.required) return usage_error("--require-power needs --power");
  if (!power && !flags.samples.empty()) return usage_error("--power-samples needs --power");
  if (!power && flags.metrics.empty()) return std::unique_ptr<BenchProbe>();
  std::unique_ptr<BenchProbe> out(new BenchProbe(world));
  out->flags_ = flags;
  for (const std::string& page : flags.metrics) {
    if (page != "auto") {
      out->pages_.push_back(page);
      continue;
    }
    for (const std::string& url : urls) {
      PAWL_ASSIGN(out->pages_.emplace_back(), metrics_url(url));
    }
  }
  if (!power) return out;
  auto source = telemetry::open_power_source(flags.source, {world.clock, world.files, world.processes});
  if (source) {
    if (Status started = (*source)->start(); !started) source = started.error();
  }
  if (source) {
    out->source_ = std::move(*source);
  } else if (flags.source.kind == "auto" && source.error().cls == ErrorClass::kNotFound) {
    out->no_source_ = source.error().message;
    fmt::print(stderr, "pawl: power is not measured: {}\n", out->no_source_);
  } else {
    // Not there is trouble of this machine, not of the input.
    Error error = std::move(source).error();
    if (error.cls == ErrorClass::kNotFound) error.exit = ExitStatus::kMachine;
    return error;
  }
  return out;
}

Result<telemetry::MetricsPage> BenchProbe::look(const std::string& url, std::stop_token stop) const {
  return telemetry::scrape(url, kLookLimit, seconds_of(world_.clock.wall().since_epoch), std::move(stop));
}

void BenchProbe::begin(MonoTime origin, WallTime wall) {
  if (source_) source_->mark();
  if (!pages_.empty()) {
    // The load does not wait for it.
    look_ = {};
    first_.clear();
    look_ = std::jthread([this](std::stop_token stop) {
      for (const std::string& page : pages_) first_.push_back(look(page, stop));
    });
  }
  if (next_ != nullptr) next_->begin(origin, wall);
}

void BenchProbe::first_request(std::string_view head, std::string_view body) {
  if (next_ != nullptr) next_->first_request(head, body);
}

void BenchProbe::take(const measure::RequestRecord& record) {
  if (next_ != nullptr) next_->take(record);
}

Status BenchProbe::finish(model::BenchResult& result, std::stop_token stop) {
  if (source_) source_->mark();
  if (!pages_.empty()) {
    if (look_.joinable()) look_.join();
    result.engine_counters.emplace();
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      const auto second = look(pages_[i], stop);
      model::EngineCounters counters;
      counters.url = pages_[i];
      if (i >= first_.size() || !first_[i]) {
        counters.problem = i < first_.size() ? first_[i].error().message : "the measured phase did not begin";
      } else if (!second) {
        counters.problem = second.error().message;
      } else {
        counters = telemetry::counter_changes(pages_[i], *first_[i], *second);
      }
      result.engine_counters->push_back(std::move(counters));
    }
  }
  if (flags_.source.kind == "off") return {};
  if (!source_) {
    model::BenchPower power;
    power.expected_gpus = flags_.expected_gpus;
    power.reasons.push_back({"telemetry_file_missing", no_source_});
    result.power = std::move(power);
    return {};
  }
  // A run that was stopped still has power of what it measured.
  PAWL_ASSIGN(result.power, telemetry::power_of(*source_, result, flags_.expected_gpus, {}));
  if (!flags_.samples.empty()) {
    PAWL_ASSIGN(const auto samples, source_->samples(WallTime{}, {}));
    PAWL_TRY(world_.files.write_atomic(flags_.samples, telemetry::power_csv_text(samples)));
  }
  // What lies before the next point's bracket is not needed again.
  source_->forget(seconds_of(world_.clock.wall().since_epoch) - 30);
  return {};
}

}  // namespace pawl::app
