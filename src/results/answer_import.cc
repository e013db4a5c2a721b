#include "results/answer_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "codec/describe.h"
#include "results/artifact_set.h"
#include "results/result_store.h"
#include "results/row_mapper.h"

namespace pawl::results {
namespace {

using codec::Json;

std::optional<std::int64_t> whole_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return std::nullopt;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  // 64-bit ids are texts on the wire, or numbers.
  return found->is_string() ? parse_int(found->get_ref<const std::string&>()) : std::nullopt;
}

bool flag_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_boolean() && found->get<bool>();
}

/// The 17 columns as the API gives them; nothing when a text of them is missing.
std::optional<Deployment> deployment_of(const Json& row) {
  Deployment d;
  d.hardware = text_of(row, "hardware"), d.framework = text_of(row, "framework"), d.model = text_of(row, "model"), d.precision = text_of(row, "precision");
  d.spec_method = text_of(row, "spec_method");
  if (d.hardware.empty() || d.framework.empty() || d.model.empty() || d.precision.empty()) return std::nullopt;
  if (d.spec_method.empty()) d.spec_method = "none";
  d.disagg = flag_of(row, "disagg"), d.is_multinode = flag_of(row, "is_multinode");
  d.prefill_tp = whole_of(row, "prefill_tp").value_or(0), d.prefill_ep = whole_of(row, "prefill_ep").value_or(1);
  d.prefill_dp_attention = flag_of(row, "prefill_dp_attention"), d.prefill_num_workers = whole_of(row, "prefill_num_workers").value_or(0);
  d.decode_tp = whole_of(row, "decode_tp").value_or(0), d.decode_ep = whole_of(row, "decode_ep").value_or(1);
  d.decode_dp_attention = flag_of(row, "decode_dp_attention"), d.decode_num_workers = whole_of(row, "decode_num_workers").value_or(0);
  d.num_prefill_gpu = whole_of(row, "num_prefill_gpu").value_or(0), d.num_decode_gpu = whole_of(row, "num_decode_gpu").value_or(0);
  return d;
}

/// "…/runs/N" or "…/runs/N/attempts/A"; attempt 0: not told.
struct RunUrl {
  std::int64_t run = 0, attempt = 0;
  std::string page;
};
std::optional<RunUrl> run_url_of(const std::string& url) {
  constexpr std::string_view kRuns = "/runs/", kAttempts = "/attempts/", kOurs = "pawl:run/";
  RunUrl out;
  std::size_t at = std::string::npos;
  if (url.starts_with(kOurs)) {
    at = kOurs.size();
  } else if (const auto found = url.rfind(kRuns); found != std::string::npos) {
    at = found + kRuns.size();
  }
  if (at == std::string::npos) return std::nullopt;
  const auto end = url.find('/', at);
  const auto run = parse_int(std::string_view(url).substr(at, end == std::string::npos ? end : end - at));
  if (!run || *run <= 0) return std::nullopt;
  out.run = *run;
  out.page = url.substr(0, end);
  if (end != std::string::npos && std::string_view(url).substr(end).starts_with(kAttempts)) {
    out.attempt = parse_int(std::string_view(url).substr(end + kAttempts.size())).value_or(0);
  }
  return out;
}

/// Finds or makes the batch of a run; an attempt that is not told joins the newest one that is.
RunBatch& batch_for(ImportedAnswers& into, const RunUrl& url) {
  RunBatch* best = nullptr;
  for (RunBatch& batch : into.batches) {
    if (batch.run.run != url.run) continue;
    if (batch.run.attempt == url.attempt) return batch;
    if (batch.run.attempt == 0) {
      batch.run.attempt = url.attempt;
      return batch;
    }
    if (best == nullptr || batch.run.attempt > best->run.attempt) best = &batch;
  }
  if (best != nullptr && url.attempt == 0) return *best;
  into.batches.emplace_back();
  RunBatch& fresh = into.batches.back();
  fresh.run.run = url.run, fresh.run.attempt = url.attempt, fresh.run.html_url = url.page;
  return fresh;
}

