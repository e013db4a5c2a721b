#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "loadgen/summary.h"

namespace pawl::loadgen {
namespace {

constexpr double kLagSuspectMs = 1, kLagInvalidMs = 10;
constexpr double kShareSuspect = 0.01;  ///< of the ok requests

constexpr std::size_t kExampleBytes = 240;

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

std::string failure_example(const PhaseLog& log, const model::BenchResult& result) {
  const auto* worst = worst_class(result);
  if (worst == nullptr) return {};
  const auto found = std::ranges::find_if(log.records, [&](const RequestRecord& record) { return record.failure == worst->first && !record.detail.empty(); });
  if (found == log.records.end()) return {};
  // A server's bytes: only what a terminal shows harmlessly, on one line.
  std::string out;
  for (const char c : found->detail) {
    if (out.size() == kExampleBytes) return out + "…";
    const bool plain = c >= ' ' && c <= '~';
    if (plain || (!out.empty() && out.back() != ' ')) out += plain ? c : ' ';
  }
  return std::string(trim(out));
}

void judge(const LoadRequest& load, model::BenchResult& result, const std::string& example) {
  bool invalid = false, suspect = false;
  result.reasons.clear();
  const auto add = [&](bool fatal, std::string code, std::string text) {
    (fatal ? invalid : suspect) = true;
    result.reasons.push_back({std::move(code), std::move(text)});
  };
  const auto share_of_ok = [&](const char* flag) {
    const auto found = result.flags.find(flag);
    return found == result.flags.end() || result.counts.ok == 0 ? 0.0 : static_cast<double>(found->second) / static_cast<double>(result.counts.ok);
  };

  const std::int64_t bad = result.counts.failed + result.counts.timeout;
  const double failure_share = result.counts.planned == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(result.counts.planned);
  if (result.counts.ok == 0) {
    add(true, "nothing-succeeded", fmt::format("no request of {} succeeded{}", result.counts.planned, common_failure(result, example)));
  } else if (failure_share > load.failure_share_max) {
    add(true, "failure-share",
        fmt::format("{:.1f} % of the requests failed, more than {:.1f} %{}", failure_share * 100, load.failure_share_max * 100,
                    common_failure(result, example)));
  }
  if (const auto lag = result.metrics.find("lag_ms"); lag != result.metrics.end() && lag->second.p99 > kLagSuspectMs) {
    const bool fatal = lag->second.p99 > kLagInvalidMs;
    add(fatal, "lag", fmt::format("this client sent late: lag p99 {:.2f} ms, limit {} ms", lag->second.p99, fatal ? kLagInvalidMs : kLagSuspectMs));
  }
  if (result.flags.contains("clock_steps")) {
    add(false, "clock-step", fmt::format("the calendar clock was set during the run ({} times): receive times may be off; measure again", result.flags["clock_steps"]));
  }
  if (const double share = share_of_ok("osl_mismatch"); share > kShareSuspect) {
    add(false, "osl-mismatch", fmt::format("{:.1f} % of the answers are not as long as asked", share * 100));
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
