#include "results/overlay.h"

#include "codec/describe.h"
#include "results/api_text.h"

namespace pawl::results {
namespace {

using codec::Json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json number_or_null(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(nullptr); }

void add_members(Json& row, const Deployment& deployment) {
  const Json columns = codec::to_json(deployment);
  for (const auto& [key, value] : columns.items()) row[key] = value;
}

}  // namespace

std::string overlay_answer(const std::vector<RunBatch>& runs) {
  Json infos = Json::array(), benchmarks = Json::array(), evaluations = Json::array();
  std::map<std::string, std::int64_t> configs;
  for (const RunBatch& batch : runs) {
    const RunRecord& run = batch.run;
    infos.push_back({{"id", run.run},
                     {"name", run.name},
                     {"branch", run.head_branch},
                     {"sha", run.head_sha},
                     {"createdAt", text_or_null(run.created_at)},
                     {"url", text_or_null(run.html_url)},
                     {"conclusion", text_or_null(run.conclusion)},
                     {"status", text_or_null(run.status)},
                     {"isNonMainBranch", !run.head_branch.empty() && run.head_branch != "main"}});
    for (const BenchmarkRecord& r : batch.rows) {
      if (!r.held.empty() || !r.error.empty()) continue;
      Json row{{"id", 0}};
      add_members(row, r.deployment);
      row["benchmark_type"] = r.benchmark_type, row["offload_mode"] = r.offload_mode;
      row["isl"] = number_or_null(r.isl), row["osl"] = number_or_null(r.osl), row["conc"] = r.conc;
      row["image"] = text_or_null(r.image), row["recipe_fingerprint"] = text_or_null(r.recipe_fingerprint);
      row["metrics"] = r.metrics;
      row["workers"] = r.workers, row["power_invalid_reasons"] = r.power_invalid_reasons, row["power_audit"] = r.power_audit;
      row["date"] = run.date, row["run_url"] = text_or_null(attempt_url(run));
      benchmarks.push_back(std::move(row));
    }
    for (const EvalRecord& e : batch.evals) {
      Json row{{"id", -1}};
      const std::string identity = codec::write_json(codec::to_json(e.deployment), codec::JsonForm::kCompactUtf8);
      row["config_id"] = -configs.try_emplace(identity, static_cast<std::int64_t>(configs.size()) + 1).first->second;
      add_members(row, e.deployment);
      row["task"] = e.task, row["date"] = run.date, row["conc"] = number_or_null(e.conc), row["metrics"] = e.metrics;
      row["timestamp"] = !e.timestamp.empty() ? e.timestamp : run.date + "T00:00:00Z";
      row["run_url"] = text_or_null(run.html_url);
      evaluations.push_back(std::move(row));
    }
  }
  return codec::write_json(Json{{"runInfos", infos}, {"benchmarks", benchmarks}, {"evaluations", evaluations}}, codec::JsonForm::kCompactUtf8);
}

}  // namespace pawl::results
