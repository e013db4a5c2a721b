#include "twin/engine.h"

namespace pawl::twin {
namespace {

constexpr Nanos kLate = Millis{5};
/// Behind by more than this the engine gives up catching up: a burst of tokens would be worse than a pause.
constexpr Nanos kHopeless = Millis{250};

}  // namespace

Engine::Engine(const io::Clock& clock, const engine_law::Deployment& deployment, std::uint64_t seed, Observer observer)
    : clock_(clock), observer_(std::move(observer)), fleet_(deployment, seed), thread_([this](std::stop_token stop) { loop(std::move(stop)); }) {}

Engine::~Engine() {
  thread_.request_stop();
  thread_.join();
}

bool Engine::submit(engine_law::Work work, std::shared_ptr<TokenSink> sink) {
  {
    const std::lock_guard lock(mutex_);
    work.id = ++last_id_;
    if (!fleet_.submit(work, clock_.now())) return false;
    sinks_.emplace(work.id, std::move(sink));
  }
  work_.notify_one();
  return true;
}

EngineCounters Engine::counters() const {
  const std::lock_guard lock(mutex_);
  EngineCounters out = counters_;
  out.running = fleet_.running();
  out.waiting = fleet_.waiting();
  out.resident_tokens = fleet_.held_tokens();
  return out;
}

void Engine::deliver(const engine_law::Iteration& iteration) {
  for (const engine_law::TokenRun& token : iteration.tokens) {
    std::shared_ptr<TokenSink> sink;
    {
      const std::lock_guard lock(mutex_);
      const auto found = sinks_.find(token.id);
      if (found == sinks_.end()) continue;
      sink = found->second;
      if (token.last) sinks_.erase(found);
    }
    // Without the lock: a sink may take its time, and a new request must not wait for it.
    bool wanted = true;
    for (std::int64_t i = 0; i < token.count && wanted; ++i) wanted = sink->on_token(token.index + i, token.last && i + 1 == token.count);
    if (wanted || token.last) continue;
    const std::lock_guard lock(mutex_);
    fleet_.cancel(token.id);
    sinks_.erase(token.id);
  }
}

void Engine::loop(std::stop_token stop) {
  MonoTime window = clock_.now();
  std::int64_t window_tokens = 0;
  engine_law::Iteration seen_iteration;
  const engine_law::Iteration* iteration = &seen_iteration;
  while (!stop.stop_requested()) {
    std::optional<MonoTime> end;
    {
      std::unique_lock lock(mutex_);
      end = fleet_.next();
      if (!end) {
        counters_.tokens_per_s = 0;
        work_.wait(lock, stop, [this] { return fleet_.next().has_value(); });
        window = clock_.now();
        window_tokens = 0;
        continue;
      }
    }
    if (!clock_.sleep_until(*end, stop)) return;
    const MonoTime now = clock_.now();
    {
      const std::lock_guard lock(mutex_);
      const auto event = fleet_.advance(now, kHopeless);
      if (!event) continue;
      seen_iteration = *event->iteration;
    }
    deliver(seen_iteration);

    std::int64_t tokens = 0;
    for (const auto& t : iteration->tokens) tokens += t.count;
    window_tokens += tokens;
    EngineCounters seen;
    {
      const std::lock_guard lock(mutex_);
      counters_.prompt_tokens += iteration->prefill_tokens;
      counters_.output_tokens += tokens;
      if (now - *end > kLate) ++counters_.late_iterations;
      if (now - window >= Seconds{1}) {
        counters_.tokens_per_s = static_cast<double>(window_tokens) / seconds_of(now - window);
        window = now;
        window_tokens = 0;
      }
      seen = counters_;
      seen.running = fleet_.running();
      seen.waiting = fleet_.waiting();
      seen.resident_tokens = fleet_.held_tokens();
    }
    if (observer_) observer_(*iteration, seen);
  }
}

}  // namespace pawl::twin
