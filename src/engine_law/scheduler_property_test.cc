// What must hold of every schedule, whatever comes: for arbitrary laws, requests, arrivals and cancellations.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "engine_law/scheduler.h"
#include "engine_law/simulation.h"

namespace pawl::engine_law {
namespace {

struct Case {
  Law law;
  std::int64_t max_running = 1;
  std::vector<Work> works;
  std::vector<Nanos> arrivals;         ///< one a request, not falling
  std::vector<std::size_t> cancelled;  ///< requests that are cancelled after their third token
};

rc::Gen<Case> cases() {
  return rc::gen::exec([] {
    Case c;
    Law& law = c.law;
    law.decode_base_ms = *rc::gen::inRange(1, 10);
    law.decode_per_seq_ms = 0.25 * *rc::gen::inRange(0, 8);
    law.decode_exponent = 0.5 + 0.1 * *rc::gen::inRange(0, 6);
    law.decode_per_ktoken_ms = 0.1 * *rc::gen::inRange(0, 5);
    law.prefill_tok_per_ms = *rc::gen::inRange(1, 50);
    law.prefill_base_ms = *rc::gen::inRange(0, 5);
    law.prefill_attention_ms = 0.5 * *rc::gen::inRange(0, 4);
    law.admit_ms = *rc::gen::inRange(0, 20);
    law.jitter = 0.1 * *rc::gen::inRange(0, 3);
    law.chunk_tokens = *rc::gen::inRange(1, 400);
    law.kv_tokens = 300 + *rc::gen::inRange(0, 300);
    law.reserve_share = 0.25 * *rc::gen::inRange(0, 4) + (*rc::gen::arbitrary<bool>() ? 0.25 : 0);
    law.mixed = *rc::gen::arbitrary<bool>();
    law.poll_steps = 1 + *rc::gen::inRange(0, 12);
    if (*rc::gen::arbitrary<bool>()) law.block_tokens = *rc::gen::inRange(1, 40);
    if (*rc::gen::arbitrary<bool>()) law.speculation = Speculation{*rc::gen::inRange(1, 6), 0.2 * *rc::gen::inRange(0, 5), 0.1, 0.125};
    c.max_running = 1 + *rc::gen::inRange(0, 30);
    const int count = 1 + *rc::gen::inRange(0, 40);
    Nanos at{0};
    for (int i = 0; i < count; ++i) {
      Work w;
      w.id = i;
      w.prompt_tokens = *rc::gen::inRange(1, 150);
      w.output_tokens = *rc::gen::inRange(1, 120);
      w.max_output_tokens = w.output_tokens + *rc::gen::inRange(0, 30);
      w.seed = static_cast<std::uint64_t>(i) * 7;
      if (law.block_tokens) {
        // Few different prompts, so that their beginnings are shared.
        const std::uint64_t prompt = *rc::gen::inRange<std::uint64_t>(0, 4);
        std::uint64_t chain = prompt;
        for (std::int64_t b = 0; b < w.prompt_tokens / *law.block_tokens; ++b) w.blocks.push_back(chain = mix(chain, 1));
      }
      c.works.push_back(std::move(w));
      at += Millis{*rc::gen::inRange(0, 15)};
      c.arrivals.push_back(at);
      if (*rc::gen::inRange(0, 8) == 0) c.cancelled.push_back(static_cast<std::size_t>(i));
    }
    return c;
  });
}

TEST(SchedulerProperty, NoTokenIsLostOrderIsKeptTheCacheHoldsAndAllFinish) {
  EXPECT_TRUE(rc::check([] {
    const Case c = *cases();
    Scheduler scheduler(c.law, c.max_running, 3);
    const std::set<std::size_t> cancelled(c.cancelled.begin(), c.cancelled.end());
    std::map<std::int64_t, std::int64_t> tokens;  // so far, a request
    std::set<std::int64_t> finished, gone;
    std::vector<std::int64_t> first_order;
    std::size_t next = 0;
    MonoTime now;
    Iteration it;
    int idle_guard = 0;
    while (true) {
      while (next < c.works.size() && c.arrivals[next] <= now.since_boot) {
        RC_ASSERT(scheduler.submit(c.works[next], now));
        ++next;
      }
      if (!scheduler.next(now, it)) {
        if (next == c.works.size()) break;
        now = MonoTime{c.arrivals[next]};
        continue;
      }
      RC_ASSERT(it.duration > Nanos{0});
      RC_ASSERT(++idle_guard < 200'000);
      now = now + it.duration;
      // The KV cache never holds more than it has room for.
      RC_ASSERT(scheduler.held_tokens() >= 0);
      RC_ASSERT(scheduler.held_tokens() + scheduler.evictable_tokens() <= c.law.kv_tokens);
      RC_ASSERT(scheduler.running() <= c.max_running);
      RC_ASSERT(it.prefill_tokens <= c.law.chunk_tokens);
      if (!c.law.is_mixed()) RC_ASSERT(it.prefill_tokens == 0 || it.decode_batch == 0);
      for (const TokenRun& t : it.tokens) {
        const Work& w = c.works[static_cast<std::size_t>(t.id)];
        if (gone.contains(t.id)) continue;  // named by the iteration that was planned before the cancellation
        RC_ASSERT(!finished.contains(t.id));
        RC_ASSERT(t.index == tokens[t.id]);  // nothing skipped, nothing twice, also over a preemption
        RC_ASSERT(t.count >= 1);
        if (t.index == 0) first_order.push_back(t.id);
        tokens[t.id] += t.count;
        RC_ASSERT(tokens[t.id] <= w.output_tokens);
        RC_ASSERT(t.last == (tokens[t.id] == w.output_tokens));
        if (t.last) finished.insert(t.id);
        if (!t.last && tokens[t.id] >= 3 && cancelled.contains(static_cast<std::size_t>(t.id))) {
          RC_ASSERT(scheduler.cancel(t.id));
          gone.insert(t.id);
        }
      }
    }
    for (const Work& w : c.works) RC_ASSERT(finished.contains(w.id) || gone.contains(w.id));
    // First come, first served: no first token overtakes that of an older request.
    RC_ASSERT(std::is_sorted(first_order.begin(), first_order.end()));
    RC_ASSERT(scheduler.held_tokens() == 0);
    RC_ASSERT(scheduler.running() == 0 && scheduler.waiting() == 0);
    RC_TAG(scheduler.preemptions() > 0 ? "preempted" : "never preempted");
  }));
}

TEST(SchedulerProperty, ThroughputDoesNotFallWithTheBatchUntilItIsFull) {
  EXPECT_TRUE(rc::check([] {
    Deployment d;
    d.law.decode_base_ms = *rc::gen::inRange(1, 20);
    d.law.decode_per_seq_ms = 0.1 * *rc::gen::inRange(1, 20);
    d.law.decode_exponent = 0.5 + 0.1 * *rc::gen::inRange(0, 6);
    d.law.decode_per_ktoken_ms = 0.02 * *rc::gen::inRange(0, 10);
    d.law.prefill_tok_per_ms = *rc::gen::inRange(20, 80);
    d.law.chunk_tokens = 4096;
    d.law.kv_tokens = 10'000'000;
    d.law.mixed = *rc::gen::arbitrary<bool>();
    d.max_running = 32;
    double before = 0;
    for (const std::int64_t concurrency : {1, 2, 4, 8, 16, 32}) {
      const Outcome got = simulate(d, {concurrency, concurrency * 6, 128, 64, 1, 5});
      // Requests of equal length move in lockstep; where their waves break adds a few percent either way.
      RC_ASSERT(got.output_tok_s > before * 0.97);
      before = got.output_tok_s;
    }
    // Saturated: more in flight than may run changes nothing but the waiting.
    const Outcome more = simulate(d, {64, 64 * 6, 128, 64, 1, 5});
    RC_ASSERT(more.output_tok_s > before * 0.9 && more.output_tok_s < before * 1.1);
    RC_ASSERT(more.ttft_mean_ms > 0);
  }));
}

TEST(SchedulerProperty, TheSameCallsGiveTheSameIterations) {
  EXPECT_TRUE(rc::check([] {
    const Case c = *cases();
    std::vector<std::int64_t> runs[2];
    for (auto& run : runs) {
      Scheduler scheduler(c.law, c.max_running, 9);
      MonoTime now;
      for (const Work& w : c.works) RC_ASSERT(scheduler.submit(w, now));
      Iteration it;
      while (scheduler.next(now, it)) {
        now = now + it.duration;
        run.push_back(it.duration.count());
        for (const TokenRun& t : it.tokens) run.push_back(t.id * 1000 + t.index);
      }
    }
    RC_ASSERT(runs[0] == runs[1]);
  }));
}

}  // namespace
}  // namespace pawl::engine_law
