#include "results/result_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/text.h"
#include "codec/describe.h"
#include "model/row.h"
#include "results/stored_columns.h"

namespace pawl::results {
namespace {

using codec::Json;
using store::Value;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }
/// Null is an empty text in the tables.
std::string column_of(const Json& json) { return json.is_null() ? std::string() : compact(json); }
Value number_or_null(const std::optional<std::int64_t>& value) { return value ? Value(*value) : Value(); }

/// At most `kLogPiece` characters each.
std::vector<std::string_view> log_pieces(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    std::size_t end = 0;
    for (std::size_t characters = 0; end < text.size(); ++end) {
      const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
      if (begins && characters++ == kLogPiece) break;
    }
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

/// One write: what it has looked up, inside its transaction.
class Writer {
 public:
  Writer(store::Database& db, WriteMode mode, std::int64_t generation) : db_(db), mode_(mode), generation_(generation) {}

  /// Ids that somebody else gave to deployments, before any deployment gets one of ours.
  Status keep_config_ids(const std::vector<RunBatch>& batches) {
    for (const RunBatch& batch : batches) {
      for (const EvalRecord& eval : batch.evals) {
        if (eval.config_id > 0) PAWL_TRY(config_of(eval.deployment, eval.config_id));
      }
    }
    return {};
  }

  Status write(const RunBatch& batch) {
    PAWL_TRY(write_run(batch.run));
    PAWL_TRY(write_rows(batch.run, batch.rows));
    PAWL_TRY(write_rows(batch.run, batch.evals));
    PAWL_TRY(write_logs(batch));
    for (const ChangelogRecord& entry : batch.changelog) {
      PAWL_TRY(
          db_.execute("INSERT INTO results_changelog VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (run, attempt, base_ref, head_ref) DO UPDATE SET "
                      "config_keys = excluded.config_keys, description = excluded.description, pr_link = excluded.pr_link, append_only = excluded.append_only",
                      {batch.run.run, batch.run.attempt, entry.base_ref, entry.head_ref, compact(Json(entry.config_keys)), entry.description, entry.pr_link,
                       entry.append_only}));
    }
    for (const RunStatRecord& stat : batch.stats) {
      PAWL_TRY(
          db_.execute("INSERT INTO results_run_stat VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (run, attempt, hardware) DO UPDATE SET n_success = "
                      "excluded.n_success, total = excluded.total",
                      {batch.run.run, batch.run.attempt, stat.hardware, stat.n_success, stat.total}));
    }
    return {};
  }

  /// After all rows are there: which curves they were seen in.
  Status write_curves(const RunBatch& batch) {
    for (const BenchmarkRecord& row : batch.rows) {
      if (row.curve_run == 0 || (row.curve_run == batch.run.run && row.curve_attempt == batch.run.attempt)) continue;
      PAWL_ASSIGN(const std::int64_t config, config_of(row.deployment));
      PAWL_TRY(db_.execute(
          "INSERT INTO results_curve_row SELECT CAST(?1 AS BIGINT), CAST(?2 AS BIGINT), id FROM results_benchmark WHERE run = ?3 AND attempt = ?4 AND "
          "row_key = ?5 ON CONFLICT DO NOTHING",
          {row.curve_run, row.curve_attempt, batch.run.run, batch.run.attempt, row_key_of(row, config)}));
    }
    return {};
  }

  WriteReport report;

 private:
  Status write_run(const RunRecord& r) {
    RunRecord run = r;
    if (mode_ == WriteMode::kMerge) {
      PAWL_TRY(db_.query(
          fmt::format("SELECT {} FROM results_attempt r WHERE r.run = ?1 AND r.attempt = ?2", kRunColumns), {r.run, r.attempt}, [&](const store::Row& row) {
            const RunRecord known = run_at(row, 0);
            const auto keep = [](std::string& now, const std::string& before) {
              if (now.empty()) now = before;
            };
            keep(run.name, known.name), keep(run.status, known.status), keep(run.conclusion, known.conclusion), keep(run.head_sha, known.head_sha);
            keep(run.head_branch, known.head_branch), keep(run.html_url, known.html_url), keep(run.created_at, known.created_at);
            keep(run.started_at, known.started_at), keep(run.date, known.date), keep(run.measured_at, known.measured_at);
            keep(run.published_at, known.published_at), keep(run.dataset, known.dataset), keep(run.recipe, known.recipe), keep(run.image, known.image);
            keep(run.digest, known.digest);
            run.append_only = run.append_only || known.append_only;
            return Status();
          }));
    }
    return db_.execute(
        "INSERT INTO results_attempt (run, attempt, name, status, conclusion, head_sha, head_branch, html_url, created_at, started_at, date, measured_at, "
        "published_at, append_only, dataset, recipe, image, digest, scale, simulated, generation) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
        "?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21) ON CONFLICT (run, attempt) DO UPDATE SET name = excluded.name, status = excluded.status, conclusion = "
        "excluded.conclusion, head_sha = excluded.head_sha, head_branch = excluded.head_branch, html_url = excluded.html_url, created_at = "
        "excluded.created_at, started_at = excluded.started_at, date = excluded.date, measured_at = excluded.measured_at, published_at = "
        "excluded.published_at, append_only = excluded.append_only, dataset = excluded.dataset, recipe = excluded.recipe, image = excluded.image, digest = "
        "excluded.digest, scale = excluded.scale, simulated = excluded.simulated, generation = excluded.generation",
        {run.run,      run.attempt,    run.name,       run.status, run.conclusion,  run.head_sha,     run.head_branch,
         run.html_url, run.created_at, run.started_at, run.date,   run.measured_at, run.published_at, run.append_only,
         run.dataset,  run.recipe,     run.image,      run.digest, run.scale,       run.simulated,    generation_});
  }

  template <class Record>
  static constexpr const char* table_of() {
    return std::is_same_v<Record, EvalRecord> ? "results_eval" : "results_benchmark";
  }

  template <class Record>
  Status write_rows(const RunRecord& run, const std::vector<Record>& records) {
    if (records.empty() && mode_ != WriteMode::kReplace) return {};
    const char* table = table_of<Record>();
    std::map<std::string, std::int64_t> known;
    PAWL_TRY(db_.query(fmt::format("SELECT row_key, id FROM {} WHERE run = ?1 AND attempt = ?2", table), {run.run, run.attempt}, [&](const store::Row& row) {
      known.emplace(row.text(0), row.whole(1));
      return Status();
    }));
    std::set<std::string> seen;
    for (const Record& record : records) {
      PAWL_ASSIGN(const std::int64_t config, config_of(record.deployment));
      const std::string key = row_key_of(record, config);
      const bool again = !seen.insert(key).second;
      const auto found = known.find(key);
      if (found == known.end()) {
        PAWL_ASSIGN(const std::int64_t id, id_for(record.id, table));
        PAWL_TRY(insert(record, run, key, id, config));
        known.emplace(key, id);
        ++report.inserted;
        continue;
      }
      PAWL_TRY(update(record, found->second, config));
      if (!again) ++report.updated;
    }
    if (mode_ != WriteMode::kReplace) return {};
    for (const auto& [key, id] : known) {
      if (seen.contains(key)) continue;
      if (!std::is_same_v<Record, EvalRecord>) {
        PAWL_TRY(db_.execute("DELETE FROM results_curve_row WHERE row_id = ?1", {id}));
      }
      if (std::is_same_v<Record, EvalRecord>) {
        PAWL_TRY(db_.execute("DELETE FROM results_sample WHERE eval_id = ?1", {id}));
      }
      PAWL_TRY(db_.execute(fmt::format("DELETE FROM {} WHERE id = ?1", table), {id}));
      ++report.removed;
    }
    return {};
  }

  /// `wanted`: the id of a deployment that the store does not know yet, where it is free; 0: any.
  Result<std::int64_t> config_of(const Deployment& deployment, std::int64_t wanted = 0) {
    const std::string identity = compact(codec::to_json(deployment));
    const auto found = configs_.find(identity);
    if (found != configs_.end()) return found->second;
    std::int64_t id = 0;
    const auto look = [&] {
      return db_.query("SELECT id FROM results_config WHERE deployment = ?1", {identity}, [&](const store::Row& row) {
        id = row.whole(0);
        return Status();
      });
    };
    PAWL_TRY(look());
    if (id == 0) {
      PAWL_ASSIGN(const std::int64_t fresh, id_for(wanted, "results_config"));
      PAWL_TRY(db_.execute("INSERT INTO results_config (id, deployment) VALUES (?1, ?2)", {fresh, identity}));
      id = fresh;
    }
    configs_.emplace(identity, id);
    return id;
  }

  Result<std::int64_t> next_id(const std::string& table) {
    const auto found = next_.find(table);
    if (found != next_.end()) return ++found->second;
    std::int64_t newest = 0;
    PAWL_TRY(db_.query(fmt::format("SELECT max(id) FROM {}", table), {}, [&](const store::Row& row) {
      newest = row.is_null(0) ? 0 : row.whole(0);
      return Status();
    }));
    next_[table] = newest + 1;
    return newest + 1;
  }

  Result<std::int64_t> id_for(std::int64_t wanted, const std::string& table) {
    if (wanted > 0) {
      bool taken = false;
      PAWL_TRY(db_.query(fmt::format("SELECT 1 FROM {} WHERE id = ?1", table), {wanted}, [&](const store::Row&) {
        taken = true;
        return Status();
      }));
      if (!taken) {
        if (const auto found = next_.find(table); found != next_.end()) found->second = std::max(found->second, wanted);
        return wanted;
      }
      if (table != "results_config") ++report.renumbered;
    }
    return next_id(table);
  }

  Status insert(const BenchmarkRecord& r, const RunRecord& run, const std::string& key, std::int64_t id, std::int64_t config) {
    return db_.execute(
        "INSERT INTO results_benchmark (id, run, attempt, row_key, config_id, benchmark_type, isl, osl, conc, offload_mode, image, recipe_fingerprint, "
        "metrics, "
        "workers, power_invalid_reasons, power_audit, error, held, measured_at, point_key, raw, log) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
        "?12, "
        "?13, "
        "?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
        {id,
         run.run,
         run.attempt,
         key,
         config,
         r.benchmark_type,
         number_or_null(r.isl),
         number_or_null(r.osl),
         r.conc,
         r.offload_mode,
         r.image,
         r.recipe_fingerprint,
         compact(r.metrics),
         column_of(r.workers),
         column_of(r.power_invalid_reasons),
         column_of(r.power_audit),
         r.error,
         r.held,
         r.measured_at,
         r.point_key,
         column_of(r.raw),
         r.log});
  }

  Status insert(const EvalRecord& r, const RunRecord& run, const std::string& key, std::int64_t id, std::int64_t config) {
    PAWL_TRY(db_.execute(
        "INSERT INTO results_eval (id, run, attempt, row_key, config_id, task, isl, osl, conc, metrics, timestamp, point_key, raw) VALUES (?1, ?2, ?3, ?4, ?5, "
        "?6, "
        "?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        {id, run.run, run.attempt, key, config, r.task, number_or_null(r.isl), number_or_null(r.osl), number_or_null(r.conc), compact(r.metrics), r.timestamp,
         r.point_key, column_of(r.raw)}));
    return write_samples(r, id);
  }

  Status update(const BenchmarkRecord& r, std::int64_t id, std::int64_t config) {
    // What the store knows about the row and this write does not tell (api-dashboard 2.3).
    BenchmarkRecord known;
    bool accepted = false;
    PAWL_TRY(db_.query(
        "SELECT metrics, workers, power_invalid_reasons, power_audit, image, measured_at, point_key, raw, accepted, log FROM results_benchmark WHERE id = ?1",
        {id}, [&](const store::Row& row) -> Status {
          PAWL_ASSIGN(known.metrics, codec::parse_json(row.text(0), "stored metrics"));
          PAWL_ASSIGN(known.workers, json_or_null(row.text(1)));
          PAWL_ASSIGN(known.power_invalid_reasons, json_or_null(row.text(2)));
          PAWL_ASSIGN(known.power_audit, json_or_null(row.text(3)));
          known.image = row.text(4);
          known.measured_at = row.text(5);
          known.point_key = row.text(6);
          PAWL_ASSIGN(known.raw, json_or_null(row.text(7)));
          accepted = !row.text(8).empty();
          known.log = row.text(9);
          return {};
        }));
    BenchmarkRecord now = r;
    if (now.log.empty()) now.log = known.log;
    if (mode_ == WriteMode::kMerge) {
      Json metrics = known.metrics;
      for (const auto& [key, value] : now.metrics.items()) metrics[key] = value;
      now.metrics = std::move(metrics);
      if (now.workers.is_null()) now.workers = known.workers;
      if (now.power_invalid_reasons.is_null()) now.power_invalid_reasons = known.power_invalid_reasons;
      if (now.power_audit.is_null()) now.power_audit = known.power_audit;
      if (now.image.empty()) now.image = known.image;
      if (now.measured_at.empty()) now.measured_at = known.measured_at;
      if (now.point_key.empty()) now.point_key = known.point_key;
      if (now.raw.is_null()) now.raw = known.raw;
    } else {
      if (known.metrics.contains("kv_cache_pool_tokens") && !now.metrics.contains("kv_cache_pool_tokens")) {
        now.metrics["kv_cache_pool_tokens"] = known.metrics["kv_cache_pool_tokens"];
      }
      if (now.benchmark_type == "agentic_traces" && now.power_audit.is_null()) now.power_audit = known.power_audit;
    }
    return db_.execute(
        "UPDATE results_benchmark SET config_id = ?2, image = ?3, metrics = ?4, workers = ?5, power_invalid_reasons = ?6, power_audit = ?7, error = ?8, held = "
        "?9, "
        "measured_at = ?10, point_key = ?11, raw = ?12, log = ?13 WHERE id = ?1",
        {id, config, now.image, compact(now.metrics), column_of(now.workers), column_of(now.power_invalid_reasons), column_of(now.power_audit), now.error,
         accepted ? std::string() : now.held, now.measured_at, now.point_key, column_of(now.raw), now.log});
  }

  Status update(const EvalRecord& r, std::int64_t id, std::int64_t config) {
    PAWL_TRY(db_.execute("UPDATE results_eval SET config_id = ?2, metrics = ?3, timestamp = ?4, point_key = ?5, raw = ?6 WHERE id = ?1",
                         {id, config, compact(r.metrics), r.timestamp, r.point_key, column_of(r.raw)}));
    return write_samples(r, id);
  }

  /// The first text of a sample wins (api-dashboard 2.3).
  Status write_samples(const EvalRecord& r, std::int64_t id) {
    for (const SampleRecord& s : r.samples) {
      PAWL_TRY(db_.execute("INSERT INTO results_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
                           {id, s.doc_id, s.prompt, s.target, s.response, s.raw_response, s.passed, s.score ? Value(*s.score) : Value(), compact(s.metrics)}));
    }
    return {};
  }

  Status write_logs(const RunBatch& batch) {
    for (const LogRecord& log : batch.logs) {
      PAWL_TRY(db_.execute("DELETE FROM results_log_piece WHERE run = ?1 AND attempt = ?2 AND name = ?3 AND file = ?4",
                           {batch.run.run, batch.run.attempt, log.name, log.file}));
      std::int64_t piece = 0;
      for (const std::string_view part : log_pieces(log.text)) {
        PAWL_TRY(db_.execute("INSERT INTO results_log_piece VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                             {batch.run.run, batch.run.attempt, log.name, log.file, piece++, part}));
      }
    }
    return {};
  }

  store::Database& db_;
  WriteMode mode_;
  std::int64_t generation_;
  std::map<std::string, std::int64_t> configs_, next_;
};

}  // namespace

bool is_day(const std::string& text) {
  constexpr std::string_view kShape = "0000-00-00";
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kShape[i]) return false;
  }
  const auto number = [&](std::size_t at, std::size_t digits) { return static_cast<int>(*parse_int(std::string_view(text).substr(at, digits))); };
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)), std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