/// "2026-09-01 17:04:07+00" as ISO 8601.
std::string iso_time(const std::string& text) {
  if (text.size() >= 19 && text[10] == ' ') return text.substr(0, 10) + "T" + text.substr(11, 8) + "Z";
  if (text.size() >= 19 && text[10] == 'T') return text.substr(0, 19) + "Z";
  return text;
}

/// Numbers and the documented texts; whatever else stands there is counted.
Json metrics_of(const Json& row, IngestCounts& counts) {
  Json out = Json::object();
  const auto found = row.find("metrics");
  if (found == row.end()) return out;
  Json parsed = *found;
  if (parsed.is_string()) parsed = codec::parse_json(parsed.get_ref<const std::string&>(), "metrics").value_or(Json::object());
  if (!parsed.is_object()) return out;
  for (const auto& [key, value] : parsed.items()) {
    if (value.is_number() || value.is_string()) {
      out[key] = value;
    } else {
      ++counts.non_finite_metric[key];
    }
  }
  return out;
}

std::optional<std::int64_t> length_of(const Json& row, const char* key) {
  const auto length = whole_of(row, key);
  return length && *length > 0 ? length : std::nullopt;
}

std::optional<BenchmarkRecord> benchmark_of(const Json& row, IngestCounts& counts) {
  const auto deployment = row.is_object() ? deployment_of(row) : std::nullopt;
  const auto conc = row.is_object() ? whole_of(row, "conc") : std::nullopt;
  if (!deployment || !conc || *conc <= 0) {
    ++counts.skipped[deployment ? "noIslOsl" : "noIdentity"];
    return std::nullopt;
  }
  BenchmarkRecord r;
  r.id = whole_of(row, "id").value_or(0);
  r.deployment = *deployment;
  r.isl = length_of(row, "isl"), r.osl = length_of(row, "osl");
  r.benchmark_type = text_of(row, "benchmark_type");
  if (r.benchmark_type.empty()) r.benchmark_type = r.isl ? "single_turn" : "agentic_traces";
  r.conc = *conc;
  r.offload_mode = text_of(row, "offload_mode") == "on" ? "on" : "off";
  r.image = text_of(row, "image"), r.recipe_fingerprint = text_of(row, "recipe_fingerprint");
  r.metrics = metrics_of(row, counts);
  for (const auto& [key, into] : {std::pair("workers", &r.workers), {"power_invalid_reasons", &r.power_invalid_reasons}, {"power_audit", &r.power_audit}}) {
    if (row.contains(key)) *into = row[key];
  }
  r.error = text_of(row, "error");
  if (row.contains("pawl") && row["pawl"].is_object()) {
    r.point_key = text_of(row["pawl"], "point_key");
    r.measured_at = text_of(row["pawl"], "measured_at");
  }
  if (r.isl && r.osl) {
    const bool sized = r.deployment.num_prefill_gpu > 0 || r.deployment.num_decode_gpu > 0;
    const UnitCheck check = check_units(r.metrics, sized ? gpus_of(r.deployment) : 0, r.conc, *r.isl, *r.osl);
    if (!check.verdict.empty()) {
      r.held = check.verdict + ": " + check.text;
      ++counts.held[check.verdict];
    }
  }
  return r;
}

std::optional<EvalRecord> evaluation_of(const Json& row, IngestCounts& counts) {
  const auto deployment = row.is_object() ? deployment_of(row) : std::nullopt;
  const std::string task = row.is_object() ? lower_case(text_of(row, "task")) : std::string();
  if (!deployment || task.empty()) {
    ++counts.skipped[deployment ? "noTask" : "noIdentity"];
    return std::nullopt;
  }
  EvalRecord r;
  r.id = whole_of(row, "id").value_or(0);
  r.config_id = whole_of(row, "config_id").value_or(0);
  r.deployment = *deployment;
  r.task = task;
  r.isl = length_of(row, "isl"), r.osl = length_of(row, "osl"), r.conc = whole_of(row, "conc");
  r.metrics = metrics_of(row, counts);
  r.timestamp = text_of(row, "timestamp");
  if (row.contains("pawl") && row["pawl"].is_object()) r.point_key = text_of(row["pawl"], "point_key");
  return r;
}

