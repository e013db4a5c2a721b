#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchout/formats.h"
#include "benchout/run_info.h"
#include "cli.h"
#include "measure/observer.h"
#include "measure/record_json.h"
#include "measure/summary.h"
#include "model/bench_result.h"

namespace pawl::app {

/// The flags of `pawl bench` that say what is made of a run.
struct BenchOutputFlags {
  std::vector<std::string> outputs;  ///< FORMAT:PATH
  std::filesystem::path records, report;
  std::vector<std::string> slo;       ///< METRIC:BOUND
  std::vector<std::string> profiles;  ///< names, or "all"
  std::string metrics = "ttft,tpot,itl", percentiles = "99";
  bool detailed = false;
  std::string label, tag;
  std::vector<std::string> metadata;  ///< KEY=VALUE
};

/// Adds them to a command, in a group of their own.
void add_bench_output_options(CLI::App& app, BenchOutputFlags& flags);

/// Gathers a run while it goes and writes its files when it is over. Records go to their file (or, when only a format
/// needs them, to a temporary one) as they come.
class BenchOutputs final : public measure::RunObserver {
 public:
  /// Checks the flags and opens the file of records. `head`: what is known of the run.
  static Result<std::unique_ptr<BenchOutputs>> open(const BenchOutputFlags& flags, measure::RecordsHead head);
  ~BenchOutputs() override;

  void begin(MonoTime origin, WallTime wall) override;
  void first_request(std::string_view head, std::string_view body) override;
  void take(const measure::RequestRecord& record) override;

  /// What the formats name beside the result; to be filled in by the caller before `finish`.
  benchout::RunInfo info;
  std::optional<std::int64_t> target_in_flight;  ///< closed loop: the cap
  /// Nobody else computes the numbers (a replay of records): `fill_all` and `finish` take them from here.
  bool summarises = false;
  /// What the files need computed, for whoever computes the numbers.
  [[nodiscard]] const measure::SummaryOptions& wanted() const { return options_; }

  /// Writes everything that follows from the records into a result that nothing else filled.
  void fill_all(model::BenchResult& result) const;
  /// Completes the result with what was gathered and writes every file. Nothing is half-written: each appears whole.
  Status finish(model::BenchResult& result, World& world);

 private:
  BenchOutputs() = default;
  Status write_line(const std::string& line);
  [[nodiscard]] benchout::Records records() const;
  Result<std::string> render(benchout::Format format, const model::BenchResult& result) const;
  Status write(const benchout::Output& output, const model::BenchResult& result, World& world);
  Status write_aiperf(const std::filesystem::path& folder, const model::BenchResult& result, World& world);

  BenchOutputFlags flags_;
  std::vector<benchout::Output> outputs_;
  measure::SummaryOptions options_;
  measure::RecordsHead head_;

  mutable std::mutex mutex_;
  std::optional<measure::Summary> summary_;
  std::optional<model::BenchFirstRequest> first_request_;
  benchout::Anchor anchor_;
  std::FILE* file_ = nullptr;
  std::string write_error_;
  std::string line_;                                              ///< reused
  std::vector<std::pair<std::int64_t, std::int64_t>> positions_;  ///< index and offset of each line
  std::int64_t at_ = 0;
  bool reads_back_ = false;  ///< a format needs the records again
};

/// A result document, or the result computed anew from a file of records.
[[nodiscard]] Result<model::BenchResult> load_bench_file(const std::filesystem::path& path, const BenchOutputFlags& flags, World& world,
                                                         std::unique_ptr<BenchOutputs>& outputs);

/// Adds `pawl bench show` and `pawl bench compare` under `bench`.
void add_bench_file_commands(Cli& cli, CLI::App& bench);

}  // namespace pawl::app
