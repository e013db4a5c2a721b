#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "loadgen/load.h"

namespace pawl::app {

/// The flags of `pawl bench` that say how load is offered and over which connections.
struct LoadFlags {
  // how much and how long
  std::optional<std::int64_t> concurrency;
  std::optional<double> rate;
  std::string arrivals = "poisson";
  double burstiness = 1;
  std::vector<std::string> stages;
  bool trace_times = false;
  double trace_speed = 1;
  double duration_s = 0, ramp_s = 0;
  std::optional<double> drain_s;
  // connections
  double timeout_s = 600, connect_timeout_s = 10, first_token_timeout_s = 0, idle_timeout_s = 0;
  bool replay_stale = false;
  // bodies
  std::string extra_body;  ///< JSON, or @FILE
  std::filesystem::path tools;
  bool echo = false;
  std::vector<std::string> headers;
  std::filesystem::path key_file, ca_file;
  bool insecure = false;
  std::string server_name;
  // this client
  std::int64_t threads = 0;
  std::string gather = "auto";
  // several points
  std::vector<std::int64_t> sweep_concurrency;
  std::vector<double> sweep_rate;
  bool paired = false;  ///< every point has the same prompts
  bool find_max_rate = false;
  std::vector<std::string> slo;
  double probe_s = 20;
};

void add_load_flags(CLI::App& app, LoadFlags& flags);

/// Writes them into a request. Errors: kInvalid for what does not fit together, for a file that cannot be read.
Status apply(const LoadFlags& flags, std::int64_t seed, loadgen::LoadRequest& load);

/// Sets the rate of a request, with the arrivals that the flags name.
void set_rate(const LoadFlags& flags, double rate_per_s, loadgen::LoadRequest& load);

}  // namespace pawl::app
