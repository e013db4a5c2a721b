#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "results/deployment.h"

namespace pawl::results {

/// One attempt of a run that made rows (api-dashboard 2.1, workflow_runs). Texts that are not known are empty.
struct RunRecord {
  std::int64_t run = 0, attempt = 1;
  std::string name, status, conclusion;
  std::string head_sha, head_branch;
  std::string html_url;                ///< page of the run, without attempt
  std::string created_at, started_at;  ///< ISO 8601, UTC
  std::string date;                    ///< YYYY-MM-DD: the day of publication
  std::string measured_at;             ///< ISO 8601, UTC: when the first row was measured
  std::string published_at;            ///< ISO 8601, UTC: when the store took it
  bool append_only = false;
  std::string dataset;  ///< slug of the replayed data set
  // Of our own runs only.
  std::string recipe, image, digest, scale = "1/1";
  bool simulated = false;
};

/// One measured point (benchmark_results).
struct BenchmarkRecord {
  std::int64_t id = 0;  ///< 0: the store gives one; else kept where it is free
  Deployment deployment;
  std::string benchmark_type = "single_turn";  ///< or "agentic_traces"
  std::optional<std::int64_t> isl, osl;        ///< tokens; absent for agentic_traces
  std::int64_t conc = 0;
  std::string offload_mode = "off";
  std::string image, recipe_fingerprint;  ///< empty: not known
  codec::Json metrics = codec::Json::object();
  codec::Json workers, power_invalid_reasons, power_audit;  ///< null: none
  std::string error;                                        ///< empty: success
  std::string held;                                         ///< why the row is in no default answer (api-dashboard 2.5.5); empty: it is
  std::string measured_at;                                  ///< ISO 8601, UTC
  std::string point_key;                                    ///< `model::point_key` of our own rows; else empty
  std::string log;                                          ///< `LogRecord::name` of the job that measured it; may be empty
  codec::Json raw;                                          ///< our own row as it was published; else null
  /// Import of an answer: the run whose published curve this row was seen in, when that is another run than its own;
  /// 0: none. Answers of an older selection rule stitched curves from several runs.
  std::int64_t curve_run = 0, curve_attempt = 0;
};

/// One answer of an eval (eval_samples).
struct SampleRecord {
  std::int64_t doc_id = 0;
  std::string prompt, target, response, raw_response;
  bool passed = false;
  std::optional<double> score;
  codec::Json metrics = codec::Json::object();
};

/// Accuracy of one task (eval_results).
struct EvalRecord {
  std::int64_t id = 0;
  std::int64_t config_id = 0;  ///< 0: the store gives one to a deployment that it does not know; else kept where it is free
  Deployment deployment;
  std::string task;
  std::optional<std::int64_t> isl, osl, conc;
  codec::Json metrics = codec::Json::object();
  std::string timestamp;  ///< ISO 8601, UTC
  std::string point_key;
  codec::Json raw;
  /// Import: which of several rows that the answer does not tell apart (it leaves isl and osl out); 0: the only one.
  std::int64_t copy = 0;
  std::vector<SampleRecord> samples;
};

/// A file that a job's servers wrote. UTF-8, without NUL.
struct LogRecord {
  std::string name;  ///< of the job: what its artifacts' names have in common
  std::string file;  ///< relative to its artifact
  std::string text;
};

struct ChangelogRecord {
  std::string base_ref, head_ref, description, pr_link;
  std::vector<std::string> config_keys;
  bool append_only = false;
};

/// How many jobs of one kind of hardware succeeded.
struct RunStatRecord {
  std::string hardware;
  std::int64_t n_success = 0, total = 0;
};

/// What another server says that it has, where its rows are not here.
struct AvailabilityRecord {
  std::string model, hardware, framework, precision, spec_method, benchmark_type = "single_turn", date;
  std::optional<std::int64_t> isl, osl;
  bool disagg = false;
};

/// Everything of one run attempt.
struct RunBatch {
  RunRecord run;
  std::vector<BenchmarkRecord> rows;
  std::vector<EvalRecord> evals;
  std::vector<ChangelogRecord> changelog;
  std::vector<RunStatRecord> stats;
  std::vector<LogRecord> logs;
};

/// What makes two rows of one run attempt the same row (api-dashboard 2.1: the columns of its unique keys, with nulls not
/// distinct). `config` is the id of the row's deployment in the store. Points of our own runs have keys of their own: two
/// of them may differ in what no column tells.
[[nodiscard]] std::string row_key_of(const BenchmarkRecord& record, std::int64_t config);
[[nodiscard]] std::string row_key_of(const EvalRecord& record, std::int64_t config);

}  // namespace pawl::results
