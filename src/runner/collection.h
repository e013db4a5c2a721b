#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/json.h"
#include "compare/comparison.h"
#include "io/domain/sweep_runner.h"
#include "io/files.h"
#include "model/job.h"

/// What is made of the jobs of a sweep when they have ended: aggregates, statistics, comparison, manifest. Whatever is
/// written here can be written again with the same result.
namespace pawl::runner {

/// Artifacts of a run, below the folder of its attempt.
inline constexpr const char* kResultsFile = "results_bmk/agg_bmk.json";
inline constexpr const char* kEvalsFile = "eval_results_all/agg_eval_all.json";
inline constexpr const char* kComparisonFile = "comparison/comparison.json";
inline constexpr const char* kStatisticsFile = "run-stats/run_stats.json";
inline constexpr const char* kChangelogFile = "changelog-metadata/changelog_metadata.json";
inline constexpr const char* kCommentFile = "preview-comment/comment.md";
inline constexpr const char* kManifestFile = "sweep-manifest/sweep_manifest.json";
inline constexpr const char* kBotManifestFile = "klaud-sweep-manifest/klaud-sweep-manifest.json";
/// Those that stand in the manifest with their digests.
inline constexpr const char* kRunArtifacts[] = {kResultsFile, kEvalsFile, kComparisonFile, kStatisticsFile, kChangelogFile, kCommentFile};

/// One execution of a job: the first one, or one more for a reason of infrastructure.
struct Try {
  std::int64_t number = 1, gpus = 0;
  std::int64_t started_ms = 0, ended_ms = 0;  ///< wall clock since 1970; 0: not seen. Waiting in a queue does not count
  std::string outcome;                        ///< "succeeded", "failed", "cancelled", "stopped", "retried"; empty while it lives
  std::string failure_class, node, native;
  [[nodiscard]] double gpu_hours() const;
};

/// A job that measures, and what is known of it.
struct MeasuredJob {
  model::JobSpec spec;
  std::string state;  ///< "queued", "running", "succeeded", "failed", "cancelled", "skipped"
  std::filesystem::path folder;
  std::vector<Try> tries;
};

/// A job that measures nothing.
struct StepState {
  std::string name, state, note, started, ended;  ///< ISO 8601, UTC
};
BOOST_DESCRIBE_STRUCT(StepState, (), (name, state, note, started, ended))

/// Rows that were published before, to compare with.
struct PublishedRows {
  std::int64_t run = 0, attempt = 1;
  std::string image, date;
  std::vector<codec::Json> rows, evals;
};

/// Everything that the manifest is made of.
struct RunPicture {
  io::RunStatus run;
  io::SweepRequest request;
  std::vector<MeasuredJob> jobs;
  std::vector<StepState> steps;
  codec::Json executor;                          ///< its name and counts
  std::map<std::string, std::string> artifacts;  ///< of the run: path below its folder → sha256
};

/// The rows of every job of one kind that succeeded. Errors: a result that cannot be read, two rows of one point, a
/// number that is none: half an aggregate is worse than none.
[[nodiscard]] Result<codec::Json> collect_rows(const io::Files& files, const std::vector<MeasuredJob>& jobs, model::JobKind kind);

/// `run_stats.json`: for every runner how many jobs succeeded and how many ran, over all attempts. Cancelled jobs count
/// as not successful, skipped ones do not count. `jobs`: of each attempt those that ran in it.
[[nodiscard]] codec::Json run_statistics(const std::vector<MeasuredJob>& jobs);

/// `comparison.json` (sweep-run-results 1.11). No baseline: every row says so.
[[nodiscard]] Result<codec::Json> comparison_document(const io::RunStatus& run, const std::vector<codec::Json>& rows, const std::vector<codec::Json>& evals,
                                                      const std::optional<PublishedRows>& baseline);

/// `changelog_metadata.json`: the entries that the sweep is about, as the request gives them; none is an empty list.
[[nodiscard]] codec::Json changelog_metadata(const io::SweepRequest& request);

/// The comment that says where the numbers can be looked at, and what they are in one line each. Markdown.
[[nodiscard]] std::string preview_comment(const RunPicture& picture, const codec::Json& comparison);

/// `sweep_manifest.json` (sweep-run-results 1.11): `jobs` are all jobs of the graph by kind, `points` what was expected
/// and what came of it.
[[nodiscard]] codec::Json sweep_manifest(const io::Files& files, const RunPicture& picture);

/// The manifest under the name and with the keys that the field's bot reads: head, run, attempt, full-sweep, matrix.
[[nodiscard]] codec::Json bot_manifest(const RunPicture& picture);

/// "TP2/EP1 conc 4", with the task in front for an eval.
[[nodiscard]] std::string label_of(const model::JobSpec& spec);

}  // namespace pawl::runner
