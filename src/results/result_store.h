#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "io/domain/results_source.h"
#include "results/ingest_counts.h"
#include "results/model_names.h"
#include "results/records.h"
#include "results/schema.h"
#include "store/database.h"

namespace pawl::results {

/// One run attempt as our own runner publishes it: the whole truth about it.
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

/// The records of a publication. Errors: a date that is none, a row without `pawl.point_key`, two rows with one key.
[[nodiscard]] Result<RunBatch> batch_of(const Publication& publication);

/// A stored row of our own and what pages need beside it.
struct StoredRow {
  std::int64_t id = 0;  ///< stays the same when the row is published again
  std::int64_t config_id = 0;
  RunRecord run;
  codec::Json row;  ///< as it was published; of other people's rows: their record as a result row
};

enum class WriteMode {
  kReplace,  ///< exactly these rows are the attempt's
  kUpsert,   ///< ingest: rows of the same key are replaced, others stay
  kMerge,    ///< import of partial answers: what is known already and not told again stays
};

/// Where a write comes from; kept in the ingest log.
struct WriteOrigin {
  std::string at;  ///< ISO 8601, UTC; may be empty
  std::string kind, source;
};

struct WriteReport {
  std::int64_t inserted = 0, updated = 0, unchanged = 0, removed = 0, renumbered = 0;
  std::int64_t generation = 0;  ///< of the store after the write
};

/// Published results in a database. Belongs to one thread at a time, as the database does, and lives no longer than it.
class ResultStore {
 public:
  /// The database must have `results_schema()`.
  explicit ResultStore(store::Database& database) : database_(&database) {}

  /// Makes exactly these rows the published ones of (run, attempt). May be repeated: rows with the same key keep their id.
  Status publish(const Publication& publication, const std::string& at = {});
  /// All batches or none, in one transaction: a reader sees the store before or after. Writing the same again changes
  /// nothing. Rows with the same key keep their id; a new row gets the id that it asks for when that is free.
  Result<WriteReport> write(const std::vector<RunBatch>& batches, WriteMode mode, const WriteOrigin& origin, const IngestCounts& counts = {});
  Status write_availability(const std::vector<AvailabilityRecord>& facts);
  /// Gives batches whose attempt is not known (0) the newest attempt that the store has of their run, else the first.
  Status settle_attempts(std::vector<RunBatch>& batches);

  /// Hides a run, or one attempt of it, from every answer; later ingests of it stay hidden. Undone with an empty reason.
  Status purge(std::int64_t run, std::optional<std::int64_t> attempt, const std::string& reason, const std::string& at);
  /// Lets a held row (api-dashboard 2.5.5) into the answers, with the reason.
  Status accept(std::int64_t row, const std::string& reason, const std::string& at);

  /// Newest first: date, run, attempt; purged ones left out.
  Result<std::vector<RunRecord>> runs(std::size_t limit = 1'000'000);
  /// Rows of one attempt, by deployment and concurrency.
  Result<std::vector<StoredRow>> rows_of(std::int64_t run, std::int64_t attempt);
  Result<std::vector<StoredRow>> evals_of(std::int64_t run, std::int64_t attempt);
  /// Number of the newest write.
  Result<std::int64_t> generation();

  /// Everything, attempt by attempt, oldest first: for copies and exports.
  Status each_batch(const std::function<Status(const RunBatch&)>& take);
  Result<std::vector<AvailabilityRecord>> availability();
  /// What does not hold together: one line a problem. Read-only.
  Result<std::vector<std::string>> verify();
  /// Everything of another store, with ids, purges, overrides, tokens left out. This store must be empty.
  Status copy_from(ResultStore& source, const std::string& at, const std::function<void(const RunRecord&)>& progress = {});
  /// Removes the rows of attempts that a newer attempt has hidden, and of purged runs, published before the day.
  Result<std::int64_t> prune(const std::string& before_day, const std::string& at);

 private:
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

/// A record as the result row that our own runner would have written for it (sweep-run-results 5.3), as far as it is
/// known; `pawl` holds what is known of its origin.
[[nodiscard]] codec::Json result_row_of(const BenchmarkRecord& record, const RunRecord& run);
[[nodiscard]] codec::Json result_row_of(const EvalRecord& record, const RunRecord& run);

/// True for a day that exists, written YYYY-MM-DD.
[[nodiscard]] bool is_day(const std::string& text);

/// `text` as a value in a query string: everything but letters, digits, - . _ ~ is percent-encoded.
[[nodiscard]] std::string url_value(const std::string& text);

}  // namespace pawl::results
