#include "twin/engine.h"

namespace pawl::twin {
namespace {

constexpr Nanos kLate = Millis{5};
/// Behind by more than this the engine gives up catching up: a burst of tokens would be worse than a pause.
constexpr Nanos kHopeless = Millis{250};

}  // namespace

Engine::Engine(const io::Clock& clock, const Law& law, std::int64_t max_running, std::uint64_t seed, Observer observer)
    : clock_(clock), observer_(std::move(observer)), scheduler_(law, max_running, seed), thread_([this](std::stop_token stop) { loop(std::move(stop)); }) {}

Engine::~Engine() {
  thread_.request_stop();
  thread_.join();
}

bool Engine::submit(Scheduler::Work work, std::shared_ptr<TokenSink> sink) {
  {
    const std::lock_guard lock(mutex_);
    work.id = ++last_id_;
    if (!scheduler_.submit(work, clock_.now())) return false;
    sinks_.emplace(work.id, std::move(sink));
  }
  work_.notify_one();
  return true;
}

EngineCounters Engine::counters() const {
  const std::lock_guard lock(mutex_);
  EngineCounters out = counters_;
  out.running = scheduler_.running();
  out.waiting = scheduler_.waiting();
  out.resident_tokens = scheduler_.resident_tokens();
  return out;
}

void Engine::deliver(const Scheduler::Iteration& iteration) {
  for (const Scheduler::Token& token : iteration.tokens) {
    std::shared_ptr<TokenSink> sink;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sinks_.find(token.id);
      if (found == sinks_.end()) continue;
      sink = found->second;
      if (token.last) sinks_.erase(found);
    }
    // Without the lock: a sink may take its time, and a new request must not wait for it.
    if (sink->on_token(token.index, token.last) || token.last) continue;
    const std::lock_guard lock(mutex_);
    scheduler_.cancel(token.id);
    sinks_.erase(token.id);
  }
}

void Engine::loop(std::stop_token stop) {
  MonoTime start = clock_.now();
  MonoTime window = start;
  std::int64_t window_tokens = 0;
  while (!stop.stop_requested()) {
    std::optional<Scheduler::Iteration> iteration;
    {
      std::unique_lock lock(mutex_);
      iteration = scheduler_.next(start);
      if (!iteration) {
        counters_.tokens_per_s = 0;
        work_.wait(lock, stop, [this] { return scheduler_.waiting() > 0; });
        start = window = clock_.now();
        window_tokens = 0;
        continue;
      }
    }
    const MonoTime end = start + iteration->duration;
    if (!clock_.sleep_until(end, stop)) return;
    const MonoTime now = clock_.now();
    deliver(*iteration);
    start = now - end > kHopeless ? now : end;

    window_tokens += static_cast<std::int64_t>(iteration->tokens.size());
    EngineCounters seen;
    {
      const std::lock_guard lock(mutex_);
      counters_.prompt_tokens += iteration->prefill_tokens;
      counters_.output_tokens += static_cast<std::int64_t>(iteration->tokens.size());
      if (now - end > kLate) ++counters_.late_iterations;
      if (now - window >= Seconds{1}) {
        counters_.tokens_per_s = static_cast<double>(window_tokens) / seconds_of(now - window);
        window = now;
        window_tokens = 0;
      }
      seen = counters_;
      seen.running = scheduler_.running();
      seen.waiting = scheduler_.waiting();
      seen.resident_tokens = scheduler_.resident_tokens();
    }
    if (observer_) observer_(*iteration, seen);
  }
}

}  // namespace pawl::twin