/// Rows that no column tells apart are numbered, so that none takes the place of another.
void number_copies(std::vector<EvalRecord>& evals) {
  std::map<std::string, std::int64_t> seen;
  for (EvalRecord& e : evals) {
    e.copy = 0;
    const std::string key = row_key_of(e, 0) + codec::write_json(codec::to_json(e.deployment), codec::JsonForm::kCompactUtf8);
    e.copy = seen[key]++;
  }
}

bool is_list(const Json& rows, const char* what, IngestCounts& counts) {
  if (rows.is_array()) return true;
  ++counts.skipped["badAnswer"];
  note(counts, fmt::format("{}: the answer is no list", what));
  return false;
}

// ── The dump of the public app ──────────────────────────────────────────────────────────────────────────────────────

using Tables = std::map<std::string, Json>;

const Json& table(const Tables& tables, const char* name) {
  static const Json kNone = Json::array();
  const auto found = tables.find(name);
  return found == tables.end() || !found->second.is_array() ? kNone : found->second;
}

ImportedAnswers import_dump(const Tables& tables, IngestCounts& counts) {
  ImportedAnswers out;
  std::map<std::int64_t, Json> configs;
  for (const Json& row : table(tables, "configs")) {
    if (const auto id = row.is_object() ? whole_of(row, "id") : std::nullopt) configs.emplace(*id, row);
  }
  std::map<std::int64_t, std::size_t> batch_of_run;
  for (const Json& row : table(tables, "workflow_runs")) {
    const auto id = row.is_object() ? whole_of(row, "id") : std::nullopt, run = row.is_object() ? whole_of(row, "github_run_id") : std::nullopt;
    if (!id || !run) {
      ++counts.skipped["badRun"];
      continue;
    }
    RunBatch batch;
    batch.run.run = *run, batch.run.attempt = whole_of(row, "run_attempt").value_or(0);
    batch.run.name = text_of(row, "name"), batch.run.status = text_of(row, "status"), batch.run.conclusion = text_of(row, "conclusion");
    batch.run.head_sha = text_of(row, "head_sha"), batch.run.head_branch = text_of(row, "head_branch"), batch.run.html_url = text_of(row, "html_url");
    batch.run.created_at = iso_time(text_of(row, "created_at")), batch.run.started_at = iso_time(text_of(row, "run_started_at"));
    const std::string date = text_of(row, "date").empty() ? batch.run.created_at : text_of(row, "date");
    batch.run.date = date.substr(0, std::min<std::size_t>(date.size(), 10));
    batch.run.append_only = flag_of(row, "append_only");
    batch_of_run[*id] = out.batches.size();
    out.batches.push_back(std::move(batch));
  }
  const auto owner = [&](const Json& row) -> RunBatch* {
    const auto id = row.is_object() ? whole_of(row, "workflow_run_id") : std::nullopt;
    const auto found = id ? batch_of_run.find(*id) : batch_of_run.end();
    if (found != batch_of_run.end()) return &out.batches[found->second];
    ++counts.skipped["noRun"];
    return nullptr;
  };
  /// The row with the columns of its configuration.
  const auto whole_row = [&](const Json& row) -> std::optional<Json> {
    const auto id = whole_of(row, "config_id");
    const auto found = id ? configs.find(*id) : configs.end();
    if (found == configs.end()) {
      ++counts.skipped["noIdentity"];
      return std::nullopt;
    }
    Json all = row;
    for (const auto& [key, value] : found->second.items()) {
      if (key != "id") all[key] = value;
    }
    return all;
  };
  for (const Json& row : table(tables, "eval_results")) {
    RunBatch* batch = owner(row);
    const auto all = batch != nullptr ? whole_row(row) : std::nullopt;
    auto record = all ? evaluation_of(*all, counts) : std::nullopt;
    if (!record) continue;
    if (record->timestamp.empty()) record->timestamp = iso_time(text_of(*all, "created_at"));
    batch->evals.push_back(std::move(*record));
  }
  for (const Json& row : table(tables, "benchmark_results")) {
    RunBatch* batch = owner(row);
    const auto all = batch != nullptr ? whole_row(row) : std::nullopt;
    if (auto record = all ? benchmark_of(*all, counts) : std::nullopt) batch->rows.push_back(std::move(*record));
  }
  for (const Json& row : table(tables, "run_stats")) {
    RunBatch* batch = owner(row);
    const auto good = batch != nullptr ? whole_of(row, "n_success") : std::nullopt, all = batch != nullptr ? whole_of(row, "total") : std::nullopt;
    if (good && all && *good >= 0 && *good <= *all) batch->stats.push_back({text_of(row, "hardware"), *good, *all});
  }
  for (const Json& row : table(tables, "changelog_entries")) {
    RunBatch* batch = owner(row);
    if (batch == nullptr) continue;
    ChangelogRecord entry{text_of(row, "base_ref"),   text_of(row, "head_ref"), text_of(row, "description"), text_of(row, "pr_link"), {},
                          flag_of(row, "append_only")};
    if (row.contains("config_keys") && row["config_keys"].is_array()) {
      for (const Json& key : row["config_keys"]) {
        if (key.is_string()) entry.config_keys.push_back(key.get<std::string>());
      }
    }
    batch->changelog.push_back(std::move(entry));
  }
  import_availability(table(tables, "availability"), out, counts);
  for (RunBatch& batch : out.batches) number_copies(batch.evals);
  return out;
}

}  // namespace

