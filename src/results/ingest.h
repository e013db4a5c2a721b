#pragma once

#include <string>

#include "base/result.h"
#include "results/artifact_set.h"
#include "results/ingest_counts.h"
#include "results/records.h"
#include "results/row_mapper.h"

namespace pawl::results {

/// What a person says about a run where its artifacts do not, and against them: members that are set win.
struct RunHints {
  std::int64_t run = 0, attempt = 0;  ///< 0: not said
  std::string name, conclusion, html_url, head_sha, date, created_at, started_at, recipe;
  bool merged_first = false;  ///< rows of the merged artifact where there is one, never both (an overlay, api-dashboard 3.7)
};

/// The records of a run attempt from its artifacts (api-dashboard 2.3): benchmark rows (bmk_*, else the merged
/// results_*), evals (eval_results_all, else eval_* with their samples), run-stats, changelog-metadata, server logs. The
/// run itself is known from run.json (the run as the forge's API tells it), from the manifest of a run of ours, from the
/// bundle of a reused run (rows then belong to the source attempt, the day to the run that published them), and `hints`.
/// Pure. Whatever a member lacks or breaks is counted, never silent. Error: nothing says which run it is, or no day.
[[nodiscard]] Result<RunBatch> batch_of_artifacts(const ArtifactSet& artifacts, const RunHints& hints, const RowMapper& mapper, IngestCounts& counts);

}  // namespace pawl::results