std::string url_value(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<RunBatch> batch_of(const Publication& p) {
  if (!is_day(p.date)) return bad_input(fmt::format("publishing run {}: {} is not a day like 2026-11-30", p.run, p.date));
  RunBatch batch;
  RunRecord& run = batch.run;
  run.run = p.run, run.attempt = p.attempt, run.name = p.recipe, run.status = "completed", run.conclusion = "success";
  run.head_sha = p.head, run.html_url = p.html_url, run.date = p.date;
  run.recipe = p.recipe, run.image = p.image, run.digest = p.digest, run.scale = p.scale, run.simulated = p.simulated;
  std::set<std::string> seen;
  const auto check = [&](const Json& row, const std::string& task) -> Result<std::string> {
    const std::string key = model::row_point_key(row);
    const std::string what = fmt::format("publishing run {}: the row {}", p.run, model::row_label(row));
    if (key.empty()) return bad_input(what + " has no pawl.point_key");
    if (!seen.insert(key + " " + task).second) return bad_input(what + " stands there twice");
    return key;
  };
  const auto whole = [](const Json& row, const char* key) -> std::optional<std::int64_t> {
    const auto found = row.find(key);
    if (found == row.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  };
  const auto measured = [](const Json& row) { return text_of(row.value("pawl", Json::object()), "measured_at"); };
  for (const Json& row : p.rows) {
    BenchmarkRecord record;
    PAWL_ASSIGN(record.point_key, check(row, {}));
    record.deployment = deployment_of_row(row);
    record.isl = whole(row, "isl"), record.osl = whole(row, "osl");
    record.benchmark_type = record.isl ? "single_turn" : "agentic_traces";
    record.conc = whole(row, "conc").value_or(0);
    record.offload_mode = offload_mode_of_row(row);
    record.image = text_of(row, "image"), record.recipe_fingerprint = text_of(row, "recipe_fingerprint");
    record.metrics = metrics_of_row(row);
    record.measured_at = measured(row);
    record.raw = row;
    if (run.measured_at.empty() || (!record.measured_at.empty() && record.measured_at < run.measured_at)) run.measured_at = record.measured_at;
    batch.rows.push_back(std::move(record));
  }
  for (const Json& row : p.evals) {
    EvalRecord record;
    record.task = text_of(row, "task");
    if (record.task.empty()) return bad_input(fmt::format("publishing run {}: the row {} has no task", p.run, model::row_label(row)));
    PAWL_ASSIGN(record.point_key, check(row, record.task));
    record.deployment = deployment_of_row(row);
    record.isl = whole(row, "isl"), record.osl = whole(row, "osl"), record.conc = whole(row, "conc");
    for (const char* key : {"n_eff", "em_strict", "em_strict_se", "em_flexible", "em_flexible_se", "score", "score_se"}) {
      if (row.contains(key) && row[key].is_number()) record.metrics[key] = row[key];
    }
    record.timestamp = measured(row);
    record.raw = row;
    batch.evals.push_back(std::move(record));
  }
  return batch;
}

Status ResultStore::publish(const Publication& publication, const std::string& at) {
  PAWL_ASSIGN(RunBatch batch, batch_of(publication));
  batch.run.published_at = at;
  PAWL_TRY(write({std::move(batch)}, WriteMode::kReplace, {at, "publish", fmt::format("run {} attempt {}", publication.run, publication.attempt)}));
  return {};
}

Result<WriteReport> ResultStore::write(const std::vector<RunBatch>& batches, WriteMode mode, const WriteOrigin& origin, const IngestCounts& counts) {
  WriteReport report;
  PAWL_TRY(database_->transaction([&]() -> Status {
    PAWL_TRY(database_->execute("UPDATE results_meta SET value = value + 1 WHERE key = 'generation'"));
    PAWL_ASSIGN(const std::int64_t generation, this->generation());
    Writer writer(*database_, mode, generation);
    PAWL_TRY(writer.keep_config_ids(batches));
    for (const RunBatch& batch : batches) PAWL_TRY(writer.write(batch));
    for (const RunBatch& batch : batches) PAWL_TRY(writer.write_curves(batch));
    PAWL_TRY(database_->execute("INSERT INTO results_ingest (at, kind, source, counts, generation) VALUES (?1, ?2, ?3, ?4, ?5)",
                                {origin.at, origin.kind, origin.source, compact(codec::to_json(counts)), generation}));
    report = writer.report;
    report.generation = generation;
    return {};
  }));
  return report;
}

Status ResultStore::purge(std::int64_t run, std::optional<std::int64_t> attempt, const std::string& reason, const std::string& at) {
  return database_->transaction([&]() -> Status {
    PAWL_TRY(database_->execute("UPDATE results_meta SET value = value + 1 WHERE key = 'generation'"));
    PAWL_ASSIGN(const std::int64_t generation, this->generation());
    std::vector<Value> values{reason, generation, run};
    if (attempt) values.emplace_back(*attempt);
    PAWL_TRY(database_->execute(fmt::format("UPDATE results_attempt SET purged = ?1, generation = ?2 WHERE run = ?3{}", attempt ? " AND attempt = ?4" : ""),
                                values));
    if (database_->changes() == 0) return not_found(fmt::format("the store has no run {}{}", run, attempt ? fmt::format(" attempt {}", *attempt) : ""));
    return database_->execute("INSERT INTO results_audit (at, who, action, detail) VALUES (?1, 'local', 'purge', ?2)",
                              {at, fmt::format("run {}{}: {}", run, attempt ? fmt::format(" attempt {}", *attempt) : "", reason)});
  });
}

Status ResultStore::accept(std::int64_t row, const std::string& reason, const std::string& at) {
  return database_->transaction([&]() -> Status {
    PAWL_TRY(database_->execute("UPDATE results_meta SET value = value + 1 WHERE key = 'generation'"));
    PAWL_ASSIGN(const std::int64_t generation, this->generation());
    PAWL_TRY(database_->execute("UPDATE results_benchmark SET accepted = ?2, held = '' WHERE id = ?1 AND held <> ''", {row, reason}));
    if (database_->changes() == 0) return not_found(fmt::format("row {} is not held", row), "pawl results query --held lists the rows that are");
    PAWL_TRY(database_->execute("UPDATE results_attempt SET generation = ?2 WHERE (run, attempt) IN (SELECT run, attempt FROM results_benchmark WHERE id = ?1)",
                                {row, generation}));
    return database_->execute("INSERT INTO results_audit (at, who, action, detail) VALUES (?1, 'local', 'accept', ?2)",
                              {at, fmt::format("row {}: {}", row, reason)});
  });
}

Result<std::int64_t> ResultStore::generation() {
  std::int64_t value = 0;
  PAWL_TRY(database_->query("SELECT value FROM results_meta WHERE key = 'generation'", {}, [&](const store::Row& row) {
    value = row.whole(0);
    return Status();
  }));
  return value;
}

Result<std::vector<RunRecord>> ResultStore::runs(std::size_t limit) {
  std::vector<RunRecord> all;
  PAWL_TRY(database_->query(
      fmt::format("SELECT {} FROM results_attempt r WHERE r.purged = '' ORDER BY r.date DESC, r.run DESC, r.attempt DESC LIMIT ?1", kRunColumns),
      {static_cast<std::int64_t>(limit)}, [&](const store::Row& row) {
        all.push_back(run_at(row, 0));
        return Status();
      }));
  return all;
}

Result<std::vector<StoredRow>> ResultStore::rows_of(std::int64_t run, std::int64_t attempt) {
  std::vector<StoredRow> all;
  PAWL_TRY(each_row(*database_, "WHERE b.run = ?1 AND b.attempt = ?2 AND r.purged = '' ORDER BY b.config_id, b.conc, b.isl, b.osl, b.id", {run, attempt},
                    [&](BenchmarkRecord record, const RunRecord& owner, std::int64_t config) {
                      Json row = record.raw.is_null() ? result_row_of(record, owner) : std::move(record.raw);
                      all.push_back({record.id, config, owner, std::move(row)});
                      return Status();
                    }));
  return all;
}

Result<std::vector<StoredRow>> ResultStore::evals_of(std::int64_t run, std::int64_t attempt) {
  std::vector<StoredRow> all;
  PAWL_TRY(each_eval(*database_, "WHERE b.run = ?1 AND b.attempt = ?2 AND r.purged = '' ORDER BY b.config_id, b.conc, b.task, b.id", {run, attempt},
                     [&](EvalRecord record, const RunRecord& owner, std::int64_t config) {
                       Json row = record.raw.is_null() ? result_row_of(record, owner) : std::move(record.raw);
                       all.push_back({record.id, config, owner, std::move(row)});
                       return Status();
                     }));
  return all;
}

Result<std::optional<io::Baseline>> StoreResults::newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) {
  if (point_keys.empty()) return std::optional<io::Baseline>();
  std::vector<RunRecord> runs;
  PAWL_TRY(database_->query(
      fmt::format("SELECT {} FROM results_attempt r WHERE r.recipe = ?1 AND r.image = ?2 AND r.purged = '' AND {} ORDER BY r.date DESC, r.run DESC",
                  kRunColumns, kNewestAttempt),
      {recipe, image}, [&](const store::Row& row) {
        runs.push_back(run_at(row, 0));
        return Status();
      }));
  for (const RunRecord& run : runs) {
    PAWL_ASSIGN(const std::vector<StoredRow> rows, store_.rows_of(run.run, run.attempt));
    std::map<std::string, const Json*> by_key;
    for (const StoredRow& stored : rows) by_key[model::row_point_key(stored.row)] = &stored.row;
    if (!std::ranges::all_of(point_keys, [&](const std::string& key) { return by_key.contains(key); })) continue;
    io::Baseline baseline;
    baseline.date = run.date, baseline.image = run.image, baseline.digest = run.digest, baseline.run = run.run, baseline.attempt = run.attempt;
    baseline.head = run.head_sha, baseline.scale = run.scale;
    for (const std::string& key : point_keys) baseline.rows.push_back(*by_key[key]);
    PAWL_ASSIGN(const std::vector<StoredRow> evals, store_.evals_of(run.run, run.attempt));
    for (const StoredRow& stored : evals) baseline.evals.push_back(stored.row);
    const Json& first = baseline.rows.front();
    const std::string prefix = text_of(first, "infmax_model_prefix"), path = text_of(first, "model");
    const std::string display = names_->display(names_->resolve(prefix, path).value_or(prefix));
    for (const char* table : {"benchmarks", "evaluations"}) {
      baseline.sources.push_back(fmt::format("/api/v1/{}?model={}&date={}&exact=true", table, url_value(display), run.date));
    }
    return std::optional<io::Baseline>(std::move(baseline));
  }
  return std::optional<io::Baseline>();
}

}  // namespace pawl::results