void import_benchmarks(const Json& rows, bool history, ImportedAnswers& into, IngestCounts& counts) {
  if (!is_list(rows, "benchmarks", counts)) return;
  struct Seen {
    RunUrl url;
    std::string date;
    BenchmarkRecord record;
    std::string scope, started;
  };
  std::vector<Seen> all;
  std::map<std::string, std::pair<std::string, RunUrl>> newest;  // of each curve
  for (const Json& row : rows) {
    auto record = benchmark_of(row, counts);
    if (!record) continue;
    const auto url = run_url_of(text_of(row, "run_url"));
    if (!url) {
      ++counts.skipped["noRun"];
      continue;
    }
    Seen seen{*url, text_of(row, "date"), std::move(*record), {}, iso_time(text_of(row, "run_started_at"))};
    const Deployment& d = seen.record.deployment;
    seen.scope = seen.record.isl ? fmt::format("{} {} {} {} {} {} {} {} {}", d.model, d.hardware, d.framework, d.precision, *seen.record.isl,
                                               seen.record.osl.value_or(0), d.spec_method, d.disagg, seen.record.offload_mode)
                                 : fmt::format("{} {} {} {}", d.model, d.hardware, d.framework, d.precision);
    const std::string age = fmt::format("{} {} {:020}", seen.date, seen.started, url->run);
    auto& best = newest[seen.scope];
    if (age > best.first) best = {age, *url};
    all.push_back(std::move(seen));
  }
  for (Seen& seen : all) {
    if (seen.url.attempt == 0) seen.url.attempt = 1;
    RunBatch& batch = batch_for(into, seen.url);
    batch.run.date = seen.date;
    if (batch.run.conclusion.empty()) batch.run.conclusion = "success", batch.run.status = "completed";
    if (!seen.started.empty()) batch.run.started_at = seen.started;
    const RunUrl& curve = newest[seen.scope].second;
    if (!history && curve.run != seen.url.run) {
      seen.record.curve_run = curve.run;
      seen.record.curve_attempt = curve.attempt == 0 ? 1 : curve.attempt;
    }
    batch.rows.push_back(std::move(seen.record));
  }
}

