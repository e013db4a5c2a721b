#include "engine_law/fleet.h"

#include <algorithm>
#include <cmath>

namespace pawl::engine_law {

Fleet::Fleet(const Deployment& deployment, std::uint64_t seed) : deployment_(deployment) {
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, deployment.ranks); ++i) {
    decode_.push_back({Scheduler(deployment.law, deployment.max_running, mix(seed, static_cast<std::uint64_t>(i))), {}, {}, 1});
  }
  if (!deployment.prefill) return;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, deployment.prefill->ranks); ++i) {
    prefill_.push_back({Scheduler(deployment.prefill->law, deployment.max_running, mix(seed, 1000 + static_cast<std::uint64_t>(i))), {}, {}, 1});
  }
}

Fleet::Rank& Fleet::least(std::vector<Rank>& ranks) const {
  const auto load = [](const Rank& r) { return r.scheduler.running() + r.scheduler.waiting(); };
  return *std::ranges::min_element(ranks, {}, load);
}

bool Fleet::submit(const Work& work, MonoTime now) {
  if (prefill_.empty()) {
    Rank& rank = least(decode_);
    if (!rank.scheduler.submit(work, now)) return false;
    if (deployment_.lockstep) {
      if (std::ranges::none_of(decode_, [](const Rank& r) { return r.end.has_value(); })) plan_together(now);
    } else if (!rank.end) {
      plan(rank, now);
    }
    return true;
  }
  if (work.prompt_tokens + work.max_output_tokens > deployment_.law.kv_tokens) return false;
  Work first = work;
  first.output_tokens = first.max_output_tokens = 1;
  Rank& rank = least(prefill_);
  if (!rank.scheduler.submit(first, now)) return false;
  in_prefill_.push_back(work);
  if (!rank.end) plan(rank, now);
  return true;
}

void Fleet::cancel(std::int64_t id) {
  for (auto* ranks : {&prefill_, &decode_}) {
    for (Rank& rank : *ranks) {
      if (rank.scheduler.cancel(id)) break;
    }
  }
  std::erase_if(in_prefill_, [id](const Work& w) { return w.id == id; });
  std::erase_if(transfers_, [id](const Transfer& t) { return t.work.id == id; });
}

void Fleet::plan(Rank& rank, MonoTime from) {
  rank.scheduler.set_slowdown(slowdown_ * rank.slow);
  rank.end.reset();
  if (rank.scheduler.next(from, rank.iteration)) rank.end = from + rank.iteration.duration;
}

void Fleet::plan_together(MonoTime from) {
  // A rank that only waits for an arrival does not hold up those that work.
  std::optional<MonoTime> last, wait;
  for (Rank& rank : decode_) {
    plan(rank, from);
    if (!rank.end) continue;
    if (rank.iteration.decode_batch > 0 || rank.iteration.prefill_tokens > 0) {
      last = last ? std::max(*last, *rank.end) : *rank.end;
    } else {
      wait = wait ? std::min(*wait, *rank.end) : *rank.end;
    }
  }
  if (!last) last = wait;
  for (Rank& rank : decode_) {
    if (rank.end) rank.end = last;
  }
}

Fleet::Rank* Fleet::soonest(std::vector<Rank>& ranks) const {
  Rank* best = nullptr;
  for (Rank& rank : ranks) {
    if (rank.end && (best == nullptr || *rank.end < *best->end)) best = &rank;
  }
  return best;
}

std::optional<MonoTime> Fleet::next() const {
  std::optional<MonoTime> soonest;
  const auto consider = [&](MonoTime t) {
    if (!soonest || t < *soonest) soonest = t;
  };
  for (const auto* ranks : {&prefill_, &decode_}) {
    for (const Rank& rank : *ranks) {
      if (rank.end) consider(*rank.end);
    }
  }
  if (!transfers_.empty()) consider(transfers_.front().at);
  return soonest;
}

