#include "runner/job_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <thread>
#include <tuple>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "codec/json.h"
#include "evals/engine_claims.h"
#include "evals/evaluation.h"
#include "evals/task.h"
#include "loadgen/load.h"
#include "runner/engine_process.h"
#include "runner/job_power.h"
#include "runner/package_environment.h"

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;
using model::FailureClass;
using model::JobFailure;
using model::JobResult;
using model::JobSpec;

constexpr Nanos kWatchEvery = Millis{100};

/// The node's own name in its cluster, else that of the machine.
std::string node_name() {
  if (const char* node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') return node;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

JobFailure failure_of(const Error& error) {
  switch (error.cls) {
    case ErrorClass::kInvalid:
    case ErrorClass::kNotFound:
      return {FailureClass::kConfig, error.message, {}};
    case ErrorClass::kTransient:
    case ErrorClass::kUnknownOutcome:
      return {FailureClass::kEngine, error.message, {}};
    case ErrorClass::kConflict:
    case ErrorClass::kExhausted:
      return {FailureClass::kInfrastructure, error.message, {}};
    case ErrorClass::kCancelled:
      return {FailureClass::kCancelled, error.message, {}};
    case ErrorClass::kInternal:
      break;
  }
  return {FailureClass::kInternal, error.message, {}};
}

/// Ends the work when the engine has ended, when the time of the job is over, or when somebody asks to stop; says which
/// one it was.
class Watch {
 public:
  enum class Reason { kNone, kStop, kTimeout, kEngineEnded };

  Watch(EngineProcess& engine, io::Clock& clock, MonoTime deadline, std::stop_token stop)
      : outer_(std::move(stop), [this] { end(Reason::kStop); }), thread_([this, &engine, &clock, deadline](std::stop_token done) {
          while (!done.stop_requested()) {
            if (engine.ended(std::min(kWatchEvery, std::max(Nanos{0}, deadline - clock.now())), done)) return end(Reason::kEngineEnded);
            if (clock.now() >= deadline) return end(Reason::kTimeout);
          }
        }) {}

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  [[nodiscard]] Reason reason() const { return reason_; }

 private:
  void end(Reason why) {
    Reason none = Reason::kNone;
    reason_.compare_exchange_strong(none, why);
    source_.request_stop();
  }

  std::atomic<Reason> reason_ = Reason::kNone;
  std::stop_source source_;
  std::stop_callback<std::function<void()>> outer_;
  std::jthread thread_;
};

loadgen::LoadRequest load_request(const JobSpec& spec, const std::string& url) {
  loadgen::LoadRequest request;
  request.url = url;
  request.backend = spec.load->backend;
  request.model = spec.engine.served_model;
  request.isl = spec.load->isl;
  request.osl = spec.load->osl;
  request.range_ratio = spec.load->range_ratio;
  request.concurrency = spec.load->concurrency;
  request.requests = spec.load->requests;
  request.warmups = spec.load->warmups;
  request.seed = spec.load->seed;
  return request;
}

std::string counted(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

/// The measurement itself, into `result`; a failure otherwise.
JobOutcome<void> measure(const JobSpec& spec, const std::optional<evals::Task>& task, EngineProcess& engine, const JobWorld& world, MonoTime deadline,
                         const fs::path& folder, JobResult& result, io::Progress& progress, std::stop_token stop) {
  const auto power = spec.kind == model::JobKind::kBenchmark ? JobPower::open(spec, world.clock, world.files, world.processes) : nullptr;
  Watch watch(engine, world.clock, deadline, stop);
  std::optional<Error> error;
  if (spec.kind == model::JobKind::kBenchmark) {
    loadgen::LoadRequest request = load_request(spec, engine.url());
    request.observer = power.get();
    auto bench = loadgen::run_load(request, progress, watch.token());
    if (bench) {
      if (power) power->finish(*bench, folder);
      result.bench = std::move(*bench);
    } else {
      error = std::move(bench).error();
    }
  } else {
    evals::EvalOptions options;
    options.url = engine.url();
    options.model = spec.engine.served_model;
    options.concurrency = spec.eval->concurrency;
    options.limit = spec.eval->limit;
    options.model_prefix = spec.row.value("model-prefix", std::string());
    const auto contradictions = evals::contradictions(spec.row, spec.engine.served_model, evals::ask_claims(options.url, watch.token()));
    auto eval = evals::run_eval(*task, options, progress, watch.token());
    if (eval) {
      evals::invalidate(*eval, contradictions);
      result.eval = std::move(*eval);
    } else {
      error = std::move(eval).error();
    }
  }
  const auto fail = [&](JobFailure failure) -> JobOutcome<void> {
    result.bench.reset();
    result.eval.reset();
    return std::unexpected(std::move(failure));
  };
  const char* const what = spec.kind == model::JobKind::kBenchmark ? "the benchmark" : "the eval";
  // Its end explains whatever else was seen; it may have come after the last look of the watch.
  if (watch.reason() == Watch::Reason::kEngineEnded || engine.ended(Nanos{0}, {})) return fail(engine.death(fmt::format("during {}", what)));
  if (error) {
    if (error->cls == ErrorClass::kCancelled && watch.reason() == Watch::Reason::kTimeout) {
      return fail({FailureClass::kTimeout, fmt::format("{} was not done within the {:.0f} s of the job", what, spec.timeout_s), engine.last_lines()});
    }
    JobFailure failure = failure_of(*error);
    failure.evidence = engine.last_lines();
    return fail(std::move(failure));
  }
  if (result.bench && result.bench->counts.ok == 0) {
    return fail({FailureClass::kEngine,
                 fmt::format("none of {} requests succeeded{}{}", result.bench->counts.planned, result.bench->failures.empty() ? "" : ": ",
                             counted(result.bench->failures)),
                 engine.last_lines()});
  }
  if (result.eval && result.eval->n_eff == 0) {
    return fail({FailureClass::kEngine, fmt::format("none of {} questions was answered", result.eval->n_requested), engine.last_lines()});
  }
  return {};
}

/// From the start of the engine to its end.
JobOutcome<void> run(const JobSpec& spec, const fs::path& folder, const JobWorld& world, JobResult& result, io::Progress& progress, std::stop_token stop) {
  const MonoTime deadline = world.clock.now() + Nanos{std::llround(std::min(spec.timeout_s, 1e9) * 1e9)};
  // Read before anything is started: a wrong name costs no engine start.
  std::optional<evals::Task> task;
  if (spec.kind == model::JobKind::kEval) {
    auto loaded = evals::load_task(world.assets, spec.eval->task);
    if (!loaded) {
      const auto& place = loaded.error().place;
      return std::unexpected(
          JobFailure{FailureClass::kConfig,
                     place ? fmt::format("{}:{}:{}: {}", place->file, place->line, place->column, loaded.error().message) : loaded.error().message,
                     {}});
    }
    task = std::move(*loaded);
  }
  model::EngineSpec to_start = spec.engine;
  if (spec.engine.package) {
    auto environment = prepare_package(*spec.engine.package, environment_cache(), world.files, world.commands, progress, stop);
    if (!environment) return std::unexpected(std::move(environment).error());
    for (auto& [name, value] : to_start.env) value = replace_all(value, "{environment}", environment->folder.string());
    result.image_digest = environment->digest;
  }
  progress.report({"engine", fmt::format("starting {}", spec.engine.argv.front())});
  auto engine = EngineProcess::launch(to_start, folder, world.clock, world.files, world.processes);
  if (!engine) return std::unexpected(std::move(engine).error());
  const MonoTime started = world.clock.now();
  if (auto ready = (*engine)->wait_ready(deadline - started, stop); !ready) return ready;
  progress.report({"engine", fmt::format("ready after {:.1f} s", seconds_of(world.clock.now() - started))});
  result.engine_version = (*engine)->version(stop);
  result.engine_args = (*engine)->command_line();
  result.engine_config = (*engine)->config();
  auto measured = measure(spec, task, **engine, world, deadline, folder, result, progress, stop);
  (*engine)->stop();
  return measured;
}

Status write_samples(const io::Files& files, const fs::path& folder, const model::EvalResult& eval) {
  std::string lines;
  for (const model::EvalSample& sample : eval.samples) lines += codec::write_json(codec::to_json(sample), codec::JsonForm::kCompactUtf8) + "\n";
  return files.write_atomic(folder / "artifacts" / "samples.jsonl", lines);
}

}  // namespace

Status check_spec(const JobSpec& spec) {
  const auto wrong = [](const std::string& text) { return bad_input("job spec: " + text); };
  if (spec.schema != JobSpec().schema) return wrong(fmt::format("schema: expected {}, found {}", JobSpec().schema, spec.schema));
  if (spec.engine.argv.empty()) return wrong("engine.argv: expected at least the program");
  if (!spec.engine.health_path.starts_with('/')) return wrong("engine.health_path: expected a path that starts with /");
  if (!(spec.engine.ready_timeout_s > 0)) return wrong("engine.ready_timeout_s: expected a number of seconds above 0");
  if (spec.engine.files) {
    for (const auto& [path, content] : *spec.engine.files) {
      const fs::path normal = fs::path(path).lexically_normal();
      if (path.empty() || normal.is_absolute() || *normal.begin() == "..") return wrong(fmt::format("engine.files: {} leaves the folder of the job", path));
    }
  }
  if (!(spec.timeout_s > 0)) return wrong("timeout_s: expected a number of seconds above 0");
  if (spec.kind == model::JobKind::kBenchmark) {
    if (!spec.load) return wrong("load: missing, and the kind is benchmark");
    const model::LoadSpec& load = *spec.load;
    for (const auto& [name, value, least] : std::initializer_list<std::tuple<const char*, std::int64_t, std::int64_t>>{
             {"isl", load.isl, 1}, {"osl", load.osl, 1}, {"concurrency", load.concurrency, 1}, {"requests", load.requests, 1}, {"warmups", load.warmups, 0}}) {
      if (value < least) return wrong(fmt::format("load.{}: expected at least {}, found {}", name, least, value));
    }
    if (!(load.range_ratio > 0 && load.range_ratio <= 1)) return wrong("load.range_ratio: expected a number above 0 and at most 1");
  } else {
    if (!spec.eval) return wrong("eval: missing, and the kind is eval");
    if (spec.eval->concurrency < 1) return wrong("eval.concurrency: expected at least 1");
    if (spec.eval->limit && *spec.eval->limit < 1) return wrong("eval.limit: expected at least 1");
  }
  return {};
}

Result<JobSpec> parse_spec(std::string_view text, const std::string& name) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, name));
  PAWL_ASSIGN(JobSpec spec, codec::from_json<JobSpec>(json, name));
  PAWL_TRY(check_spec(spec));
  return spec;
}