void import_evaluations(const Json& rows, ImportedAnswers& into, IngestCounts& counts) {
  if (!is_list(rows, "evaluations", counts)) return;
  for (const Json& row : rows) {
    auto record = evaluation_of(row, counts);
    if (!record) continue;
    const auto url = run_url_of(text_of(row, "run_url"));
    if (!url) {
      ++counts.skipped["noRun"];
      continue;
    }
    RunBatch& batch = batch_for(into, *url);
    batch.run.date = text_of(row, "date");
    if (batch.run.conclusion.empty()) batch.run.conclusion = "success", batch.run.status = "completed";
    batch.evals.push_back(std::move(*record));
  }
  for (RunBatch& batch : into.batches) number_copies(batch.evals);
}

void import_workflow_info(const Json& answer, ImportedAnswers& into, IngestCounts& counts) {
  if (!answer.is_object()) {
    ++counts.skipped["badAnswer"];
    return;
  }
  const auto list = [&](const char* key) { return answer.contains(key) && answer[key].is_array() ? answer[key] : Json::array(); };
  std::string day;
  for (const Json& row : list("runs")) {
    const auto run = row.is_object() ? whole_of(row, "github_run_id") : std::nullopt;
    if (!run) continue;
    RunBatch& batch = batch_for(into, {*run, whole_of(row, "run_attempt").value_or(1), text_of(row, "html_url")});
    batch.run.name = text_of(row, "name"), batch.run.conclusion = text_of(row, "conclusion"), batch.run.status = "completed";
    batch.run.created_at = iso_time(text_of(row, "created_at")), batch.run.date = text_of(row, "date");
    day = batch.run.date;
  }
  for (const Json& row : list("runConfigs")) {
    const auto run = row.is_object() ? whole_of(row, "github_run_id") : std::nullopt;
    if (!run) continue;
    RunBatch& batch = batch_for(into, {*run, 0, text_of(row, "html_url")});
    batch.run.head_sha = text_of(row, "head_sha"), batch.run.started_at = iso_time(text_of(row, "run_started_at"));
    if (batch.run.date.empty()) batch.run.date = !day.empty() ? day : batch.run.started_at.substr(0, std::min<std::size_t>(batch.run.started_at.size(), 10));
  }
  for (const Json& row : list("changelogs")) {
    const auto run = row.is_object() ? whole_of(row, "workflow_run_id") : std::nullopt;
    if (!run) continue;
    RunBatch& batch = batch_for(into, {*run, 0, {}});
    ChangelogRecord entry{text_of(row, "base_ref"),   text_of(row, "head_ref"), text_of(row, "description"), text_of(row, "pr_link"), {},
                          flag_of(row, "append_only")};
    if (row.contains("config_keys") && row["config_keys"].is_array()) {
      for (const Json& key : row["config_keys"]) {
        if (key.is_string()) entry.config_keys.push_back(key.get<std::string>());
      }
    }
    if (batch.run.date.empty()) batch.run.date = text_of(row, "date");
    batch.changelog.push_back(std::move(entry));
  }
  Json facts = Json::array();
  for (Json row : list("configs")) {
    if (!row.is_object() || day.empty()) continue;
    row["date"] = day;
    facts.push_back(std::move(row));
  }
  import_availability(facts, into, counts);
}

void import_availability(const Json& rows, ImportedAnswers& into, IngestCounts& counts) {
  if (!is_list(rows, "availability", counts)) return;
  for (const Json& row : rows) {
    if (!row.is_object() || !is_day(text_of(row, "date"))) {
      ++counts.skipped["badAvailability"];
      continue;
    }
    AvailabilityRecord fact{text_of(row, "model"),       text_of(row, "hardware"),       text_of(row, "framework"), text_of(row, "precision"),
                            text_of(row, "spec_method"), text_of(row, "benchmark_type"), text_of(row, "date"),      length_of(row, "isl"),
                            length_of(row, "osl"),       flag_of(row, "disagg")};
    if (fact.benchmark_type.empty()) fact.benchmark_type = fact.isl ? "single_turn" : "agentic_traces";
    into.availability.push_back(std::move(fact));
  }
}

