#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli.h"
#include "tokenizer/tokenizer.h"
#include "workload/workload.h"

namespace pawl::app {

/// Flags of `pawl bench` about what is asked.
struct WorkloadFlags {
  std::string dataset = "random";
  std::filesystem::path path, tokenizer;
  std::string form;  ///< "ids", "text"; empty: what the back end likes best
  std::optional<std::int64_t> isl, osl;
  std::optional<double> range_ratio;
  std::string range_profile = "inferencex";
  std::int64_t overhead = 0, vocabulary = 30000, seed = 0;
  std::uint64_t salt = 0;
  bool repeat = false, no_limits = false;
  std::string order = "shuffle";
  std::string prefix_levels;
  std::optional<double> hit_ratio;
  std::int64_t prefix_groups = 1, block_tokens = 16;
  std::int64_t turns = 0;
  std::optional<std::int64_t> turn_isl;
  double think_time_ms = 0;
  std::string history = "live";
  double idle_cap_s = 300;
  double pause_speed = 1;  ///< pauses within a weka session are divided by it (--trace-speed); arrivals are scaled by the driver
  std::int64_t max_input = 0;
};
void add_workload_options(CLI::App& app, WorkloadFlags& flags);
/// Examples for the help of the command.
[[nodiscard]] const char* workload_examples();

/// Reads a tokenizer: a file, or a folder that holds one of tokenizer.json, tekken.json, tokenizer.model.
[[nodiscard]] Result<std::shared_ptr<const tokenizer::Tokenizer>> read_tokenizer(const io::Files& files, const std::filesystem::path& path);

/// Makes the workload. `best`: the form that the back end likes best. `requests`: as the user asked; nothing lets a data
/// set with rows give all of them, and any other `fallback_requests`.
[[nodiscard]] Result<std::shared_ptr<const workload::Workload>> make_bench_workload(const WorkloadFlags& flags, const World& world, workload::Form best,
                                                                                    std::optional<std::int64_t> requests, std::int64_t fallback_requests);

/// What the data set turned out to be, a line each; printed before the first request (BC-10.7, BC-10.10).
[[nodiscard]] std::string describe_workload(const workload::Description& description);

}  // namespace pawl::app
