#include "twin/scheduler.h"

#include <algorithm>
#include <cmath>

#include "twin/mix.h"

namespace pawl::twin {

bool Scheduler::submit(const Work& work, MonoTime now) {
  if (work.prompt_tokens + work.reserve_tokens > law_.kv_tokens) return false;
  waiting_.push_back({work, now + Nanos(std::llround(law_.admit_ms * 1e6))});
  return true;
}

void Scheduler::release(const Sequence& sequence) {
  reserved_ -= sequence.work.prompt_tokens + sequence.work.reserve_tokens;
  resident_ -= sequence.prefilled + sequence.produced;
}

void Scheduler::cancel(RequestId id) {
  std::erase_if(waiting_, [id](const Sequence& s) { return s.work.id == id; });
  for (auto* list : {&prefilling_, &decoding_}) {
    const auto found = std::ranges::find_if(*list, [id](const Sequence& s) { return s.work.id == id; });
    if (found == list->end()) continue;
    release(*found);
    list->erase(found);
  }
}

double Scheduler::jitter() { return 1 + law_.jitter * (2 * unit(mix(seed_, iterations_)) - 1); }

std::optional<Scheduler::Iteration> Scheduler::next(MonoTime now) {
  Iteration step;
  while (!waiting_.empty() && waiting_.front().eligible <= now && running() < max_running_) {
    const Work& work = waiting_.front().work;
    // First come, first served: a small request does not overtake one that waits for room.
    if (reserved_ + work.prompt_tokens + work.reserve_tokens > law_.kv_tokens) break;
    reserved_ += work.prompt_tokens + work.reserve_tokens;
    prefilling_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (running() == 0) {
    if (waiting_.empty()) return std::nullopt;
    step.duration = std::max(Nanos{1}, waiting_.front().eligible - now);
    return step;
  }
  ++iterations_;

  double ms = 0;
  if (!decoding_.empty()) {
    step.decode_batch = static_cast<std::int64_t>(decoding_.size());
    ms += law_.decode_base_ms + law_.decode_per_seq_ms * std::pow(static_cast<double>(step.decode_batch), law_.decode_exponent) +
          law_.decode_per_ktoken_ms * static_cast<double>(resident_) / 1000;
  }
  for (Sequence& s : decoding_) {
    ++s.produced;
    ++resident_;
    step.tokens.push_back({s.work.id, s.produced - 1, s.produced >= s.work.output_tokens});
  }

  std::int64_t budget = law_.chunk_tokens;
  std::size_t through = 0;
  for (Sequence& s : prefilling_) {
    if (budget == 0) break;
    const std::int64_t part = std::min(budget, s.work.prompt_tokens - s.prefilled);
    if (s.prefilled == 0) ++step.new_sequences;
    s.prefilled += part;
    resident_ += part;
    budget -= part;
    step.prefill_tokens += part;
    if (s.prefilled < s.work.prompt_tokens) break;
    ++s.produced;
    ++resident_;
    step.tokens.push_back({s.work.id, 0, s.work.output_tokens <= 1});
    ++through;
  }
  if (step.prefill_tokens > 0) ms += law_.prefill_base_ms + static_cast<double>(step.prefill_tokens) / law_.prefill_tok_per_ms;
  std::move(prefilling_.begin(), prefilling_.begin() + static_cast<std::ptrdiff_t>(through), std::back_inserter(decoding_));
  prefilling_.erase(prefilling_.begin(), prefilling_.begin() + static_cast<std::ptrdiff_t>(through));

  std::erase_if(decoding_, [this](const Sequence& s) {
    if (s.produced < s.work.output_tokens) return false;
    release(s);
    return true;
  });
  step.duration = std::max(Nanos{1000}, Nanos(std::llround(ms * jitter() * 1e6)));
  return step;
}

}  // namespace pawl::twin
