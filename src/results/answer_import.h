#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/files.h"
#include "results/ingest_counts.h"
#include "results/records.h"

namespace pawl::results {

/// What another server of this API says, as records for our store.
struct ImportedAnswers {
  std::vector<RunBatch> batches;  ///< one a run attempt
  std::vector<AvailabilityRecord> availability;
};

/// Reads rows of an answer to /api/v1/benchmarks or /benchmarks/history (`history`), and adds them. Runs are known by
/// `run_url`; rows of one curve that come from several runs (an older rule of selection) are remembered as members of the
/// newest run's curve, so that our server answers with the same rows. Rows that are none are counted.
void import_benchmarks(const codec::Json& rows, bool history, ImportedAnswers& into, IngestCounts& counts);
void import_evaluations(const codec::Json& rows, ImportedAnswers& into, IngestCounts& counts);
void import_workflow_info(const codec::Json& answer, ImportedAnswers& into, IngestCounts& counts);
void import_availability(const codec::Json& rows, ImportedAnswers& into, IngestCounts& counts);
/// /api/v1/reliability names no run: every row gets a run of its own, with a negative number, of its day.
void import_reliability(const codec::Json& rows, ImportedAnswers& into, IngestCounts& counts);

/// Everything that a folder holds of the above: the dump of the public app (workflow_runs.json and the tables beside it,
/// api-dashboard 2.8) or saved answers (benchmarks*.json, evaluations*.json, workflow-info*.json, availability*.json,
/// reliability*.json; each may end in .gz). Errors: no such file there; one that is no JSON.
[[nodiscard]] Result<ImportedAnswers> import_folder(const io::Files& files, const std::filesystem::path& folder, IngestCounts& counts);

}  // namespace pawl::results
