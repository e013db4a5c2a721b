#include "results/stored_columns.h"

#include <fmt/format.h>

#include "codec/describe.h"

namespace pawl::results {
namespace {

using codec::Json;

std::optional<std::int64_t> whole_or_nothing(const store::Row& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.whole(column));
}

std::string shown(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : "-"; }

}  // namespace

std::string row_key_of(const BenchmarkRecord& r, std::int64_t config) {
  return fmt::format("{} {} {} {} {} {} {}{}", config, r.benchmark_type, shown(r.isl), shown(r.osl), r.conc, r.offload_mode,
                     r.recipe_fingerprint.empty() ? "-" : r.recipe_fingerprint, r.point_key.empty() ? "" : " " + r.point_key);
}

std::string row_key_of(const EvalRecord& r, std::int64_t config) {
  return fmt::format("{} {} {} {} {}{}{}", config, r.task, shown(r.isl), shown(r.osl), shown(r.conc), r.copy > 0 ? fmt::format(" copy {}", r.copy) : "",
                     r.point_key.empty() ? "" : " " + r.point_key);
}

RunRecord run_at(const store::Row& row, int c) {
  RunRecord r;
  r.run = row.whole(c), r.attempt = row.whole(c + 1);
  r.name = row.text(c + 2), r.status = row.text(c + 3), r.conclusion = row.text(c + 4);
  r.head_sha = row.text(c + 5), r.head_branch = row.text(c + 6), r.html_url = row.text(c + 7);
  r.created_at = row.text(c + 8), r.started_at = row.text(c + 9), r.date = row.text(c + 10);
  r.measured_at = row.text(c + 11), r.published_at = row.text(c + 12);
  r.append_only = row.whole(c + 13) != 0, r.dataset = row.text(c + 14);
  r.recipe = row.text(c + 15), r.image = row.text(c + 16), r.digest = row.text(c + 17), r.scale = row.text(c + 18);
  r.simulated = row.whole(c + 19) != 0;
  return r;
}

Result<Json> json_or_null(const std::string& text) {
  if (text.empty()) return Json(nullptr);
  return codec::parse_json(text, "a stored row");
}

Result<Deployment> deployment_of_text(const std::string& json) {
  PAWL_ASSIGN(const Json parsed, codec::parse_json(json, "a stored deployment"));
  return codec::from_json<Deployment>(parsed, "a stored deployment");
}

Status each_row(store::Database& db, const std::string& condition, const std::vector<store::Value>& values,
                const std::function<Status(BenchmarkRecord, const RunRecord&, std::int64_t config)>& take) {
  return db.query(
      fmt::format(
          "SELECT b.id, c.deployment, b.benchmark_type, b.isl, b.osl, b.conc, b.offload_mode, b.image, b.recipe_fingerprint, b.metrics, b.workers, "
          "b.power_invalid_reasons, b.power_audit, b.error, b.held, b.measured_at, b.point_key, b.raw, b.log, b.config_id, {} FROM results_benchmark b JOIN "
          "results_attempt r ON r.run = b.run AND r.attempt = b.attempt JOIN results_config c ON c.id = b.config_id {}",
          kRunColumns, condition),
      values, [&](const store::Row& row) -> Status {
        BenchmarkRecord r;
        r.id = row.whole(0);
        PAWL_ASSIGN(r.deployment, deployment_of_text(row.text(1)));
        r.benchmark_type = row.text(2), r.isl = whole_or_nothing(row, 3), r.osl = whole_or_nothing(row, 4), r.conc = row.whole(5);
        r.offload_mode = row.text(6), r.image = row.text(7), r.recipe_fingerprint = row.text(8);
        PAWL_ASSIGN(r.metrics, codec::parse_json(row.text(9), "stored metrics"));
        PAWL_ASSIGN(r.workers, json_or_null(row.text(10)));
        PAWL_ASSIGN(r.power_invalid_reasons, json_or_null(row.text(11)));
        PAWL_ASSIGN(r.power_audit, json_or_null(row.text(12)));
        r.error = row.text(13), r.held = row.text(14), r.measured_at = row.text(15), r.point_key = row.text(16);
        PAWL_ASSIGN(r.raw, json_or_null(row.text(17)));
        r.log = row.text(18);
        return take(std::move(r), run_at(row, 20), row.whole(19));
      });
}

Status each_eval(store::Database& db, const std::string& condition, const std::vector<store::Value>& values,
                 const std::function<Status(EvalRecord, const RunRecord&, std::int64_t config)>& take) {
  return db.query(
      fmt::format("SELECT b.id, c.deployment, b.task, b.isl, b.osl, b.conc, b.metrics, b.timestamp, b.point_key, b.raw, b.config_id, {} FROM results_eval b "
                  "JOIN results_attempt r ON r.run = b.run AND r.attempt = b.attempt JOIN results_config c ON c.id = b.config_id {}",
                  kRunColumns, condition),
      values, [&](const store::Row& row) -> Status {
        EvalRecord r;
        r.id = row.whole(0);
        PAWL_ASSIGN(r.deployment, deployment_of_text(row.text(1)));
        r.task = row.text(2), r.isl = whole_or_nothing(row, 3), r.osl = whole_or_nothing(row, 4), r.conc = whole_or_nothing(row, 5);
        PAWL_ASSIGN(r.metrics, codec::parse_json(row.text(6), "stored metrics"));
        r.timestamp = row.text(7), r.point_key = row.text(8);
        PAWL_ASSIGN(r.raw, json_or_null(row.text(9)));
        return take(std::move(r), run_at(row, 11), row.whole(10));
      });
}

Result<std::vector<SampleRecord>> samples_of(store::Database& db, std::int64_t eval) {
  std::vector<SampleRecord> all;
  PAWL_TRY(db.query("SELECT doc_id, prompt, target, response, raw_response, passed, score, metrics FROM results_sample WHERE eval_id = ?1 ORDER BY doc_id",
                    {eval}, [&](const store::Row& row) -> Status {
                      SampleRecord s;
                      s.doc_id = row.whole(0), s.prompt = row.text(1), s.target = row.text(2), s.response = row.text(3), s.raw_response = row.text(4);
                      s.passed = row.whole(5) != 0;
                      if (!row.is_null(6)) s.score = row.number(6);
                      PAWL_ASSIGN(s.metrics, codec::parse_json(row.text(7), "a stored sample"));
                      all.push_back(std::move(s));
                      return {};
                    }));
  return all;
}

}  // namespace pawl::results
