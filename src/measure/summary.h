#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/profiles.h"
#include "measure/record.h"
#include "measure/request_metrics.h"
#include "measure/samples.h"
#include "model/bench_result.h"

namespace pawl::measure {

/// A term of a service level objective: `metric` ≤ `bound` (BC-12.1).
struct SloTerm {
  std::string metric;  ///< key of a metric of §7: "ttft_ms"
  double bound = 0;    ///< in the unit of the key
};
/// Reads "ttft:200" or "ttft_ms:200". Error: no such metric, no such number; the message lists the metrics.
[[nodiscard]] Result<SloTerm> parse_slo(std::string_view text);

struct SummaryOptions {
  bool chat = false;               ///< for the profile of InferenceX
  bool allow_approximate = false;  ///< let guessed token counts into rates (BC-6.2)
  std::vector<SloTerm> slo;
  std::vector<Profile> profiles;                 ///< to be computed beside the native values
  double steady_share = 0.9;                     ///< threshold of the steady window: share of the target or of the peak (BC-12.3)
  std::optional<std::int64_t> target_in_flight;  ///< closed loop: the cap. Absent: the peak counts
  Spill* spill = nullptr;                        ///< for runs of more requests than memory should hold; must outlive the summary
};

/// Everything that a result says of its requests, taken up one finished request at a time. One for each worker; `merge`
/// makes one of them, equal to what a single thread would have got. Not thread-safe.
///
/// Memory: at most about 20 MiB whatever the number of requests, with a spill (without one 25 numbers a request are kept):
/// 17 blocks of 1,024 rows, two sample sets a metric list, the timeline (about 100 bytes a second).
class Summary {
 public:
  /// `origin`: the moment from which the timeline counts; no later than the first send.
  Summary(SummaryOptions options, MonoTime origin);

  /// Takes a request that is over, of any phase and outcome. Nothing of the record is kept.
  void add(const RequestRecord& record);
  /// Takes over what another one gathered. Same options and origin.
  void merge(const Summary& other);

  /// Writes counts, totals, rates, distributions and `details` into the result; leaves identity, clock, wall times, verdict
  /// and flags of the driver alone. Adds to `flags`.
  void fill(model::BenchResult& result) const;

  /// Earliest send and latest end of measured requests of any outcome but skipped (BC-8.3).
  [[nodiscard]] std::optional<MonoTime> first_send() const { return first_send_; }
  [[nodiscard]] std::optional<MonoTime> last_end() const { return last_end_; }
  [[nodiscard]] const model::RequestCounts& counts() const { return counts_; }
  /// What the first failure of the most common class said, on one harmless line; empty without failures.
  [[nodiscard]] std::string failure_example() const;

 private:
  struct Second {
    std::int64_t started = 0, ok = 0, failed = 0, token_events = 0, tokens = 0, ttft_n = 0, gap_n = 0;
    double ttft_sum = 0, gap_sum = 0;
  };
  void count(const RequestRecord& record);
  void add_ok(const RequestRecord& record);
  void add_partial(const RequestRecord& record);
  void add_events(const RequestRecord& record);
  [[nodiscard]] bool is_good(const RequestRecord& record) const;
  Second& second_of(MonoTime at);
  [[nodiscard]] double since_origin_ms(MonoTime at) const { return millis_of(at - origin_); }
  void fill_rates(model::BenchResult& result) const;
  void fill_in_flight(model::BenchResult& result) const;
  void fill_timeline(model::BenchDetails& details) const;

  SummaryOptions options_;
  MonoTime origin_;
  RequestMetrics metrics_;  ///< reused

  model::RequestCounts counts_;
  std::map<std::string, std::int64_t> phases_, failures_, flags_, osl_source_, isl_source_;
  std::map<std::string, std::string> failure_examples_;
  std::int64_t input_tokens_ = 0, output_tokens_ = 0, partial_tokens_ = 0;
  std::optional<std::int64_t> cached_tokens_;
  std::int64_t counted_ok_ = 0;      ///< ok requests whose output count is no guess
  bool every_event_counted_ = true;  ///< every token event of an ok request says how many tokens it has
  std::int64_t good_ = 0;
  std::optional<MonoTime> first_send_, last_send_, last_end_;
  std::int64_t sends_ = 0;

  RequestTable ok_;       ///< the metrics of §7 of ok requests
  RequestTable partial_;  ///< of those that did not succeed: ttft, time alive, tokens
  RequestTable spans_;    ///< send and end of all that were sent, ms since the origin; NaN for an end that is unknown; 1 for ok
  SampleSet gap_, itl_;
  std::vector<Second> seconds_;
  std::vector<double> tenths_;  ///< tokens of ok requests by tenth of a second, for the steady window; spread over the events where counts are unknown
  std::vector<ProfileSummary> profiles_;
};

}  // namespace pawl::measure