Result<std::optional<JobResult>> finished_result(const io::Files& files, const fs::path& folder) {
  const fs::path path = folder / "result.json";
  if (!files.exists(path)) return std::optional<JobResult>();
  PAWL_ASSIGN(const std::string spec_text, files.read(folder / "spec.json"));
  PAWL_ASSIGN(const std::string text, files.read(path));
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(text, path.string()));
  PAWL_ASSIGN(JobResult result, codec::from_json<JobResult>(json, "result.json", codec::UnknownKeys::kIgnore));
  if (result.spec_sha256 != sha256_hex(spec_text)) return std::optional<JobResult>();
  return std::optional<JobResult>(std::move(result));
}

Result<JobResult> run_job(const JobSpec& spec, const fs::path& folder_given, const JobWorld& world, io::Progress& progress, std::stop_token stop) {
  const fs::path folder = fs::absolute(folder_given);
  PAWL_TRY(check_spec(spec));
  PAWL_ASSIGN(const std::string spec_text, world.files.read(folder / "spec.json"));
  // What answers an earlier spec must not be taken for the result of this one when this one is stopped.
  PAWL_TRY(world.files.remove_tree(folder / "result.json"));
  JobResult result;
  result.run = spec.run;
  result.attempt = spec.attempt;
  result.job = spec.job;
  result.kind = spec.kind;
  result.node = node_name();
  if (const char* digest = std::getenv("PAWL_IMAGE_DIGEST"); digest != nullptr && *digest != '\0') result.image_digest = digest;
  result.spec_sha256 = sha256_hex(spec_text);
  result.started = iso_utc(world.clock.wall());
  auto outcome = run(spec, folder, world, result, progress, stop);
  // Whatever was seen after a request to stop may be its consequence.
  if (stop.stop_requested()) return cancelled();
  if (!outcome) result.failure = std::move(outcome).error();
  result.ended = iso_utc(world.clock.wall());
  // The samples first: a result.json says that everything of the job is there.
  if (result.eval) PAWL_TRY(write_samples(world.files, folder, *result.eval));
  PAWL_TRY(world.files.write_atomic(folder / "result.json", codec::write_json_pretty(codec::to_json(result))));
  return result;
}

}  // namespace pawl::runner
