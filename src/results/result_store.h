#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "io/domain/results_source.h"
#include "results/model_names.h"
#include "store/database.h"

namespace pawl::results {

/// Tables results_run, results_config, results_benchmark, results_eval.
[[nodiscard]] store::Schema results_schema();

/// One run attempt as it is published: the whole truth about it.
struct Publication {
  std::int64_t run = 0, attempt = 1;
  std::string recipe;         ///< config key
  std::string image, digest;  ///< that the rows measured; the digest may be empty
  std::string head;           ///< commit that the matrix was made from; may be empty
  std::string date;           ///< YYYY-MM-DD, UTC, of the run
  std::string scale = "1/1";
  bool simulated = false;
  std::string html_url;            ///< page of the run, without attempt; may be empty
  std::vector<codec::Json> rows;   ///< result rows (`model::result_row`), one a point
  std::vector<codec::Json> evals;  ///< eval rows (`model::eval_row`), one a point and task
};

/// A published run attempt, without its rows.
struct PublishedRun {
  std::int64_t run = 0, attempt = 1;
  std::string recipe, image, digest, head, date, scale, html_url;
  bool simulated = false;
};

/// A stored row and what the API needs beside it.
struct StoredRow {
  std::int64_t id = 0;         ///< stays the same when the row is published again
  std::int64_t config_id = 0;  ///< one number a deployment
  PublishedRun run;
  codec::Json row;  ///< as it was published
};

/// What `GET /api/v1/benchmarks` and `/evaluations` select. Of each run only the newest attempt exists for them.
struct RowQuery {
  std::optional<std::string> model;  ///< display name; nothing: every model
  std::optional<std::string> date;   ///< as-of day
  bool exact = false;                ///< only this day
  std::optional<std::int64_t> run;   ///< only this run
};

/// Published results in the workspace's database. Belongs to one thread at a time, as the database does, and lives no
/// longer than it.
class ResultStore {
 public:
  /// The database must have `results_schema()`.
  explicit ResultStore(store::Database& database) : database_(&database) {}

  /// Makes exactly these rows the published ones of (run, attempt), in one transaction. May be repeated: rows with the
  /// same key keep their id. Errors: a date that is none, a row without `pawl.point_key`, two rows with one key.
  Status publish(const Publication& publication);

  /// Newest first: date, run, attempt.
  Result<std::vector<PublishedRun>> runs();
  /// Rows of one attempt, by deployment and concurrency.
  Result<std::vector<StoredRow>> rows_of(std::int64_t run, std::int64_t attempt);
  Result<std::vector<StoredRow>> evals_of(std::int64_t run, std::int64_t attempt);

  /// The newest snapshot of every curve (api-dashboard 2.2): all rows of the newest run that has any in the curve's
  /// scope; points of different runs are never stitched. Ordered by deployment, conc, isl, osl.
  Result<std::vector<StoredRow>> benchmarks(const RowQuery& query, const ModelNames& names);
  /// All eval rows, newest date first, then hardware.
  Result<std::vector<StoredRow>> evaluations(const RowQuery& query, const ModelNames& names);

 private:
  Result<std::vector<StoredRow>> select(const std::string& table, const std::string& condition, const std::vector<store::Value>& values);
  Result<std::vector<StoredRow>> select(const std::string& table, const RowQuery& query, const ModelNames& names);

  store::Database* database_;
};

/// Our own store as a source of baselines. A run that covers only a part of the wanted points is none.
class StoreResults final : public io::ResultsSource {
 public:
  /// Neither argument is copied.
  StoreResults(store::Database& database, const ModelNames& names) : store_(database), database_(&database), names_(&names) {}
  /// Rows come in the order of `point_keys`; evals are all those of the run.
  Result<std::optional<io::Baseline>> newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) override;

 private:
  ResultStore store_;
  store::Database* database_;
  const ModelNames* names_;
};

/// True for a day that exists, written YYYY-MM-DD.
[[nodiscard]] bool is_day(const std::string& text);

/// `text` as a value in a query string: everything but letters, digits, - . _ ~ is percent-encoded.
[[nodiscard]] std::string url_value(const std::string& text);

}  // namespace pawl::results
