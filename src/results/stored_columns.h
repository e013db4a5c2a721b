#pragma once

#include <functional>
#include <string>
#include <vector>

#include "results/records.h"
#include "store/database.h"

namespace pawl::results {

/// The columns of results_attempt (as r) in the order that `run_at` reads.
inline constexpr const char* kRunColumns =
    "r.run, r.attempt, r.name, r.status, r.conclusion, r.head_sha, r.head_branch, r.html_url, r.created_at, r.started_at, r.date, r.measured_at, "
    "r.published_at, "
    "r.append_only, r.dataset, r.recipe, r.image, r.digest, r.scale, r.simulated";
inline constexpr int kRunColumnCount = 20;
/// Of each run only the newest attempt is visible.
inline constexpr const char* kNewestAttempt = "r.attempt = (SELECT max(n.attempt) FROM results_attempt n WHERE n.run = r.run AND n.purged = '')";

[[nodiscard]] RunRecord run_at(const store::Row& row, int column);
/// The document of a column; null when it is empty.
[[nodiscard]] Result<codec::Json> json_or_null(const std::string& text);

/// Whole records of benchmark rows (as b, their attempt as r) that meet a condition.
Status each_row(store::Database& db, const std::string& condition, const std::vector<store::Value>& values,
                const std::function<Status(BenchmarkRecord, const RunRecord&, std::int64_t config)>& take);
Status each_eval(store::Database& db, const std::string& condition, const std::vector<store::Value>& values,
                 const std::function<Status(EvalRecord, const RunRecord&, std::int64_t config)>& take);

/// Characters of one piece of a stored log.
inline constexpr std::size_t kLogPiece = 65'536;
/// The samples of an eval row, by document.
[[nodiscard]] Result<std::vector<SampleRecord>> samples_of(store::Database& db, std::int64_t eval);

/// The deployment of a row of results_config.
[[nodiscard]] Result<Deployment> deployment_of_text(const std::string& json);

}  // namespace pawl::results
