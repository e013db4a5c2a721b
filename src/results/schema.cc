#include "results/schema.h"

#include "results/result_store.h"

namespace pawl::results {
namespace {

/// Version 1 kept each row as the runner wrote it and nothing else.
constexpr const char* kRowsAsWritten = R"sql(
CREATE TABLE results_run (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL,
  recipe TEXT NOT NULL, image TEXT NOT NULL, digest TEXT NOT NULL, head TEXT NOT NULL, date TEXT NOT NULL,
  scale TEXT NOT NULL, simulated INTEGER NOT NULL, html_url TEXT NOT NULL,
  PRIMARY KEY (run, attempt)) STRICT;
CREATE INDEX results_run_by_recipe ON results_run (recipe, image, date);
CREATE TABLE results_config (id INTEGER PRIMARY KEY, deployment TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE results_benchmark (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, point_key TEXT NOT NULL,
  config_id INTEGER NOT NULL REFERENCES results_config (id),
  hw TEXT NOT NULL, framework TEXT NOT NULL, model TEXT NOT NULL, model_prefix TEXT NOT NULL, precision TEXT NOT NULL,
  spec_decoding TEXT NOT NULL, disagg INTEGER NOT NULL, isl INTEGER, osl INTEGER, conc INTEGER,
  image TEXT NOT NULL, date TEXT NOT NULL, row TEXT NOT NULL,
  UNIQUE (run, attempt, point_key),
  FOREIGN KEY (run, attempt) REFERENCES results_run (run, attempt)) STRICT;
CREATE INDEX results_benchmark_by_model ON results_benchmark (model_prefix, model, date);
CREATE TABLE results_eval (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, point_key TEXT NOT NULL, task TEXT NOT NULL,
  config_id INTEGER NOT NULL REFERENCES results_config (id),
  hw TEXT NOT NULL, framework TEXT NOT NULL, model TEXT NOT NULL, model_prefix TEXT NOT NULL, precision TEXT NOT NULL,
  spec_decoding TEXT NOT NULL, disagg INTEGER NOT NULL, isl INTEGER, osl INTEGER, conc INTEGER,
  image TEXT NOT NULL, date TEXT NOT NULL, row TEXT NOT NULL,
  UNIQUE (run, attempt, point_key, task),
  FOREIGN KEY (run, attempt) REFERENCES results_run (run, attempt)) STRICT;
CREATE INDEX results_eval_by_model ON results_eval (model_prefix, model, date);
)sql";

/// Version 2 keeps rows of anybody: the columns of the public API, with provenance.
constexpr const char* kPublicColumns = R"sql(
ALTER TABLE results_eval RENAME TO results_v1_eval;
ALTER TABLE results_benchmark RENAME TO results_v1_benchmark;
ALTER TABLE results_run RENAME TO results_v1_run;
CREATE TABLE results_meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO results_meta VALUES ('generation', 0);
CREATE TABLE results_attempt (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL,
  name TEXT NOT NULL, status TEXT NOT NULL, conclusion TEXT NOT NULL, head_sha TEXT NOT NULL, head_branch TEXT NOT NULL, html_url TEXT NOT NULL,
  created_at TEXT NOT NULL, started_at TEXT NOT NULL, date TEXT NOT NULL, measured_at TEXT NOT NULL, published_at TEXT NOT NULL,
  append_only INTEGER NOT NULL, dataset TEXT NOT NULL,
  recipe TEXT NOT NULL, image TEXT NOT NULL, digest TEXT NOT NULL, scale TEXT NOT NULL, simulated INTEGER NOT NULL,
  purged TEXT NOT NULL DEFAULT '', generation INTEGER NOT NULL,
  PRIMARY KEY (run, attempt)) STRICT;
CREATE INDEX results_attempt_by_recipe ON results_attempt (recipe, image, date);
CREATE INDEX results_attempt_by_generation ON results_attempt (generation);
CREATE TABLE results_benchmark (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, row_key TEXT NOT NULL,
  config_id INTEGER NOT NULL REFERENCES results_config (id),
  benchmark_type TEXT NOT NULL, isl INTEGER, osl INTEGER, conc INTEGER NOT NULL, offload_mode TEXT NOT NULL,
  image TEXT NOT NULL, recipe_fingerprint TEXT NOT NULL,
  metrics TEXT NOT NULL, workers TEXT NOT NULL, power_invalid_reasons TEXT NOT NULL, power_audit TEXT NOT NULL,
  error TEXT NOT NULL, held TEXT NOT NULL, accepted TEXT NOT NULL DEFAULT '', measured_at TEXT NOT NULL, point_key TEXT NOT NULL, raw TEXT NOT NULL,
  UNIQUE (run, attempt, row_key),
  FOREIGN KEY (run, attempt) REFERENCES results_attempt (run, attempt)) STRICT;
CREATE TABLE results_eval (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, row_key TEXT NOT NULL,
  config_id INTEGER NOT NULL REFERENCES results_config (id),
  task TEXT NOT NULL, isl INTEGER, osl INTEGER, conc INTEGER,
  metrics TEXT NOT NULL, timestamp TEXT NOT NULL, point_key TEXT NOT NULL, raw TEXT NOT NULL,
  UNIQUE (run, attempt, row_key),
  FOREIGN KEY (run, attempt) REFERENCES results_attempt (run, attempt)) STRICT;
CREATE TABLE results_run_stat (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, hardware TEXT NOT NULL, n_success INTEGER NOT NULL, total INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, hardware), CHECK (n_success >= 0 AND n_success <= total),
  FOREIGN KEY (run, attempt) REFERENCES results_attempt (run, attempt)) STRICT;
CREATE TABLE results_changelog (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, base_ref TEXT NOT NULL, head_ref TEXT NOT NULL,
  config_keys TEXT NOT NULL, description TEXT NOT NULL, pr_link TEXT NOT NULL, append_only INTEGER NOT NULL,
  PRIMARY KEY (run, attempt, base_ref, head_ref),
  FOREIGN KEY (run, attempt) REFERENCES results_attempt (run, attempt)) STRICT;
CREATE TABLE results_availability (fact TEXT PRIMARY KEY, date TEXT NOT NULL) STRICT;
CREATE TABLE results_curve_row (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, row_id INTEGER NOT NULL REFERENCES results_benchmark (id),
  PRIMARY KEY (run, attempt, row_id)) STRICT;
CREATE INDEX results_curve_row_by_row ON results_curve_row (row_id);
CREATE TABLE results_ingest (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL, counts TEXT NOT NULL, generation INTEGER NOT NULL) STRICT;
CREATE TABLE results_token (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, scopes TEXT NOT NULL, salt TEXT NOT NULL, hash TEXT NOT NULL,
  created_at TEXT NOT NULL, revoked_at TEXT NOT NULL) STRICT;
CREATE TABLE results_audit (
  id INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
)sql";

/// Version 3 keeps the answers behind an eval and the logs behind a row. A log is cut into pieces of 65,536 characters: a
/// reader wants a part.
constexpr const char* kSamplesAndLogs = R"sql(
ALTER TABLE results_benchmark ADD COLUMN log TEXT NOT NULL DEFAULT '';
CREATE TABLE results_sample (
  eval_id INTEGER NOT NULL REFERENCES results_eval (id) ON DELETE CASCADE, doc_id INTEGER NOT NULL,
  prompt TEXT NOT NULL, target TEXT NOT NULL, response TEXT NOT NULL, raw_response TEXT NOT NULL, passed INTEGER NOT NULL, score REAL, metrics TEXT NOT NULL,
  PRIMARY KEY (eval_id, doc_id)) STRICT;
CREATE TABLE results_log_piece (
  run INTEGER NOT NULL, attempt INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, piece INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (run, attempt, name, file, piece),
  FOREIGN KEY (run, attempt) REFERENCES results_attempt (run, attempt)) STRICT;
)sql";

