#include "telemetry/nvml_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace pawl::telemetry {
namespace {

/// Clocks and throttle reasons are looked at so often at most: they change slowly, and each is a call to the driver.
constexpr Nanos kDetailStep{Millis(500)};
/// What the counter of energy may be behind: it steps about so often (measured on an H200: 97 ms).
constexpr double kCounterStep_s = 0.1;
constexpr Seconds kMarkLimit{2};

class NvmlSource final : public PowerSource {
 public:
  NvmlSource(std::shared_ptr<Nvml> nvml, std::vector<unsigned> gpus, double interval_s, const io::Clock& clock)
      : nvml_(std::move(nvml)), clock_(clock), interval_(static_cast<std::int64_t>(interval_s * 1e9)) {
    info_.source = "nvml";
    info_.interval_s = interval_s;
    info_.detail = fmt::format("driver {}, {}", nvml_->driver(), nvml_->library());
    instant_ = !gpus.empty();
    for (const unsigned gpu : gpus) {
      const auto uuid = nvml_->uuid(gpu);
      gpus_.push_back({gpu, std::to_string(gpu)});
      info_.gpus.push_back({std::to_string(gpu), uuid, nvml_->name(gpu), nvml_->limit_w(gpu)});
      instant_ = instant_ && nvml_->instant_w(gpu).has_value();
    }
    info_.sensor = instant_ ? "instant" : "average of 1 s";
  }

  ~NvmlSource() override {
    sampler_ = {};  // asks it to stop and joins
    reader_ = {};
  }

  Status start() override {
    // One anchor: a step of the calendar's clock while we sample does not tear the samples apart.
    mono_ = clock_.now();
    wall_ = clock_.wall();
    sample_all(true);
    {
      const std::lock_guard lock(mutex_);
      for (const PowerSample& sample : samples_) {
        if (!sample.watts) return machine_error(fmt::format("GPU {} gives no power reading", sample.gpu), "does nvidia-smi show its power?");
      }
    }
    sampler_ = std::jthread([this](std::stop_token stop) { sample_loop(std::move(stop)); });
    reader_ = std::jthread([this](std::stop_token stop) { read_loop(std::move(stop)); });
    return {};
  }

  [[nodiscard]] SourceInfo info() const override { return info_; }

  Result<std::vector<PowerSample>> samples(WallTime until, std::stop_token stop) override {
    const MonoTime limit = clock_.now() + 2 * interval_ + Seconds(2);
    for (;;) {
      {
        const std::lock_guard lock(mutex_);
        if (newest_unix_s_ > seconds_of(until.since_epoch) || clock_.now() >= limit) return samples_;
      }
      if (!clock_.sleep_for(std::min<Nanos>(interval_, Millis(20)), stop)) return cancelled();
    }
  }

  void forget(double before_unix_s) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(samples_, [&](const PowerSample& sample) { return sample.unix_s < before_unix_s; });
  }

  void mark() override {
    {
      const std::lock_guard lock(marks_mutex_);
      ++asked_;
    }
    changed_.notify_all();
  }