void import_reliability(const Json& rows, ImportedAnswers& into, IngestCounts& counts) {
  if (!is_list(rows, "reliability", counts)) return;
  std::map<std::string, std::int64_t> runs_of_day;
  std::string day;
  std::set<std::string> hardware;
  RunBatch* batch = nullptr;
  for (const Json& row : rows) {
    const auto good = row.is_object() ? whole_of(row, "n_success") : std::nullopt, all = row.is_object() ? whole_of(row, "total") : std::nullopt;
    const std::string date = row.is_object() ? text_of(row, "date") : std::string(), hw = row.is_object() ? text_of(row, "hardware") : std::string();
    if (!good || !all || *good < 0 || *good > *all || !is_day(date) || hw.empty()) {
      ++counts.skipped["badRunStat"];
      continue;
    }
    if (date != day || !hardware.insert(hw).second) {
      day = date;
      hardware = {hw};
      // -20260614001: the first run of that day that has no number.
      const std::int64_t number = -(*parse_int(replace_all(date, "-", "")) * 1000 + ++runs_of_day[date]);
      into.batches.emplace_back();
      batch = &into.batches.back();
      batch->run.run = number, batch->run.date = date, batch->run.status = "completed";
    }
    batch->stats.push_back({hw, *good, *all});
  }
}

Result<ImportedAnswers> import_folder(const io::Files& files, const std::filesystem::path& folder, IngestCounts& counts) {
  if (!files.exists(folder)) return not_found(fmt::format("the folder {} does not exist", folder.string()), "give a folder with a dump or with saved answers");
  PAWL_ASSIGN(const std::vector<std::string> paths, files.list_tree(folder));
  Tables tables;
  constexpr std::uint64_t kFileMax = 1024ull << 20;
  for (const std::string& path : paths) {
    const bool packed = path.ends_with(".json.gz");
    if ((!packed && !path.ends_with(".json")) || path.find('/') != std::string::npos) continue;
    const std::string name = path.substr(0, path.size() - (packed ? 8 : 5));
    const auto wanted = {"configs", "workflow_runs", "benchmark_results", "run_stats", "eval_results", "availability", "changelog_entries"};
    const auto answers = {"benchmarks", "evaluations", "workflow-info", "reliability"};
    const bool known = std::ranges::any_of(wanted, [&](const char* word) { return name == word; }) ||
                       std::ranges::any_of(answers, [&](const char* word) { return name.starts_with(word); });
    if (!known) continue;
    PAWL_ASSIGN(std::string bytes, files.read(folder / path, kFileMax));
    if (packed) {
      PAWL_ASSIGN(bytes, unpack_gzip(bytes, path, kFileMax));
    }
    PAWL_ASSIGN(tables[name], codec::parse_json(bytes, (folder / path).string(), kFileMax));
    ++counts.files;
  }
  if (tables.empty()) {
    return bad_input(fmt::format("{}: neither a dump nor saved answers", folder.string()),
                     "a dump has workflow_runs.json and the tables beside it; answers are benchmarks.json, evaluations.json, workflow-info.json, …");
  }
  ImportedAnswers out;
  if (tables.contains("workflow_runs")) {
    out = import_dump(tables, counts);
  } else {
    for (const auto& [name, json] : tables) {
      if (name.starts_with("workflow-info")) import_workflow_info(json, out, counts);
    }
    for (const auto& [name, json] : tables) {
      if (name.starts_with("benchmarks")) import_benchmarks(json, name.find("history") != std::string::npos, out, counts);
    }
    for (const auto& [name, json] : tables) {
      if (name.starts_with("evaluations")) import_evaluations(json, out, counts);
      if (name.starts_with("reliability")) import_reliability(json, out, counts);
      if (name == "availability") import_availability(json, out, counts);
    }
  }
  for (RunBatch& batch : out.batches) {
    counts.rows += static_cast<std::int64_t>(batch.rows.size());
    counts.evals += static_cast<std::int64_t>(batch.evals.size());
    counts.changelog += static_cast<std::int64_t>(batch.changelog.size());
    counts.stats += static_cast<std::int64_t>(batch.stats.size());
  }
  counts.runs = static_cast<std::int64_t>(out.batches.size());
  return out;
}

}  // namespace pawl::results
