#include "results/result_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "codec/describe.h"
#include "model/row.h"
#include "results/deployment.h"

namespace pawl::results {
namespace {

using codec::Json;
using store::Value;

Value whole_or_null(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

PublishedRun run_at(const store::Row& row, int column) {
  PublishedRun run;
  run.run = row.whole(column);
  run.attempt = row.whole(column + 1);
  run.recipe = row.text(column + 2);
  run.image = row.text(column + 3);
  run.digest = row.text(column + 4);
  run.head = row.text(column + 5);
  run.date = row.text(column + 6);
  run.scale = row.text(column + 7);
  run.simulated = row.whole(column + 8) != 0;
  run.html_url = row.text(column + 9);
  return run;
}

constexpr const char* kRunColumns = "r.run, r.attempt, r.recipe, r.image, r.digest, r.head, r.date, r.scale, r.simulated, r.html_url";
constexpr const char* kNewestAttempt = "r.attempt = (SELECT max(n.attempt) FROM results_run n WHERE n.run = r.run)";

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

store::Schema results_schema() {
  return {"results", {R"sql(
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
)sql"}};
}

Status ResultStore::publish(const Publication& p) {
  if (!is_day(p.date)) return bad_input(fmt::format("publishing run {}: {} is not a day like 2026-11-30", p.run, p.date));
  store::Database& db = *database_;
  const auto put = [&](const Json& row, bool eval, std::set<std::string>& seen) -> Status {
    const std::string key = model::row_point_key(row), task = eval ? text_of(row, "task") : std::string();
    const std::string what = fmt::format("publishing run {}: the row {}", p.run, model::row_label(row));
    if (key.empty()) return bad_input(what + " has no pawl.point_key");
    if (eval && task.empty()) return bad_input(what + " has no task");
    if (!seen.insert(key + " " + task).second) return bad_input(what + " stands there twice");
    const Deployment deployment = deployment_of_row(row);
    const std::string identity = codec::write_json(codec::to_json(deployment), codec::JsonForm::kCompactUtf8);
    PAWL_TRY(db.execute("INSERT INTO results_config (deployment) VALUES (?1) ON CONFLICT DO NOTHING", {identity}));
    std::vector<Value> values{p.run,
                              p.attempt,
                              key,
                              identity,
                              deployment.hardware,
                              deployment.framework,
                              text_of(row, "model"),
                              text_of(row, "infmax_model_prefix"),
                              text_of(row, "precision"),
                              text_of(row, "spec_decoding"),
                              deployment.disagg,
                              whole_or_null(row, "isl"),
                              whole_or_null(row, "osl"),
                              whole_or_null(row, "conc"),
                              text_of(row, "image"),
                              p.date,
                              codec::write_json(row, codec::JsonForm::kCompactUtf8)};
    if (eval) values.emplace_back(task);
    return db.execute(
        fmt::format(
            "INSERT INTO {0} (run, attempt, point_key, config_id, hw, framework, model, model_prefix, precision, spec_decoding, disagg, isl, osl, conc, "
            "image, date, row{1}) VALUES (?1, ?2, ?3, (SELECT id FROM results_config WHERE deployment = ?4), ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
            "?14, ?15, ?16, ?17{2}) ON CONFLICT (run, attempt, point_key{1}) DO UPDATE SET config_id = excluded.config_id, hw = excluded.hw, "
            "framework = excluded.framework, model = excluded.model, model_prefix = excluded.model_prefix, precision = excluded.precision, "
            "spec_decoding = excluded.spec_decoding, disagg = excluded.disagg, isl = excluded.isl, osl = excluded.osl, conc = excluded.conc, "
            "image = excluded.image, date = excluded.date, row = excluded.row",
            eval ? "results_eval" : "results_benchmark", eval ? ", task" : "", eval ? ", ?18" : ""),
        values);
  };
  /// Rows of an earlier publication of this attempt that this one does not have.
  const auto drop_others = [&](const char* table, const char* name, const std::set<std::string>& seen) -> Status {
    std::vector<std::int64_t> gone;
    const Status read =
        db.query(fmt::format("SELECT id, {} FROM {} WHERE run = ?1 AND attempt = ?2", name, table), {p.run, p.attempt}, [&](const store::Row& row) {
          if (!seen.contains(row.text(1))) gone.push_back(row.whole(0));
          return Status();
        });
    if (!read) return read;
    for (const std::int64_t id : gone) PAWL_TRY(db.execute(fmt::format("DELETE FROM {} WHERE id = ?1", table), {id}));
    return {};
  };
  return db.transaction([&]() -> Status {
    PAWL_TRY(
        db.execute("INSERT INTO results_run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (run, attempt) DO UPDATE SET "
                   "recipe = excluded.recipe, image = excluded.image, digest = excluded.digest, head = excluded.head, date = excluded.date, "
                   "scale = excluded.scale, simulated = excluded.simulated, html_url = excluded.html_url",
                   {p.run, p.attempt, p.recipe, p.image, p.digest, p.head, p.date, p.scale, p.simulated, p.html_url}));
    std::set<std::string> rows, evals;
    for (const Json& row : p.rows) PAWL_TRY(put(row, false, rows));
    for (const Json& row : p.evals) PAWL_TRY(put(row, true, evals));
    PAWL_TRY(drop_others("results_benchmark", "point_key || ' '", rows));
    return drop_others("results_eval", "point_key || ' ' || task", evals);
  });
}

Result<std::vector<PublishedRun>> ResultStore::runs() {
  std::vector<PublishedRun> all;
  PAWL_TRY(database_->query(fmt::format("SELECT {} FROM results_run r ORDER BY r.date DESC, r.run DESC, r.attempt DESC", kRunColumns), {},
                            [&](const store::Row& row) {
                              all.push_back(run_at(row, 0));
                              return Status();
                            }));
  return all;
}

Result<std::vector<StoredRow>> ResultStore::select(const std::string& table, const std::string& condition, const std::vector<Value>& values) {
  std::vector<StoredRow> all;
  PAWL_TRY(database_->query(fmt::format("SELECT b.id, b.config_id, b.row, {} FROM {} b JOIN results_run r ON r.run = b.run AND r.attempt = b.attempt {}",
                                        kRunColumns, table, condition),
                            values, [&](const store::Row& row) -> Status {
                              PAWL_ASSIGN(Json json, codec::parse_json(row.text(2), "a stored row"));
                              all.push_back({row.whole(0), row.whole(1), run_at(row, 3), std::move(json)});
                              return {};
                            }));
  return all;
}

Result<std::vector<StoredRow>> ResultStore::rows_of(std::int64_t run, std::int64_t attempt) {
  return select("results_benchmark", "WHERE b.run = ?1 AND b.attempt = ?2 ORDER BY b.config_id, b.conc, b.isl, b.osl, b.id", {run, attempt});
}

Result<std::vector<StoredRow>> ResultStore::evals_of(std::int64_t run, std::int64_t attempt) {
  return select("results_eval", "WHERE b.run = ?1 AND b.attempt = ?2 ORDER BY b.config_id, b.conc, b.task, b.id", {run, attempt});
}

Result<std::vector<StoredRow>> ResultStore::select(const std::string& table, const RowQuery& query, const ModelNames& names) {
  std::string condition = fmt::format("WHERE {}", kNewestAttempt);
  std::vector<Value> values;
  const auto bind = [&](Value value) {
    values.push_back(std::move(value));
    return fmt::format("?{}", values.size());
  };
  if (query.model) {
    // The name table may change after a row was stored, so the names are resolved now, once a distinct pair.
    std::vector<std::pair<std::string, std::string>> pairs;
    PAWL_TRY(database_->query(fmt::format("SELECT DISTINCT model_prefix, model FROM {}", table), {}, [&](const store::Row& row) {
      const auto key = names.resolve(row.text(0), row.text(1));
      if (key && names.display(*key) == *query.model) pairs.emplace_back(row.text(0), row.text(1));
      return Status();
    }));
    std::string any = "0";
    for (const auto& [prefix, path] : pairs) any += fmt::format(" OR (b.model_prefix = {} AND b.model = {})", bind(prefix), bind(path));
    condition += fmt::format(" AND ({})", any);
  }
  if (query.date) condition += fmt::format(" AND b.date {} {}", query.exact ? "=" : "<=", bind(*query.date));
  if (query.run) condition += fmt::format(" AND b.run = {}", bind(*query.run));
  condition += table == "results_eval" ? " ORDER BY b.date DESC, b.hw, b.config_id, b.conc, b.task, b.id" : " ORDER BY b.config_id, b.conc, b.isl, b.osl, b.id";
  return select(table, condition, values);
}

Result<std::vector<StoredRow>> ResultStore::benchmarks(const RowQuery& query, const ModelNames& names) {
  PAWL_ASSIGN(std::vector<StoredRow> all, select("results_benchmark", query, names));
  const auto scope = [](const StoredRow& stored) {
    const Deployment d = deployment_of_row(stored.row);
    const std::string lengths = fmt::format("{}/{}", stored.row.value("isl", Json()).dump(), stored.row.value("osl", Json()).dump());
    // A curve of agentic traces is replaced with all its variants.
    const bool traces = !stored.row.contains("isl");
    return std::tuple(d.model, d.hardware, d.framework, d.precision, lengths, traces ? "" : d.spec_method, !traces && d.disagg,
                      traces ? "" : offload_mode_of_row(stored.row));
  };
  std::map<decltype(scope(all.front())), std::pair<std::string, std::int64_t>> newest;
  for (const StoredRow& stored : all) {
    auto& best = newest[scope(stored)];
    best = std::max(best, std::pair(stored.run.date, stored.run.run));
  }
  std::erase_if(all, [&](const StoredRow& stored) { return newest[scope(stored)] != std::pair(stored.run.date, stored.run.run); });
  return all;
}

Result<std::vector<StoredRow>> ResultStore::evaluations(const RowQuery& query, const ModelNames& names) { return select("results_eval", query, names); }

Result<std::optional<io::Baseline>> StoreResults::newest(const std::string& recipe, const std::string& image, const std::vector<std::string>& point_keys) {
  if (point_keys.empty()) return std::optional<io::Baseline>();
  std::vector<PublishedRun> runs;
  PAWL_TRY(database_->query(
      fmt::format("SELECT {} FROM results_run r WHERE r.recipe = ?1 AND r.image = ?2 AND {} ORDER BY r.date DESC, r.run DESC", kRunColumns, kNewestAttempt),
      {recipe, image}, [&](const store::Row& row) {
        runs.push_back(run_at(row, 0));
        return Status();
      }));
  for (const PublishedRun& run : runs) {
    PAWL_ASSIGN(const std::vector<StoredRow> rows, store_.rows_of(run.run, run.attempt));
    std::map<std::string, const Json*> by_key;
    for (const StoredRow& stored : rows) by_key[model::row_point_key(stored.row)] = &stored.row;
    if (!std::ranges::all_of(point_keys, [&](const std::string& key) { return by_key.contains(key); })) continue;
    io::Baseline baseline{run.date, run.image, run.digest, run.run, run.attempt, run.head, run.scale, {}, {}, {}};
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
