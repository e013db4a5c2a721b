#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "measure/record.h"

namespace pawl::benchout {

/// What a run looks like while it goes: rates, tokens and latencies of the requests that ended in the last seconds, as
/// numbers for programs and as a few lines for a terminal. No clock of its own.
class LiveStatus {
 public:
  void begin(MonoTime origin) { origin_ = origin; }
  void take(const measure::RequestRecord& record);

  struct View {
    MonoTime now;
    std::string stage;
    std::optional<std::int64_t> done, total;
    std::int64_t in_flight = 0;
  };
  /// The last ten seconds as numbers: requests_per_s, output_tokens_per_s, ttft_ms, gap_ms, failed, eta_s.
  [[nodiscard]] std::map<std::string, double> numbers(const View& view) const;
  /// Four lines of at most `width` columns, without line ends. `colour`: with ANSI colours.
  [[nodiscard]] std::vector<std::string> lines(const View& view, std::size_t width, bool colour) const;

 private:
  struct Second {
    std::int64_t ok = 0, failed = 0, tokens = 0, ttft_n = 0, gap_n = 0;
    double ttft_ms = 0, gap_ms = 0;
  };
  static constexpr std::size_t kKept = 120;  ///< seconds for the sparklines
  [[nodiscard]] Second last_seconds(MonoTime now, std::int64_t seconds) const;

  std::optional<MonoTime> origin_;
  std::int64_t first_second_ = 0;  ///< number of the first one kept
  std::deque<Second> seconds_;
  std::int64_t ok_ = 0, failed_ = 0;
};

/// Values as bars of eight heights, scaled to the largest; a blank where there is none.
[[nodiscard]] std::string sparkline(const std::vector<std::optional<double>>& values);

}  // namespace pawl::benchout
