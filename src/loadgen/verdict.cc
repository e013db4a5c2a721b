#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "loadgen/gather.h"
#include "loadgen/verdict.h"

namespace pawl::loadgen {
namespace {

constexpr double kLagSuspectMs = 1, kLagInvalidMs = 10;
constexpr double kShareSuspect = 0.01;  ///< of the ok requests, or of the load
constexpr double kShortfallInvalid = 0.1;
constexpr double kWriteSuspectMs = 0.2, kWriteInvalidMs = 2;  ///< or 1 % and 10 % of the median TTFT
constexpr double kReadLateMs = 2;                             ///< or half the median gap
constexpr double kJoinedSuspect = 0.05, kJoinedInvalid = 0.1;
constexpr double kIterationSuspectMs = 20;
constexpr double kCpuSuspect = 0.95;

const std::pair<const std::string, std::int64_t>* worst_class(const model::BenchResult& result) {
  const std::pair<const std::string, std::int64_t>* worst = nullptr;
  for (const auto& item : result.failures) {
    if (worst == nullptr || item.second > worst->second) worst = &item;
  }
  return worst;
}

/// The worst class, its count and what it said, for the text of a reason.
std::string common_failure(const model::BenchResult& result, const std::string& example) {
  const auto* worst = worst_class(result);
  return worst == nullptr ? "" : fmt::format(", mostly {} ({}){}{}", worst->first, worst->second, example.empty() ? "" : ": ", example);
}

}  // namespace

bool is_of_client(std::string_view code) {
  constexpr std::array<std::string_view, 9> kCodes{"lag",       "clock-step", "offered-shortfall", "send-stamp", "first-token-joined",
                                                   "coalesced", "user-clock", "slow-loop",         "client-busy"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

void judge(const LoadRequest& load, model::BenchResult& result, const std::string& example) {
  bool invalid = false, suspect = false;
  result.reasons.clear();
  const auto add = [&](bool fatal, std::string code, std::string text) {
    (fatal ? invalid : suspect) = true;
    result.reasons.push_back({std::move(code), std::move(text)});
  };
  const auto flag = [&](const char* name) {
    const auto found = result.flags.find(name);
    return found == result.flags.end() ? std::int64_t{0} : found->second;
  };
  const auto share_of_ok = [&](const char* name) {
    return result.counts.ok == 0 ? 0.0 : static_cast<double>(flag(name)) / static_cast<double>(result.counts.ok);
  };
  // NaN, and so false in every comparison, where the run has no such value.
  const auto metric = [&](const char* name, double model::Distribution::*statistic) {
    const auto found = result.metrics.find(name);
    return found == result.metrics.end() || found->second.n == 0 ? model::kUnknown : found->second.*statistic;
  };
  const model::ClientHealth& client = result.client;
  const bool open = load.arrivals || load.data_set_arrivals;

  const std::int64_t bad = result.counts.failed + result.counts.timeout;
  const double failure_share = result.counts.planned == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(result.counts.planned);
  if (result.counts.ok == 0) {
    add(true, "nothing-succeeded", fmt::format("no request of {} succeeded{}", result.counts.planned, common_failure(result, example)));
  } else if (failure_share > load.failure_share_max) {
    add(true, "failure-share",
        fmt::format("{:.1f} % of the requests failed, more than {:.1f} %{}", failure_share * 100, load.failure_share_max * 100,
                    common_failure(result, example)));
  }
  if (flag("order_violation") > 0)
    add(true, "order", fmt::format("the moments of {} requests are out of order: a defect of this client", flag("order_violation")));
  if (client.stopped) add(false, "stopped", fmt::format("stopped by the user: {} requests were cancelled", result.counts.cancelled));

  // ── was the load offered that was asked for ──
  // A closed loop that gathers wake-ups fills a free slot up to one window late; `send` is stamped at the write all the same.
  const double window_ms = !open && client.gathered_share > 0 ? millis_of(Gather::kWindow) : 0;
  if (const double lag = metric("lag_ms", &model::Distribution::p99); lag > kLagSuspectMs + window_ms) {
    const bool fatal = lag > kLagInvalidMs;
    add(fatal, "lag", fmt::format("this client sent late: lag p99 {:.2f} ms, limit {} ms", lag, fatal ? kLagInvalidMs : kLagSuspectMs + window_ms));
  }
  if (client.idle_slot_share > kShareSuspect) {
    add(client.idle_slot_share > kShortfallInvalid, "offered-shortfall",
        fmt::format("{:.1f} % of the wanted load was not offered: this client filled its slots late", client.idle_slot_share * 100));
  }
  if (result.counts.planned > 0 && static_cast<double>(result.counts.skipped) > kShareSuspect * static_cast<double>(result.counts.planned)) {
    add(false, "sessions-ended-early",
        fmt::format("{} of {} requests were never sent, because their sessions had failed: less load was offered than planned", result.counts.skipped,
                    result.counts.planned));
  }
  if (result.counts.planned > 0 && static_cast<double>(result.counts.censored) > kShareSuspect * static_cast<double>(result.counts.planned)) {
    add(false, "censored",
        fmt::format("{} of {} requests still ran at the end of the drain: the slowest are missing from the latencies", result.counts.censored,
                    result.counts.planned));
  }

  // ── are the times right ──
  const double ttft = metric("ttft_ms", &model::Distribution::p50), gap = metric("gap_ms", &model::Distribution::p50);
  if (client.write_p99_ms > std::max(kWriteSuspectMs, 0.01 * ttft)) {
    add(client.write_p99_ms > std::max(kWriteInvalidMs, 0.1 * ttft), "send-stamp",
        fmt::format("this client was held up while it sent: true TTFTs may be up to {:.2f} ms lower (p99)", client.write_p99_ms));
  }
  // Events that wait to be read join into one read with one time, that of the last. It is this client's doing when it reads
  // late on the scale of the gaps; else the server sent them together.
  const double late = result.clock == "kernel" ? metric("rx_delay_ms", &model::Distribution::p99) : client.iteration_p99_ms;
  const bool reads_late = late > std::max(kReadLateMs, 0.5 * gap);
  if (reads_late && client.joined_first_share > kShareSuspect) {
    add(client.joined_first_share > kJoinedInvalid, "first-token-joined",
        fmt::format(
            "in {:.1f} % of the answers the first token was read together with later ones, since this client read late (p99 {:.1f} ms): TTFT is too high",
            client.joined_first_share * 100, late));
  }
  const double events = static_cast<double>(flag("token_events")), joined = events > 0 ? static_cast<double>(flag("coalesced_events")) / events : 0;
  if (reads_late && joined > kJoinedSuspect) {
    add(false, "coalesced",
        fmt::format("{:.1f} % of the token events share the time of another, since this client read late (p99 {:.1f} ms)", joined * 100, late));
  }
  if (result.clock == "user" && client.iteration_p99_ms > std::max(1.0, 0.01 * ttft)) {
    add(false, "user-clock",
        fmt::format("receive times are this client's own, and it was busy for up to {:.1f} ms (p99): times may be so much too high", client.iteration_p99_ms));
  }
  if (client.iteration_p99_ms > kIterationSuspectMs) {
    add(false, "slow-loop", fmt::format("one round of this client took {:.1f} ms (p99), limit {} ms", client.iteration_p99_ms, kIterationSuspectMs));
  }
  if (client.cpu_share > kCpuSuspect) {
    add(false, "client-busy", fmt::format("a thread of this client used {:.0f} % of its core; give it more --threads or less load", client.cpu_share * 100));
  }
  if (flag("clock_steps") > 0) {
    add(false, "clock-step", fmt::format("the calendar clock was set during the run ({} times): receive times may be off; measure again", flag("clock_steps")));
  }

  // ── is it what was asked for ──
  if (const double share = share_of_ok("osl_mismatch"); share > kShareSuspect) {
    add(false, "osl-mismatch", fmt::format("{:.1f} % of the answers are not as long as asked", share * 100));
  }
  if (const double share = share_of_ok("isl_mismatch"); share > kShareSuspect) {
    add(false, "isl-mismatch", fmt::format("the server counts other input lengths than were sent for {:.1f} % of the prompts", share * 100));
  }
  if (const double share = share_of_ok("cached_prompt"); share > kShareSuspect) {
    add(false, "cached-prompts",
        fmt::format("{:.1f} % of the prompts were in the server's cache already: their TTFT is too good; use another seed, or empty the cache", share * 100));
  }
  if (const double share = share_of_ok("single_burst"); share > kShareSuspect) {
    add(false, "single-burst", fmt::format("{:.1f} % of the answers came in one piece: nothing is known of their token times", share * 100));
  }
  if (const double share = share_of_ok("approximate"); share > kShareSuspect) {
    add(false, "approximate-tokens", fmt::format("{:.1f} % of the answers have no token count from the server", share * 100));
  }
  result.verdict = invalid ? "INVALID" : suspect ? "SUSPECT" : "VALID";
}

}  // namespace pawl::loadgen
