#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/files.h"
#include "telemetry/power_samples.h"

namespace pawl::telemetry {

/// What the moments without a zone in a file mean.
enum class NaiveTime { kLocal, kUtc };

/// Samples of a file.
struct PowerCsv {
  std::vector<PowerSample> samples;
  std::vector<model::PowerReason> problems;  ///< timestamp_column_missing, power_column_missing, …; then there are no samples
  std::string power_column;
};

/// Reads the CSV of nvidia-smi, amd-smi and the like (sweep-run-results 6.3): columns by name; moments as epoch seconds,
/// epoch milliseconds, `Y/m/d H:M:S[.f]` or ISO 8601; power as the first number of its cell. A header that stands again, blank
/// lines and a last line without its end are passed over.
[[nodiscard]] PowerCsv read_power_csv(std::string_view text, NaiveTime naive);

/// The samples as such a file: timestamp (epoch seconds), index, power.draw [W], and clocks where known.
[[nodiscard]] std::string power_csv_text(const std::vector<PowerSample>& samples);

/// A moment of such a file as unix seconds; nothing when it is none.
[[nodiscard]] std::optional<double> parse_moment(std::string_view text, NaiveTime naive);

/// Judges a file of samples (`source` "file"): the reasons of the window, then of the file, then of its samples.
[[nodiscard]] model::BenchPower judge_file(const io::Files& files, const std::filesystem::path& path, const Window& window, const PowerRules& rules,
                                           NaiveTime naive);

}  // namespace pawl::telemetry
