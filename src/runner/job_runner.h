#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/assets.h"
#include "io/clock.h"
#include "io/commands.h"
#include "io/files.h"
#include "io/processes.h"
#include "io/progress.h"
#include "model/job.h"

namespace pawl::runner {

/// What a job needs of the world. References outlive the job.
struct JobWorld {
  io::Clock& clock;
  io::Files& files;
  io::Processes& processes;
  const io::Assets& assets;
  io::Commands& commands;
};

/// What is wrong with a spec that could be read; the error names the field.
[[nodiscard]] Status check_spec(const model::JobSpec& spec);

/// Reads and checks the text of a spec.json; `name` starts every error.
[[nodiscard]] Result<model::JobSpec> parse_spec(std::string_view text, const std::string& name);

/// The result in `folder` if it answers the spec.json that stands there now, else nothing.
[[nodiscard]] Result<std::optional<model::JobResult>> finished_result(const io::Files& files, const std::filesystem::path& folder);

/// Starts the engine, waits until it serves, measures or evaluates, ends the engine, and writes result.json in `folder`
/// (which holds spec.json), whole or not at all; of an eval also artifacts/samples.jsonl. Call it on a thread that lives
/// as long as the program, best the main thread (see EngineProcess). Blocks for at most timeout_s of the spec and the
/// few seconds that ending the engine takes.
///
/// A job that failed is no Error: the result says why, and is written too. A bench whose verdict is INVALID is a result;
/// one without a single good request is a failure of the engine.
/// Errors: kCancelled when `stop` fired (no result.json: a resumed run runs it again), a spec that is wrong, and files
/// that cannot be read or written.
[[nodiscard]] Result<model::JobResult> run_job(const model::JobSpec& spec, const std::filesystem::path& folder, const JobWorld& world, io::Progress& progress,
                                               std::stop_token stop);

}  // namespace pawl::runner
