#pragma once

#include <boost/describe.hpp>
#include <string>
#include <vector>

#include "model/job.h"

namespace pawl::runner {

/// What a job of a sweep is for. Every job has exactly one kind.
enum class GraphKind { kSetup, kCanary, kBenchmark, kEval, kCollector, kCompare, kSuccessRate, kChangelogMetadata, kPreviewComment, kManifest };
BOOST_DESCRIBE_ENUM(GraphKind, kSetup, kCanary, kBenchmark, kEval, kCollector, kCompare, kSuccessRate, kChangelogMetadata, kPreviewComment, kManifest)

/// Names of the jobs that measure nothing. Those of the field, as other tools match on them (sweep-run-results 1.3).
inline constexpr const char* kSetupStep = "setup";
inline constexpr const char* kCollectResults = "collect-results";
inline constexpr const char* kCollectEvals = "collect-evals";
inline constexpr const char* kCompareResults = "compare-results";
inline constexpr const char* kSuccessRate = "calc-success-rate";
inline constexpr const char* kChangelogMetadata = "upload-changelog-metadata";
inline constexpr const char* kPreviewComment = "comment-unofficial-run-visualizer";
inline constexpr const char* kManifestStep = "upload-sweep-manifest";

struct GraphStep {
  std::string name;
  GraphKind kind;
};

/// The jobs that measure nothing, in their order: the first before every other job of the sweep, the rest after them.
[[nodiscard]] const std::vector<GraphStep>& graph_steps();

/// The kind of a job that measures.
[[nodiscard]] GraphKind kind_of(const model::JobSpec& spec);

/// Which family of the job graph a job belongs to: "canary", "single-node 1k1k", "multi-node 8k1k", "eval", … A failure
/// stops the rest of its own family only (sweep-run-results 1.7).
[[nodiscard]] std::string family_of(const model::JobSpec& spec);

/// "single-node 8k1k / p1.000 | qwen3.5 fp4 b200 sglang TP2/EP1 none c4": family and row, as people and run statistics
/// read it. Without a priority in the row the first part is left out.
[[nodiscard]] std::string display_name(const model::JobSpec& spec);

/// RESULT_FILENAME of a job (sweep-run-results 1.8): the name of the files that a launch script leaves.
[[nodiscard]] std::string result_filename(const codec::Json& row);

}  // namespace pawl::runner
