#include "engine_law/scheduler.h"

#include <algorithm>
#include <cmath>

namespace pawl::engine_law {
namespace {

/// Share of the KV cache that an admission leaves free while others run: without it a request is admitted into the room
/// that the next decode step needs, and sent back at once (vLLM keeps the same watermark).
constexpr double kWatermark = 0.01;
/// Until the next look, when nothing that runs has room to go on (only after a leak).
constexpr Nanos kStuck = Millis{10};

}  // namespace

bool Scheduler::submit(const Work& work, MonoTime now) {
  if (work.prompt_tokens + work.max_output_tokens > kv_tokens_) return false;
  Sequence s;
  s.work = work;
  s.eligible = now + Nanos(std::llround(law_.admit_ms * 1e6));
  s.arrival = ++arrivals_;
  s.produced = work.produced;
  s.came_computed = work.produced > 0;
  if (block() == 0) s.work.blocks.clear();
  waiting_.push_back(std::move(s));
  return true;
}

std::int64_t Scheduler::reserve(const Sequence& s) const {
  return static_cast<std::int64_t>(law_.reserve_share * static_cast<double>(s.work.max_output_tokens - s.produced));
}

std::int64_t Scheduler::step_tokens(const Sequence& s) const {
  std::int64_t tokens = 1;
  if (law_.speculation && law_.speculation->draft_tokens > 0) {
    // One draw decides how many of the draft hold: P(at least n) = acceptance^n. It depends on the request and its own
    // progress only, so that the same request gets the same steps whatever else runs.
    const double u = 1 - unit(mix(mix(seed_, s.work.seed), static_cast<std::uint64_t>(s.produced)));
    const double held = law_.speculation->acceptance > 0 ? std::floor(std::log(u) / std::log(law_.speculation->acceptance)) : 0;
    tokens += static_cast<std::int64_t>(std::min(held, static_cast<double>(law_.speculation->draft_tokens)));
  }
  return std::min(tokens, s.work.output_tokens - s.produced);
}

std::int64_t Scheduler::growth() const {
  if (!law_.speculation) return static_cast<std::int64_t>(decoding_.size());
  std::int64_t tokens = 0;
  for (const Sequence& s : decoding_) tokens += step_tokens(s);
  return tokens;
}

void Scheduler::release(Sequence& s) {
  held_ -= s.held;
  promised_ -= s.target - s.computed + reserve(s);
  for (std::int64_t i = s.shared; i-- > 0;) {
    if (cache_.unpin(s.work.blocks[static_cast<std::size_t>(i)])) held_ -= block();
  }
  s.held = s.shared = s.computed = s.target = 0;
}

bool Scheduler::cancel(std::int64_t id) {
  const auto is_it = [id](const Sequence& s) { return s.work.id == id; };
  if (std::erase_if(waiting_, is_it) > 0) return true;
  for (auto* list : {&prefilling_, &decoding_}) {
    const auto found = std::ranges::find_if(*list, is_it);
    if (found == list->end()) continue;
    release(*found);
    list->erase(found);
    return true;
  }
  return false;
}

bool Scheduler::shrink(std::int64_t tokens) {
  kv_tokens_ = std::max<std::int64_t>(0, kv_tokens_ - tokens);
  const auto fits = [&](const Sequence& s) { return s.work.prompt_tokens + s.work.max_output_tokens <= kv_tokens_; };
  return kv_tokens_ > 0 && std::ranges::all_of(waiting_, fits) && std::ranges::all_of(prefilling_, fits) && std::ranges::all_of(decoding_, fits);
}

void Scheduler::receive(MonoTime now) {
  if (running() > 0 && unpolled_ < law_.poll_steps.value_or(1)) return;
  unpolled_ = 0;
  for (Sequence& s : waiting_) {
    if (s.eligible > now) break;
    s.received = true;
  }
}

void Scheduler::admit(Iteration& out) {
  while (!waiting_.empty() && waiting_.front().received && running() < max_running_) {
    Sequence& s = waiting_.front();
    const std::int64_t context = s.work.prompt_tokens + s.produced;
    // At least one token is always computed: the one that the next token follows from.
    const auto match = block() > 0 && !s.came_computed ? cache_.match(s.work.blocks, (context - 1) / block()) : PrefixCache::Match{};
    const std::int64_t need = context - (match.blocks - match.unpinned) * block() + reserve(s);
    const double watermark = running() > 0 ? kWatermark * static_cast<double>(kv_tokens_) * (1 - law_.reserve_share) : 0;
    // First come, first served: a small request does not overtake one that waits for room.
    if (static_cast<double>(held_ + promised_ + need) + watermark > static_cast<double>(kv_tokens_)) break;
    s.target = context;
    if (s.came_computed) {
      s.computed = s.held = context;
      held_ += context;
    } else {
      for (std::int64_t i = 0; i < match.blocks; ++i) {
        if (cache_.pin(s.work.blocks[static_cast<std::size_t>(i)]) == PrefixCache::Was::kUnpinned) held_ += block();
      }
      s.shared = match.blocks;
      s.computed = match.blocks * block();
      if (s.produced == 0) s.cached = s.computed;
      out.cached_tokens += s.computed;
      ++out.new_sequences;
    }
    promised_ += s.target - s.computed + reserve(s);
    (s.came_computed ? decoding_ : prefilling_).push_back(std::move(s));
    waiting_.pop_front();
  }
}

void Scheduler::preempt_newest(MonoTime now, Iteration& out) {
  std::deque<Sequence>* list = nullptr;
  std::deque<Sequence>::iterator newest;
  for (auto* candidates : {&prefilling_, &decoding_}) {
    for (auto s = candidates->begin(); s != candidates->end(); ++s) {
      if (list != nullptr && s->arrival < newest->arrival) continue;
      list = candidates;
      newest = s;
    }
  }
  Sequence s = std::move(*newest);
  list->erase(newest);
  release(s);
  s.came_computed = false;  // what a prefill pool had sent is gone: it is computed here
  s.eligible = now;
  waiting_.push_front(std::move(s));
  ++out.preempted;
  ++preemptions_;
}

void Scheduler::share_prompt(Sequence& s) {
  const auto whole = std::min<std::int64_t>(static_cast<std::int64_t>(s.work.blocks.size()), block() > 0 ? s.work.prompt_tokens / block() : 0);
  for (; s.shared < whole; ++s.shared) {
    // Computed at the same time by another sequence: one copy stays.
    if (cache_.pin(s.work.blocks[static_cast<std::size_t>(s.shared)]) == PrefixCache::Was::kPinned) held_ -= block();
    s.held -= block();
  }
}

void Scheduler::produce(Sequence& s, std::int64_t count, Iteration& out) {
  const std::int64_t reserved = reserve(s);
  out.tokens.push_back({s.work.id, s.produced, count, s.produced + count >= s.work.output_tokens, s.cached});
  s.produced += count;
  s.target += count;
  s.computed += count;
  s.held += count;
  held_ += count;
  promised_ -= reserved - reserve(s);
}

double Scheduler::decode(Iteration& out) {
  std::int64_t resident = 0;
  for (const Sequence& s : decoding_) resident += s.target;
  out.decode_batch = static_cast<std::int64_t>(decoding_.size());
  for (Sequence& s : decoding_) produce(s, step_tokens(s), out);
  return law_.decode_ms(out.decode_batch, resident);
}

double Scheduler::prefill(Iteration& out) {
  std::int64_t budget = law_.chunk_tokens;
  double before = 0;  // tokens prefilled × tokens of the same sequence before them
  std::size_t through = 0;
  for (Sequence& s : prefilling_) {
    // What decodes in this iteration has taken its room already; one place is for the token that ends a prefill.
    const std::int64_t room = kv_tokens_ - held_ - 1;
    const std::int64_t part = std::min({budget, s.target - s.computed, room});
    if (part <= 0) break;
    before += static_cast<double>(part) * (static_cast<double>(s.computed) + static_cast<double>(part) / 2);
    s.computed += part;
    s.held += part;
    held_ += part;
    promised_ -= part;
    budget -= part;
    out.prefill_tokens += part;
    if (s.computed < s.target) break;
    share_prompt(s);
    produce(s, 1, out);
    ++through;
  }
  const auto end = prefilling_.begin() + static_cast<std::ptrdiff_t>(through);
  std::move(prefilling_.begin(), end, std::back_inserter(decoding_));
  prefilling_.erase(prefilling_.begin(), end);
  return out.prefill_tokens == 0 ? 0 : law_.prefill_ms(out.prefill_tokens, before / static_cast<double>(out.prefill_tokens));
}

void Scheduler::finish() {
  std::erase_if(decoding_, [this](Sequence& s) {
    if (s.produced < s.work.output_tokens) return false;
    release(s);
    return true;
  });
  if (const std::int64_t excess = held_ + evictable_tokens() - kv_tokens_; excess > 0 && block() > 0) cache_.evict((excess + block() - 1) / block());
}

bool Scheduler::next(MonoTime now, Iteration& out) {
  out.tokens.clear();
  out.duration = Nanos{0};
  out.decode_batch = out.new_sequences = out.prefill_tokens = out.cached_tokens = out.preempted = 0;
  receive(now);
  admit(out);
  if (running() == 0) {
    if (waiting_.empty()) return false;
    out.duration = std::max(Nanos{1000}, waiting_.front().eligible - now);
    return true;
  }
  ++iterations_;
  double ms = 0;
  while (out.tokens.empty() && out.prefill_tokens == 0 && running() > 0) {
    bool decodes = !decoding_.empty() && (law_.is_mixed() || prefilling_.empty());
    if (!decodes) {
      ms += prefill(out);
      if (out.prefill_tokens > 0) break;
      decodes = !decoding_.empty();  // no room to prefill: what decodes makes some
    }
    if (decodes) {
      while (held_ + growth() > kv_tokens_ && running() > 1) preempt_newest(now, out);
      if (decoding_.empty()) continue;  // all that decoded were newer than what prefills
      ms += decode(out);
      if (law_.is_mixed()) ms += prefill(out);
      break;
    }
    if (running() == 1) break;  // only after a leak: nothing can be done for it
    preempt_newest(now, out);
  }
  finish();
  unpolled_ = out.prefill_tokens > 0 ? law_.poll_steps.value_or(1) : unpolled_ + 1;
  if (out.tokens.empty() && out.prefill_tokens == 0) {
    out.duration = kStuck;
    return true;
  }
  const double jitter = 1 + law_.jitter * (2 * unit(mix(seed_, iterations_)) - 1);
  out.duration = std::max(Nanos{1000}, Nanos(std::llround(ms * jitter * slowdown_ * 1e6)));
  return true;
}

}  // namespace pawl::engine_law
