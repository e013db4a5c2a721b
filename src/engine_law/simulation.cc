#include "engine_law/simulation.h"

#include <algorithm>
#include <cmath>

#include "stats/moments.h"
#include "stats/percentile.h"

namespace pawl::engine_law {
namespace {

struct Seen {
  MonoTime sent, first, last;
  std::int64_t input = 0, output = 0;
};

}  // namespace

Outcome simulate(const Deployment& deployment, const ClosedLoop& load, std::uint64_t seed) {
  Fleet fleet(deployment, seed);
  std::vector<Seen> seen(static_cast<std::size_t>(load.requests));
  Outcome out;
  std::size_t next = 0;
  const auto length = [&](std::size_t which, std::int64_t most) {
    // Evenly spread numbers, not independent ones (the additive recurrence R2, Roberts 2018): a few requests then have the
    // mean length of many.
    constexpr double kStep[2] = {0.7548776662466927, 0.5698402909980532};
    const double turn = unit(mix(load.seed, which)) + kStep[which] * static_cast<double>(next);
    const double share = load.range_ratio + (1 - load.range_ratio) * (turn - std::floor(turn));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(most) * share));
  };
  const auto send = [&](MonoTime now) {
    for (; next < seen.size(); ++next) {
      Seen& s = seen[next];
      s = {now, now, now, length(0, load.isl), length(1, load.osl)};
      Work work;
      work.id = static_cast<std::int64_t>(next);
      work.prompt_tokens = s.input;
      work.output_tokens = work.max_output_tokens = s.output;
      work.seed = next;
      if (fleet.submit(work, now)) {
        ++next;
        return;
      }
      ++out.refused;
      s.output = 0;
    }
  };
  for (std::int64_t i = 0; i < load.concurrency; ++i) send(MonoTime{});
  MonoTime end;
  while (const auto due = fleet.next()) {
    const auto event = fleet.advance(*due);
    if (!event) break;
    for (const TokenRun& token : event->iteration->tokens) {
      Seen& s = seen[static_cast<std::size_t>(token.id)];
      if (token.index == 0) s.first = event->at;
      if (!token.last) continue;
      s.last = end = event->at;
      send(event->at);
    }
  }
  std::vector<double> ttft, tpot, e2e;
  for (const Seen& s : seen) {
    if (s.output == 0) continue;
    ++out.requests;
    out.input_tokens += s.input;
    out.output_tokens += s.output;
    ttft.push_back(millis_of(s.first - s.sent));
    e2e.push_back(millis_of(s.last - s.sent));
    if (s.output > 1) tpot.push_back(millis_of(s.last - s.first) / static_cast<double>(s.output - 1));
  }
  out.preemptions = fleet.preemptions();
  out.duration_s = seconds_of(end.since_boot);
  if (ttft.empty() || out.duration_s <= 0) return out;
  out.total_tok_s = static_cast<double>(out.input_tokens + out.output_tokens) / out.duration_s;
  out.output_tok_s = static_cast<double>(out.output_tokens) / out.duration_s;
  out.ttft_mean_ms = stats::mean(ttft);
  out.ttft_median_ms = stats::percentile(ttft, 50);
  out.ttft_p99_ms = stats::percentile(ttft, 99);
  out.e2e_mean_ms = stats::mean(e2e);
  out.e2e_median_ms = stats::percentile(e2e, 50);
  if (!tpot.empty()) {
    out.tpot_mean_ms = stats::mean(tpot);
    out.tpot_median_ms = stats::percentile(tpot, 50);
  }
  return out;
}

}  // namespace pawl::engine_law