/// Rows of version 1 are published again, under the ids that they had. Not in version 2: the code that publishes is of the
/// newest version.
Status move_rows(store::Database& db) {
  PAWL_ASSIGN(const bool old_rows, db.has_table("results_v1_run"));
  if (!old_rows) return {};
  struct Old {
    Publication publication;
    std::vector<std::int64_t> rows, evals;
  };
  std::vector<Old> all;
  PAWL_TRY(db.query("SELECT run, attempt, recipe, image, digest, head, date, scale, simulated, html_url FROM results_v1_run ORDER BY run, attempt", {},
                    [&](const store::Row& row) {
                      Old old;
                      old.publication = {row.whole(0), row.whole(1), row.text(2),       row.text(3), row.text(4), row.text(5),
                                         row.text(6),  row.text(7),  row.whole(8) != 0, row.text(9), {},          {}};
                      all.push_back(std::move(old));
                      return Status();
                    }));
  for (Old& old : all) {
    const std::vector<store::Value> key{old.publication.run, old.publication.attempt};
    for (const bool eval : {false, true}) {
      const char* sql = eval ? "SELECT id, row FROM results_v1_eval WHERE run = ?1 AND attempt = ?2 ORDER BY id"
                             : "SELECT id, row FROM results_v1_benchmark WHERE run = ?1 AND attempt = ?2 ORDER BY id";
      PAWL_TRY(db.query(sql, key, [&](const store::Row& row) -> Status {
        PAWL_ASSIGN(codec::Json json, codec::parse_json(row.text(1), "a stored row"));
        (eval ? old.publication.evals : old.publication.rows).push_back(std::move(json));
        (eval ? old.evals : old.rows).push_back(row.whole(0));
        return {};
      }));
    }
    PAWL_ASSIGN(RunBatch batch, batch_of(old.publication));
    for (std::size_t i = 0; i < batch.rows.size(); ++i) batch.rows[i].id = old.rows[i];
    for (std::size_t i = 0; i < batch.evals.size(); ++i) batch.evals[i].id = old.evals[i];
    PAWL_TRY(ResultStore(db).write({std::move(batch)}, WriteMode::kReplace, {"", "migration", "version 1"}, {}));
  }
  for (const char* table : {"results_v1_eval", "results_v1_benchmark", "results_v1_run"}) PAWL_TRY(db.execute(std::string("DROP TABLE ") + table));
  return {};
}

}  // namespace

store::Schema results_schema() { return {"results", {kRowsAsWritten, {kPublicColumns, {}}, {kSamplesAndLogs, move_rows}}}; }

}  // namespace pawl::results