  std::optional<model::EnergyCheck> energy_check(const std::vector<PowerSample>& samples) override {
    std::vector<Edge> edges;
    {
      std::unique_lock lock(marks_mutex_);
      changed_.wait_for(lock, kMarkLimit, [&] { return edges_.size() >= asked_; });
      if (edges_.size() < 2 || edges_.size() < asked_) return std::nullopt;
      edges = {edges_[edges_.size() - 2], edges_.back()};
    }
    model::EnergyCheck out;
    double counter = 0, integral = 0, longer = 0, most = 0;
    bool whole = true, longer_whole = true;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const Reading &a = edges[0].readings[i], &b = edges[1].readings[i];
      if (!a.energy_j || !b.energy_j) return std::nullopt;
      counter += *b.energy_j - *a.energy_j;
      const Window window{a.unix_s, b.unix_s};
      const auto own = energy_j(samples, gpus_[i].text, window);
      const auto other = energy_j(samples, gpus_[i].text, window, &PowerSample::longer);
      whole = whole && own;
      longer_whole = longer_whole && other;
      integral += own.value_or(0);
      longer += other.value_or(0);
      double highest = 0;
      for (const PowerSample& sample : samples) {
        if (sample.gpu == gpus_[i].text && sample.watts && sample.unix_s >= a.unix_s && sample.unix_s <= b.unix_s) highest = std::max(highest, *sample.watts);
      }
      most += highest;
    }
    out.begin_unix_s = edges[0].readings.front().unix_s;
    out.end_unix_s = edges[1].readings.front().unix_s;
    out.counter_j = counter;
    out.error_j = most * kCounterStep_s;
    out.read_ms = std::max(edges[0].longest_ms, edges[1].longest_ms);
    if (longer_whole && instant_) out.longer_average_j = longer;
    if (whole) {
      out.samples_j = integral;
      out.difference_j = integral - counter;
      if (counter > 0) out.difference_pct = out.difference_j / counter * 100;
      out.within_error = std::abs(out.difference_j) <= out.error_j;
    }
    return out;
  }

  [[nodiscard]] double sample_cost_us() const override {
    const std::lock_guard lock(mutex_);
    return looks_ > 0 ? static_cast<double>(cost_.count()) / 1000.0 / static_cast<double>(looks_) : model::kUnknown;
  }

 private:
  struct Gpu {
    unsigned index = 0;
    std::string text;
  };
  struct Reading {
    double unix_s = 0;
    std::optional<double> energy_j;
  };
  struct Edge {
    std::vector<Reading> readings;
    double longest_ms = 0;
  };

  [[nodiscard]] double unix_of(MonoTime at) const { return seconds_of((wall_ + (at - mono_)).since_epoch); }

  void sample_all(bool details) {
    std::vector<PowerSample> taken;
    taken.reserve(gpus_.size());
    const MonoTime begin = clock_.now();
    for (const Gpu& gpu : gpus_) {
      PowerSample sample;
      sample.gpu = gpu.text;
      const MonoTime before = clock_.now();
      if (instant_) {
        sample.watts = nvml_->instant_w(gpu.index);
      } else {
        sample.watts = nvml_->average_w(gpu.index);
      }
      const MonoTime after = clock_.now();
      sample.unix_s = unix_of(before + (after - before) / 2);
      if (instant_) sample.longer = nvml_->average_w(gpu.index);
      if (details) {
        sample.sm_mhz = nvml_->sm_clock_mhz(gpu.index);
        sample.throttle = nvml_->throttle(gpu.index);
      }
      taken.push_back(std::move(sample));
    }
    const Nanos cost = clock_.now() - begin;
    const std::lock_guard lock(mutex_);
    cost_ += cost;
    ++looks_;
    newest_unix_s_ = taken.empty() ? 0 : taken.front().unix_s;
    for (PowerSample& sample : taken) samples_.push_back(std::move(sample));
  }

  void sample_loop(std::stop_token stop) {
    MonoTime next = mono_ + interval_, detail = mono_ + kDetailStep;
    while (clock_.sleep_until(next, stop)) {
      const MonoTime now = clock_.now();
      const bool details = now >= detail;
      if (details) detail = now + kDetailStep;
      sample_all(details);
      // On the grid; looks that were missed are not made up for.
      next = std::max(next + interval_, clock_.now());
    }
  }

  void read_loop(std::stop_token stop) {
    std::unique_lock lock(marks_mutex_);
    while (changed_.wait(lock, stop, [&] { return edges_.size() < asked_; })) {
      lock.unlock();
      Edge edge;
      for (const Gpu& gpu : gpus_) {
        const MonoTime before = clock_.now();
        const auto energy = nvml_->energy_j(gpu.index);
        const MonoTime after = clock_.now();
        edge.readings.push_back({unix_of(before + (after - before) / 2), energy});
        edge.longest_ms = std::max(edge.longest_ms, millis_of(after - before));
      }
      lock.lock();
      edges_.push_back(std::move(edge));
      changed_.notify_all();
    }
  }

  const std::shared_ptr<Nvml> nvml_;
  const io::Clock& clock_;
  const Nanos interval_;
  bool instant_ = false;
  std::vector<Gpu> gpus_;
  SourceInfo info_;
  MonoTime mono_;
  WallTime wall_;

  mutable std::mutex mutex_;
  std::vector<PowerSample> samples_;  // this and the next three: guarded by mutex_
  double newest_unix_s_ = 0;
  Nanos cost_{0};
  std::int64_t looks_ = 0;

  std::mutex marks_mutex_;
  std::condition_variable_any changed_;
  std::size_t asked_ = 0;    // guarded by marks_mutex_, with the next
  std::vector<Edge> edges_;  // one a mark

  std::jthread sampler_, reader_;
};

}  // namespace

std::unique_ptr<PowerSource> make_nvml_source(std::shared_ptr<Nvml> nvml, std::vector<unsigned> gpus, double interval_s, const io::Clock& clock) {
  return std::make_unique<NvmlSource>(std::move(nvml), std::move(gpus), interval_s, clock);
}

}  // namespace pawl::telemetry
