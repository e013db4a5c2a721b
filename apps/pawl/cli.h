#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "codec/json.h"
#include "io/assets.h"
#include "io/clock.h"
#include "io/commands.h"
#include "io/files.h"
#include "io/processes.h"
#include "io/progress.h"

namespace pawl::app {

/// The real world, built once in main and handed down. References outlive every command.
struct World {
  io::Clock& clock;
  io::Files& files;
  io::Processes& processes;
  io::Commands& commands;
  std::unique_ptr<io::Assets> assets;  ///< set after the flags are read, because of --data
  std::string self;                    ///< path of this program, to start it again
  std::stop_token stop;                ///< fires on SIGINT and SIGTERM
  bool terminal_out = false;           ///< standard output is a terminal
};

/// Flags that every command takes.
struct CommonFlags {
  std::filesystem::path workspace = ".";
  bool workspace_given = false;
  bool json = false;
  bool compat = false;   ///< exit statuses and first words of errors as the reference's programs have them
  std::string progress;  ///< "" (by itself), "json", "none"
  std::filesystem::path data;
};

/// What a command is: parsed flags bound into a function that does the work. It prints its result itself; an Error
/// goes to main, which prints it and maps it to an exit status.
using Action = std::function<Result<ExitStatus>(World&, const CommonFlags&)>;

/// Collects the commands; main runs the selected one.
struct Cli {
  CLI::App& root;
  CommonFlags& flags;
  Action selected;

  /// Adds a command under `parent` with the common flags, and with examples under its help.
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples);
};

/// Prints `document` to standard output as one JSON document.
void print_json(const codec::Json& document);

/// Progress for long work as the flags and the terminal want it.
[[nodiscard]] std::unique_ptr<io::Progress> make_progress(const World& world, const CommonFlags& flags);

// One function a command family, each in its own file.
void add_bench_command(Cli& cli);
void add_tokenize_command(Cli& cli);
void add_twin_command(Cli& cli);
void add_twin_plan_commands(Cli& cli, CLI::App& twin);
void add_twin_launch_commands(Cli& cli, CLI::App& twin);
void add_job_command(Cli& cli);
void add_upgrade_commands(Cli& cli);
void add_matrix_commands(Cli& cli);
void add_catalog_commands(Cli& cli);
void add_image_commands(Cli& cli);
void add_priority_command(Cli& cli);
void add_sweep_commands(Cli& cli);
void add_change_request_commands(Cli& cli);
void add_serve_command(Cli& cli);
void add_results_commands(Cli& cli);
void add_store_commands(Cli& cli);
void add_baseline_commands(Cli& cli);
void add_demo_command(Cli& cli);
void add_schema_command(Cli& cli);
void add_completion_command(Cli& cli);
void add_changelog_commands(Cli& cli);
void add_compat_commands(Cli& cli);
void add_upstream_commands(Cli& cli);
void add_power_commands(Cli& cli);
void add_evidence_command(Cli& cli);
void add_eval_commands(Cli& cli);

}  // namespace pawl::app
