#include "results/dump.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "codec/describe.h"

namespace pawl::results {
namespace {

using codec::Json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json number_or_null(const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(nullptr); }

std::string csv_cell(const std::string& text) {
  // A spreadsheet must not run what a row says.
  const bool formula = !text.empty() && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@');
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = formula ? "\"'" : "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_value(const Json& value) {
  if (value.is_null()) return {};
  return value.is_string() ? csv_cell(value.get<std::string>()) : codec::write_json(value, codec::JsonForm::kCompactUtf8);
}

}  // namespace

Result<std::map<std::string, std::string>> dump_tables(ResultStore& store) {
  std::map<std::string, std::int64_t> configs;
  Json config_rows = Json::array(), runs = Json::array(), benchmarks = Json::array(), evals = Json::array(), stats = Json::array(), changelog = Json::array(),
       availability = Json::array();
  const auto config_of = [&](const Deployment& deployment) {
    Json row = codec::to_json(deployment);
    const std::string key = codec::write_json(row, codec::JsonForm::kCompactUtf8);
    const auto [found, fresh] = configs.try_emplace(key, static_cast<std::int64_t>(configs.size()) + 1);
    if (fresh) {
      Json whole{{"id", found->second}};
      for (const auto& [name, value] : row.items()) whole[name] = value;
      config_rows.push_back(std::move(whole));
    }
    return found->second;
  };
  std::int64_t run_id = 0;
  PAWL_TRY(store.each_batch([&](const RunBatch& batch) {
    const RunRecord& r = batch.run;
    const std::string id = std::to_string(++run_id);
    runs.push_back({{"id", id},
                    {"github_run_id", std::to_string(r.run)},
                    {"run_attempt", r.attempt},
                    {"name", r.name},
                    {"status", text_or_null(r.status)},
                    {"conclusion", text_or_null(r.conclusion)},
                    {"head_sha", text_or_null(r.head_sha)},
                    {"head_branch", text_or_null(r.head_branch)},
                    {"html_url", text_or_null(r.html_url)},
                    {"created_at", text_or_null(r.created_at)},
                    {"run_started_at", text_or_null(r.started_at)},
                    {"date", r.date},
                    {"append_only", r.append_only}});
    for (const BenchmarkRecord& b : batch.rows) {
      Json row{{"id", std::to_string(b.id)},
               {"workflow_run_id", id},
               {"config_id", config_of(b.deployment)},
               {"benchmark_type", b.benchmark_type},
               {"date", r.date},
               {"isl", number_or_null(b.isl)},
               {"osl", number_or_null(b.osl)},
               {"conc", b.conc},
               {"offload_mode", b.offload_mode},
               {"image", text_or_null(b.image)},
               {"recipe_fingerprint", text_or_null(b.recipe_fingerprint)},
               {"metrics", b.metrics},
               {"workers", b.workers},
               {"power_invalid_reasons", b.power_invalid_reasons},
               {"power_audit", b.power_audit},
               {"error", text_or_null(b.error)}};
      if (!b.point_key.empty()) row["pawl"] = Json{{"point_key", b.point_key}};
      benchmarks.push_back(std::move(row));
    }
    for (const EvalRecord& e : batch.evals) {
      evals.push_back({{"id", std::to_string(e.id)},
                       {"workflow_run_id", id},
                       {"config_id", config_of(e.deployment)},
                       {"task", e.task},
                       {"date", r.date},
                       {"isl", number_or_null(e.isl)},
                       {"osl", number_or_null(e.osl)},
                       {"conc", number_or_null(e.conc)},
                       {"metrics", e.metrics},
                       {"timestamp", text_or_null(e.timestamp)}});
    }
    for (const RunStatRecord& s : batch.stats) {
      stats.push_back({{"workflow_run_id", id}, {"date", r.date}, {"hardware", s.hardware}, {"n_success", s.n_success}, {"total", s.total}});
    }
    for (const ChangelogRecord& c : batch.changelog) {
      changelog.push_back({{"workflow_run_id", id},
                           {"date", r.date},
                           {"base_ref", c.base_ref},
                           {"head_ref", c.head_ref},
                           {"config_keys", c.config_keys},
                           {"description", c.description},
                           {"pr_link", text_or_null(c.pr_link)},
                           {"append_only", c.append_only}});
    }
    return Status();
  }));
  PAWL_ASSIGN(const auto facts, store.availability());
  for (const AvailabilityRecord& f : facts) {
    availability.push_back({{"model", f.model},
                            {"isl", number_or_null(f.isl)},
                            {"osl", number_or_null(f.osl)},
                            {"precision", f.precision},
                            {"hardware", f.hardware},
                            {"framework", f.framework},
                            {"spec_method", f.spec_method},
                            {"disagg", f.disagg},
                            {"benchmark_type", f.benchmark_type},
                            {"date", f.date}});
  }
  std::map<std::string, std::string> files;
  for (const auto& [name, rows] : {std::pair("configs.json", &config_rows),
                                   {"workflow_runs.json", &runs},
                                   {"benchmark_results.json", &benchmarks},
                                   {"run_stats.json", &stats},
                                   {"eval_results.json", &evals},
                                   {"availability.json", &availability},
                                   {"changelog_entries.json", &changelog}}) {
    files[name] = codec::write_json(*rows, codec::JsonForm::kCompactUtf8) + "\n";
  }
  return files;
}

Result<std::string> rows_as_csv(ResultStore& store) {
  std::set<std::string> metrics;
  PAWL_TRY(store.each_batch([&](const RunBatch& batch) {
    for (const BenchmarkRecord& row : batch.rows) {
      for (const auto& [key, value] : row.metrics.items()) metrics.insert(key);
    }
    return Status();
  }));
  std::string out = "run,attempt,date";
  const Json columns = codec::to_json(Deployment{});
  for (const auto& [name, value] : columns.items()) out += "," + name;
  out += ",benchmark_type,offload_mode,isl,osl,conc,image,recipe_fingerprint,held";
  for (const std::string& name : metrics) out += "," + csv_cell(name);
  out += '\n';
  PAWL_TRY(store.each_batch([&](const RunBatch& batch) {
    for (const BenchmarkRecord& r : batch.rows) {
      out += fmt::format("{},{},{}", batch.run.run, batch.run.attempt, batch.run.date);
      const Json identity = codec::to_json(r.deployment);
      for (const auto& [name, value] : identity.items()) out += "," + csv_value(value);
      out += fmt::format(",{},{},{},{},{},{},{},{}", r.benchmark_type, r.offload_mode, csv_value(number_or_null(r.isl)), csv_value(number_or_null(r.osl)),
                         r.conc, csv_cell(r.image), csv_cell(r.recipe_fingerprint), csv_cell(r.held));
      for (const std::string& name : metrics) out += "," + (r.metrics.contains(name) ? csv_value(r.metrics[name]) : "");
      out += '\n';
    }
    return Status();
  }));
  return out;
}

}  // namespace pawl::results
