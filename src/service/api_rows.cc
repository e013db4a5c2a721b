#include "service/api_rows.h"

#include <fmt/format.h>

#include "codec/describe.h"
#include "results/deployment.h"

namespace pawl::service {
namespace {

using codec::Json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json member_or_null(const Json& row, const char* key) { return row.contains(key) ? row[key] : Json(nullptr); }

void put_deployment(Json& out, const Json& row, const results::ModelNames& names) {
  results::Deployment d = results::deployment_of_row(row);
  if (const auto key = names.resolve(results::text_of(row, "infmax_model_prefix"), results::text_of(row, "model"))) d.model = *key;
  const Json members = codec::to_json(d);
  for (const auto& [key, value] : members.items()) out[key] = value;
}

void put_ours(Json& out, const results::StoredRow& stored) {
  Json pawl = stored.row.value("pawl", Json::object());
  pawl["recipe"] = stored.run.recipe;
  out["pawl"] = std::move(pawl);
}

}  // namespace

Json benchmark_row(const results::StoredRow& stored, const results::ModelNames& names) {
  const Json& row = stored.row;
  const bool traces = !row.contains("isl");
  const std::string run = std::to_string(stored.run.run);
  Json out;
  out["id"] = std::to_string(stored.id);
  put_deployment(out, row, names);
  out["benchmark_type"] = traces ? "agentic_traces" : "single_turn";
  out["offload_mode"] = results::offload_mode_of_row(row);
  out["isl"] = member_or_null(row, "isl");
  out["osl"] = member_or_null(row, "osl");
  out["conc"] = member_or_null(row, "conc");
  out["image"] = text_or_null(results::text_of(row, "image"));
  out["recipe_fingerprint"] = text_or_null(results::text_of(row, "recipe_fingerprint"));
  out["metrics"] = results::metrics_of_row(row);
  out["workers"] = nullptr;
  out["power_invalid_reasons"] = nullptr;
  out["power_audit"] = nullptr;
  out["date"] = stored.run.date;
  if (traces) out["workflow_run_id"] = run;
  out["run_url"] = stored.run.html_url.empty() ? Json(nullptr) : Json(fmt::format("{}/attempts/{}", stored.run.html_url, stored.run.attempt));
  out["curve_date"] = stored.run.date;
  out["curve_workflow_run_id"] = run;
  put_ours(out, stored);
  return out;
}

Json evaluation_row(const results::StoredRow& stored, const results::ModelNames& names) {
  const Json& row = stored.row;
  Json out;
  out["id"] = std::to_string(stored.id);
  out["config_id"] = stored.config_id;
  put_deployment(out, row, names);
  out["task"] = results::text_of(row, "task");
  out["date"] = stored.run.date;
  out["conc"] = member_or_null(row, "conc");
  Json metrics = Json::object();
  for (const char* key : {"n_eff", "em_strict", "em_strict_se", "em_flexible", "em_flexible_se", "score", "score_se"}) {
    if (row.contains(key) && row[key].is_number()) metrics[key] = row[key];
  }
  out["metrics"] = std::move(metrics);
  const std::string measured = results::text_of(row.value("pawl", Json::object()), "measured_at");
  out["timestamp"] = measured.empty() ? stored.run.date + "T00:00:00Z" : measured;
  out["run_url"] = text_or_null(stored.run.html_url);
  put_ours(out, stored);
  return out;
}

}  // namespace pawl::service