std::optional<FleetEvent> Fleet::advance(MonoTime now, Nanos hopeless) {
  const auto due = next();
  if (!due || *due > now) return std::nullopt;
  const auto start_after = [&](MonoTime end) { return now - end > hopeless ? now : end; };

  if (!transfers_.empty() && transfers_.front().at == *due) {
    const Transfer transfer = std::move(transfers_.front());
    transfers_.erase(transfers_.begin());
    arrival_ = {};
    arrival_.tokens.push_back({transfer.work.id, 0, 1, transfer.work.output_tokens <= 1});
    const std::int64_t rank = std::distance(decode_.data(), &least(decode_));
    if (transfer.work.output_tokens > 1) {
      Rank& to = decode_[static_cast<std::size_t>(rank)];
      Work rest = transfer.work;
      rest.produced = 1;
      static_cast<void>(to.scheduler.submit(rest, transfer.at - Nanos(std::llround(deployment_.law.admit_ms * 1e6))));  // fits: checked when it came
      if (!to.end) plan(to, transfer.at);
    }
    return FleetEvent{transfer.at, rank, false, &arrival_};
  }

  if (Rank* rank = soonest(prefill_); rank != nullptr && *rank->end == *due) {
    std::swap(arrival_, rank->iteration);
    for (const TokenRun& token : arrival_.tokens) {
      const auto work = std::ranges::find(in_prefill_, token.id, &Work::id);
      if (work == in_prefill_.end()) continue;  // cancelled in between
      const double ms = deployment_.prefill->transfer_base_ms + static_cast<double>(work->prompt_tokens) / deployment_.prefill->transfer_tok_per_ms;
      const MonoTime at = *due + Nanos(std::llround(ms * 1e6));
      const auto place = std::ranges::upper_bound(transfers_, at, {}, &Transfer::at);
      transfers_.insert(place, {at, std::move(*work)});
      in_prefill_.erase(work);
    }
    arrival_.tokens.clear();
    plan(*rank, start_after(*due));
    return FleetEvent{*due, std::distance(prefill_.data(), rank), true, &arrival_};
  }

  Rank* rank = soonest(decode_);
  std::swap(arrival_, rank->iteration);
  const FleetEvent event{*due, std::distance(decode_.data(), rank), false, &arrival_};
  if (!deployment_.lockstep) {
    plan(*rank, start_after(*due));
    return event;
  }
  rank->end.reset();
  if (std::ranges::none_of(decode_, [](const Rank& r) { return r.end.has_value(); })) plan_together(start_after(*due));
  return event;
}

std::int64_t Fleet::running() const {
  std::int64_t n = static_cast<std::int64_t>(transfers_.size());
  for (const auto* ranks : {&prefill_, &decode_}) {
    for (const Rank& r : *ranks) n += r.scheduler.running();
  }
  return n;
}

std::int64_t Fleet::waiting() const {
  std::int64_t n = 0;
  for (const auto* ranks : {&prefill_, &decode_}) {
    for (const Rank& r : *ranks) n += r.scheduler.waiting();
  }
  return n;
}

std::int64_t Fleet::held_tokens() const {
  std::int64_t n = 0;
  for (const Rank& r : decode_) n += r.scheduler.held_tokens();
  return n;
}

std::int64_t Fleet::kv_tokens() const {
  std::int64_t n = 0;
  for (const Rank& r : decode_) n += r.scheduler.kv_tokens();
  return n;
}

std::int64_t Fleet::preemptions() const {
  std::int64_t n = 0;
  for (const Rank& r : decode_) n += r.scheduler.preemptions();
  return n;
}

void Fleet::set_slowdown(double factor) { slowdown_ = factor; }

void Fleet::set_slow_rank(std::int64_t rank, double factor) {
  if (rank >= 0 && rank < ranks()) decode_[static_cast<std::size_t>(rank)].slow = factor;
}

bool Fleet::shrink(std::int64_t tokens) {
  bool fits = true;
  for (Rank& r : decode_) fits = r.scheduler.shrink(tokens) && fits;
  return fits;
}

void Fleet::flush_cache() {
  for (auto* ranks : {&prefill_, &decode_}) {
    for (Rank& r : *ranks) r.scheduler.flush_cache();
  }
}

}  // namespace pawl::engine_law
