#include <fmt/format.h>

#include <map>

#include "codec/describe.h"
#include "results/result_store.h"
#include "results/stored_columns.h"

// Looking after a store: copies, checks, retention; and records as the rows of our own runner.
namespace pawl::results {
namespace {

using codec::Json;

Json identity_of(const Deployment& d, const RunRecord& run, std::int64_t conc, const std::string& image, const std::string& fingerprint,
                 const std::optional<std::int64_t>& isl, const std::optional<std::int64_t>& osl) {
  Json row;
  row["hw"] = d.hardware;
  row["conc"] = conc;
  row["image"] = image.empty() ? run.image : image;
  row["infmax_model_prefix"] = d.model;
  row["framework"] = d.framework;
  row["precision"] = d.precision;
  row["spec_decoding"] = d.spec_method;
  if (!fingerprint.empty()) row["recipe_fingerprint"] = fingerprint;
  row["disagg"] = d.disagg;
  row["is_multinode"] = d.is_multinode;
  if (isl) row["isl"] = *isl;
  if (osl) row["osl"] = *osl;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  if (!d.is_multinode && !d.disagg) {
    row["tp"] = d.prefill_tp;
    row["ep"] = d.prefill_ep;
    row["dp_attention"] = flag(d.prefill_dp_attention);
    row["num_gpus"] = d.num_prefill_gpu;
    return row;
  }
  row["prefill_tp"] = d.prefill_tp;
  row["prefill_ep"] = d.prefill_ep;
  row["prefill_dp_attention"] = flag(d.prefill_dp_attention);
  row["prefill_num_workers"] = d.prefill_num_workers;
  row["num_prefill_gpu"] = d.num_prefill_gpu;
  row["decode_tp"] = d.decode_tp;
  row["decode_ep"] = d.decode_ep;
  row["decode_dp_attention"] = flag(d.decode_dp_attention);
  row["decode_num_workers"] = d.decode_num_workers;
  row["num_decode_gpu"] = d.num_decode_gpu;
  return row;
}

Json origin_of(const RunRecord& run, std::int64_t id, const std::string& point_key, const std::string& measured_at) {
  Json origin{{"run", run.run}, {"attempt", run.attempt}, {"scale", run.scale}};
  if (id > 0) origin["id"] = std::to_string(id);
  if (!point_key.empty()) origin["point_key"] = point_key;
  if (!measured_at.empty()) origin["measured_at"] = measured_at;
  return origin;
}

}  // namespace

Json result_row_of(const BenchmarkRecord& r, const RunRecord& run) {
  Json row = identity_of(r.deployment, run, r.conc, r.image, r.recipe_fingerprint, r.isl, r.osl);
  for (const auto& [key, value] : r.metrics.items()) row[key] = value;
  row["pawl"] = origin_of(run, r.id, r.point_key, r.measured_at);
  return row;
}

Json result_row_of(const EvalRecord& r, const RunRecord& run) {
  Json row = identity_of(r.deployment, run, r.conc.value_or(0), {}, {}, r.isl, r.osl);
  row["task"] = r.task;
  for (const auto& [key, value] : r.metrics.items()) row[key] = value;
  row["pawl"] = origin_of(run, r.id, r.point_key, r.timestamp);
  return row;
}

Status ResultStore::each_batch(const std::function<Status(const RunBatch&)>& take) {
  std::vector<RunRecord> runs;
  PAWL_TRY(database_->query(fmt::format("SELECT {} FROM results_attempt r ORDER BY r.date, r.run, r.attempt", kRunColumns), {}, [&](const store::Row& row) {
    runs.push_back(run_at(row, 0));
    return Status();
  }));
  for (RunRecord& run : runs) {
    RunBatch batch;
    const std::vector<store::Value> key{run.run, run.attempt};
    PAWL_TRY(each_row(*database_, "WHERE b.run = ?1 AND b.attempt = ?2 ORDER BY b.id", key, [&](BenchmarkRecord record, const RunRecord&, std::int64_t) {
      batch.rows.push_back(std::move(record));
      return Status();
    }));
    std::map<std::int64_t, BenchmarkRecord*> by_id;
    for (BenchmarkRecord& record : batch.rows) by_id[record.id] = &record;
    PAWL_TRY(database_->query(
        "SELECT p.row_id, p.run, p.attempt FROM results_curve_row p JOIN results_benchmark b ON b.id = p.row_id WHERE b.run = ?1 AND b.attempt = ?2", key,
        [&](const store::Row& row) {
          if (const auto found = by_id.find(row.whole(0)); found != by_id.end()) {
            found->second->curve_run = row.whole(1);
            found->second->curve_attempt = row.whole(2);
          }
          return Status();
        }));
    std::map<std::string, std::int64_t> copies;
    PAWL_TRY(each_eval(*database_, "WHERE b.run = ?1 AND b.attempt = ?2 ORDER BY b.id", key, [&](EvalRecord record, const RunRecord&, std::int64_t config) {
      record.copy = copies[row_key_of(record, config)]++;
      record.config_id = config;
      batch.evals.push_back(std::move(record));
      return Status();
    }));
    for (EvalRecord& record : batch.evals) {
      PAWL_ASSIGN(record.samples, samples_of(*database_, record.id));
    }
    PAWL_TRY(database_->query("SELECT name, file, text FROM results_log_piece WHERE run = ?1 AND attempt = ?2 ORDER BY name, file, piece", key,
                              [&](const store::Row& row) {
                                const bool goes_on = !batch.logs.empty() && batch.logs.back().name == row.text(0) && batch.logs.back().file == row.text(1);
                                if (!goes_on) batch.logs.push_back({row.text(0), row.text(1), {}});
                                batch.logs.back().text += row.text(2);
                                return Status();
                              }));
    PAWL_TRY(database_->query(
        "SELECT base_ref, head_ref, config_keys, description, pr_link, append_only FROM results_changelog WHERE run = ?1 AND attempt = ?2 ORDER BY base_ref",
        key, [&](const store::Row& row) -> Status {
          PAWL_ASSIGN(const Json keys, codec::parse_json(row.text(2), "a stored changelog entry"));
          ChangelogRecord entry;
          entry.base_ref = row.text(0), entry.head_ref = row.text(1), entry.description = row.text(3), entry.pr_link = row.text(4);
          entry.append_only = row.whole(5) != 0;
          for (const Json& item : keys) entry.config_keys.push_back(item.get<std::string>());
          batch.changelog.push_back(std::move(entry));
          return {};
        }));
    PAWL_TRY(database_->query("SELECT hardware, n_success, total FROM results_run_stat WHERE run = ?1 AND attempt = ?2 ORDER BY hardware", key,
                              [&](const store::Row& row) {
                                batch.stats.push_back({row.text(0), row.whole(1), row.whole(2)});
                                return Status();
                              }));
    batch.run = std::move(run);
    PAWL_TRY(take(batch));
  }
  return {};
}

Status ResultStore::settle_attempts(std::vector<RunBatch>& batches) {
  for (RunBatch& batch : batches) {
    if (batch.run.attempt != 0) continue;
    batch.run.attempt = 1;
    PAWL_TRY(database_->query("SELECT max(attempt) FROM results_attempt WHERE run = ?1", {batch.run.run}, [&](const store::Row& row) {
      if (!row.is_null(0)) batch.run.attempt = row.whole(0);
      return Status();
    }));
    for (BenchmarkRecord& row : batch.rows) {
      if (row.curve_run != 0 && row.curve_attempt == 0) row.curve_attempt = 1;
    }
  }
  return {};
}

Status ResultStore::copy_from(ResultStore& source, const std::string& at, const std::function<void(const RunRecord&)>& progress) {
  PAWL_ASSIGN(const auto mine, runs(1));
  if (!mine.empty()) return conflict("the store to copy into is not empty", "give a new file, or a database without results");
  // Curve memberships point at rows of other runs: they come when all rows are there.
  struct Membership {
    std::int64_t run, attempt, row;
  };
  std::vector<Membership> memberships;
  PAWL_TRY(source.database_->snapshot([&]() -> Status {
    PAWL_TRY(database_->transaction([&]() -> Status {
      // Answers are ordered by the ids of configurations: they stay.
      PAWL_TRY(source.database_->query("SELECT id, deployment FROM results_config ORDER BY id", {}, [&](const store::Row& row) {
        return database_->execute("INSERT INTO results_config (id, deployment) VALUES (?1, ?2)", {row.whole(0), row.text(1)});
      }));
      PAWL_TRY(source.each_batch([&](const RunBatch& batch) -> Status {
        RunBatch copy = batch;
        for (BenchmarkRecord& row : copy.rows) row.curve_run = 0;
        if (progress) progress(batch.run);
        PAWL_TRY(write({std::move(copy)}, WriteMode::kReplace, {at, "copy", fmt::format("run {} attempt {}", batch.run.run, batch.run.attempt)}));
        return {};
      }));
      PAWL_TRY(source.database_->query("SELECT run, attempt, row_id FROM results_curve_row", {}, [&](const store::Row& row) {
        memberships.push_back({row.whole(0), row.whole(1), row.whole(2)});
        return Status();
      }));
      for (const Membership& m : memberships) PAWL_TRY(database_->execute("INSERT INTO results_curve_row VALUES (?1, ?2, ?3)", {m.run, m.attempt, m.row}));
      PAWL_TRY(source.database_->query("SELECT run, attempt, purged FROM results_attempt WHERE purged <> ''", {}, [&](const store::Row& row) {
        return database_->execute("UPDATE results_attempt SET purged = ?3 WHERE run = ?1 AND attempt = ?2", {row.whole(0), row.whole(1), row.text(2)});
      }));
      PAWL_TRY(source.database_->query("SELECT id, accepted FROM results_benchmark WHERE accepted <> ''", {}, [&](const store::Row& row) {
        return database_->execute("UPDATE results_benchmark SET accepted = ?2 WHERE id = ?1", {row.whole(0), row.text(1)});
      }));
      return source.database_->query("SELECT fact, date FROM results_availability", {}, [&](const store::Row& row) {
        return database_->execute("INSERT INTO results_availability VALUES (?1, ?2) ON CONFLICT DO NOTHING", {row.text(0), row.text(1)});
      });
    }));
    return {};
  }));
  return {};
}

Status ResultStore::write_availability(const std::vector<AvailabilityRecord>& facts) {
  return database_->transaction([&]() -> Status {
    PAWL_TRY(database_->execute("UPDATE results_meta SET value = value + 1 WHERE key = 'generation'"));
    for (const AvailabilityRecord& f : facts) {
      Json fact{{"model", f.model},
                {"isl", nullptr},
                {"osl", nullptr},
                {"precision", f.precision},
                {"hardware", f.hardware},
                {"framework", f.framework},
                {"spec_method", f.spec_method},
                {"disagg", f.disagg},
                {"benchmark_type", f.benchmark_type},
                {"date", f.date}};
      if (f.isl) fact["isl"] = *f.isl;
      if (f.osl) fact["osl"] = *f.osl;
      PAWL_TRY(database_->execute("INSERT INTO results_availability VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                                  {codec::write_json(fact, codec::JsonForm::kCompactUtf8), f.date}));
    }
    return {};
  });
}

Result<std::vector<AvailabilityRecord>> ResultStore::availability() {
  std::vector<AvailabilityRecord> all;
  PAWL_TRY(database_->query("SELECT fact FROM results_availability ORDER BY date, fact", {}, [&](const store::Row& row) -> Status {
    PAWL_ASSIGN(const Json fact, codec::parse_json(row.text(0), "a stored availability"));
    AvailabilityRecord f;
    f.model = text_of(fact, "model"), f.precision = text_of(fact, "precision"), f.hardware = text_of(fact, "hardware");
    f.framework = text_of(fact, "framework"), f.spec_method = text_of(fact, "spec_method"), f.benchmark_type = text_of(fact, "benchmark_type");
    f.date = text_of(fact, "date"), f.disagg = fact.value("disagg", false);
    if (fact["isl"].is_number_integer()) f.isl = fact["isl"].get<std::int64_t>();
    if (fact["osl"].is_number_integer()) f.osl = fact["osl"].get<std::int64_t>();
    all.push_back(std::move(f));
    return {};
  }));
  return all;
}

Result<std::vector<std::string>> ResultStore::verify() {
  PAWL_ASSIGN(std::vector<std::string> problems, database_->check());
  const auto count = [&](const char* sql, const char* text) {
    return database_->query(sql, {}, [&](const store::Row& row) {
      if (row.whole(0) > 0) problems.push_back(fmt::format("{}: {}", text, row.whole(0)));
      return Status();
    });
  };
  PAWL_TRY(count("SELECT count(*) FROM results_benchmark b WHERE NOT EXISTS (SELECT 1 FROM results_attempt r WHERE r.run = b.run AND r.attempt = b.attempt)",
                 "benchmark rows of no run"));
  PAWL_TRY(count("SELECT count(*) FROM results_eval b WHERE NOT EXISTS (SELECT 1 FROM results_attempt r WHERE r.run = b.run AND r.attempt = b.attempt)",
                 "eval rows of no run"));
  PAWL_TRY(count("SELECT count(*) FROM results_attempt WHERE generation > (SELECT value FROM results_meta WHERE key = 'generation')",
                 "runs newer than the store's generation"));
  PAWL_TRY(count("SELECT count(*) FROM results_curve_row p WHERE NOT EXISTS (SELECT 1 FROM results_benchmark b WHERE b.id = p.row_id)",
                 "curve memberships of no row"));
  PAWL_TRY(database_->snapshot([&]() -> Status {
    return each_row(*database_, "ORDER BY b.id", {}, [&](const BenchmarkRecord& r, const RunRecord& run, std::int64_t) {
      const bool agentic = r.benchmark_type == "agentic_traces";
      if (r.conc <= 0) problems.push_back(fmt::format("row {} of run {}: concurrency {}", r.id, run.run, r.conc));
      if (agentic == r.isl.has_value())
        problems.push_back(fmt::format("row {} of run {}: a {} row {} lengths", r.id, run.run, r.benchmark_type, r.isl ? "with" : "without"));
      for (const auto& [key, value] : r.metrics.items()) {
        if (!value.is_number() && !value.is_string())
          problems.push_back(fmt::format("row {} of run {}: the metric {} is {}", r.id, run.run, key, value.type_name()));
      }
      return Status();
    });
  }));
  PAWL_TRY(each_eval(*database_, "ORDER BY b.id", {}, [](const EvalRecord&, const RunRecord&, std::int64_t) { return Status(); }));
  return problems;
}

Result<std::int64_t> ResultStore::prune(const std::string& before_day, const std::string& at) {
  std::int64_t removed = 0;
  PAWL_TRY(database_->transaction([&]() -> Status {
    const std::string hidden =
        "(run, attempt) IN (SELECT r.run, r.attempt FROM results_attempt r WHERE r.date < ?1 AND (r.purged <> '' OR r.attempt < (SELECT max(n.attempt) FROM "
        "results_attempt n "
        "WHERE n.run = r.run AND n.purged = '')))";
    PAWL_TRY(
        database_->execute(fmt::format("DELETE FROM results_curve_row WHERE row_id IN (SELECT id FROM results_benchmark WHERE {})", hidden), {before_day}));
    PAWL_TRY(database_->execute(fmt::format("DELETE FROM results_sample WHERE eval_id IN (SELECT id FROM results_eval WHERE {})", hidden), {before_day}));
    PAWL_TRY(database_->execute(fmt::format("DELETE FROM results_log_piece WHERE {}", hidden), {before_day}));
    for (const char* table : {"results_benchmark", "results_eval", "results_run_stat", "results_changelog"}) {
      PAWL_TRY(database_->execute(fmt::format("DELETE FROM {} WHERE {}", table, hidden), {before_day}));
      removed += database_->changes();
    }
    // The attempt itself stays: a later ingest must still find that it was purged or superseded.
    return database_->execute("INSERT INTO results_audit (at, who, action, detail) VALUES (?1, 'local', 'prune', ?2)",
                              {at, fmt::format("{} rows published before {}", removed, before_day)});
  }));
  return removed;
}

}  // namespace pawl::results
