#include "runner/collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "model/point.h"
#include "model/row.h"
#include "runner/job_graph.h"

namespace pawl::runner {
namespace {

namespace fs = std::filesystem;
using codec::Json;
using model::JobKind;

/// Lines of an engine log that a sound run does not have.
std::int64_t log_complaints(std::string_view log) {
  std::int64_t count = 0;
  bool ready = false;
  for (const std::string_view line : split(log, '\n')) {
    if (line.find("fired up and ready") != std::string_view::npos) ready = true;
    const bool traceback = line.find("Traceback (most recent call last)") != std::string_view::npos;
    const bool server_error = ready && line.find("HTTP/1.1\" 5") != std::string_view::npos;
    count += traceback || server_error ? 1 : 0;
  }
  return count;
}

Result<model::JobResult> result_of(const io::Files& files, const MeasuredJob& job) {
  const fs::path file = job.folder / "result.json";
  PAWL_ASSIGN(const std::string text, files.read(file));
  PAWL_ASSIGN(const Json json, codec::parse_json(text, file.string()));
  return codec::from_json<model::JobResult>(json, file.string());
}

double gpu_hours(const MeasuredJob& job) {
  double hours = 0;
  for (const Try& one : job.tries) hours += one.gpu_hours();
  return hours;
}

/// The files that a job leaves for others, by name in its folder.
constexpr const char* kJobArtifacts[] = {
    "spec.json", "result.json", "server.log", "job.log", "artifacts/samples.jsonl", "artifacts/gpu_metrics.csv", "artifacts/power_validation.json"};

const char* status_of(const MeasuredJob& job, const std::optional<model::JobResult>& result) {
  if (job.state == "succeeded") {
    if (!result) return "missing";
    return result->bench && result->bench->verdict == "INVALID" ? "invalid" : "ok";
  }
  if (job.state == "failed" || job.state == "cancelled" || job.state == "skipped") return job.state.c_str();
  return "missing";
}

bool higher_is_better(const std::string& metric) { return metric.ends_with("tput_per_gpu"); }

double margin_of(const compare::Margins& margins, const std::string& metric) {
  if (higher_is_better(metric)) return margins.throughput;
  return metric.ends_with("ttft") ? margins.ttft : margins.tpot;
}

const char* verdict_text(compare::Change change) {
  switch (change) {
    case compare::Change::kImproved:
      return "better";
    case compare::Change::kRegressed:
      return "worse";
    case compare::Change::kEquivalent:
      return "same";
    case compare::Change::kInconclusive:
    case compare::Change::kNotComparable:
      break;
  }
  return "excluded";
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

double Try::gpu_hours() const {
  if (started_ms == 0 || ended_ms <= started_ms) return 0;
  return static_cast<double>(gpus) * static_cast<double>(ended_ms - started_ms) / 3.6e6;
}

std::string label_of(const model::JobSpec& spec) {
  const auto p = model::point_of_row(spec.row);
  return (spec.kind == JobKind::kEval ? "eval " + (spec.eval ? spec.eval->task : "") + " · " : std::string()) + (p ? p->label() : spec.job);
}

Result<Json> collect_rows(const io::Files& files, const std::vector<MeasuredJob>& jobs, JobKind kind) {
  Json rows = Json::array();
  std::map<std::string, std::string> seen;  // point key and task → job
  for (const MeasuredJob& job : jobs) {
    if (job.spec.kind != kind || job.state != "succeeded") continue;
    PAWL_ASSIGN(const model::JobResult result, result_of(files, job));
    const bool bench = kind == JobKind::kBenchmark;
    PAWL_ASSIGN(Json row, bench ? model::result_row(job.spec, result) : model::eval_row(job.spec, result));
    const std::string key = model::row_point_key(row) + " " + row.value("task", std::string());
    if (const auto [it, fresh] = seen.emplace(key, job.spec.job); !fresh) {
      return bad_input(fmt::format("the jobs {} and {} measured one point: {}", it->second, job.spec.job, label_of(job.spec)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json run_statistics(const std::vector<MeasuredJob>& jobs) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> buckets;
  for (const MeasuredJob& job : jobs) {
    std::string runner = job.spec.row.value("runner", std::string("unknown"));
    if (runner.starts_with("cluster:")) runner = runner.substr(8);
    auto& [good, total] = buckets[runner];
    if (job.state == "skipped") continue;
    ++total;
    good += job.state == "succeeded" ? 1 : 0;
  }
  Json out = Json::object();
  for (const auto& [runner, counts] : buckets) out[runner] = {{"n_success", counts.first}, {"total", counts.second}};
  return out;
}

Result<Json> comparison_document(const io::RunStatus& run, const std::vector<Json>& rows, const std::vector<Json>& evals,
                                 const std::optional<PublishedRows>& baseline) {
  const compare::Margins margins;
  static const PublishedRows kNone;
  const PublishedRows& before = baseline ? *baseline : kNone;
  PAWL_ASSIGN(const compare::Comparison comparison, compare::compare(before.rows, rows, before.evals, evals, compare::Statistic::kMean, margins));
  Json list = Json::array();
  for (const compare::PointChange& point : comparison.points) {
    for (const compare::MetricChange& metric : point.metrics) {
      const double delta = metric.candidate - metric.baseline;
      list.push_back({{"point_id", point.point_key},
                      {"label", point.label},
                      {"metric", metric.key},
                      {"current", number_or_null(metric.candidate)},
                      {"baseline", number_or_null(metric.baseline)},
                      {"delta", number_or_null(delta)},
                      {"pct", number_or_null(metric.delta_percent)},
                      {"higher_is_better", higher_is_better(metric.key)},
                      {"verdict", point.matched ? verdict_text(metric.change) : "no_baseline"},
                      {"noise_pct", margin_of(margins, metric.key)}});
      if (!metric.note.empty()) list.back()["note"] = metric.note;
    }
  }
  Json document{{"schema", "pawl.comparison/1"}, {"schema_version", 1}, {"run", run.id.value}, {"attempt", run.attempt}};
  document["baseline"] = baseline ? Json{{"run", baseline->run}, {"attempt", baseline->attempt}, {"image", baseline->image}, {"date", baseline->date}} : Json();
  document["rows"] = std::move(list);
  document["missing"] = comparison.missing;
  document["verdict"] = comparison.matched > 0 ? verdict_text(comparison.change) : "no_baseline";
  document["thresholds"] = {{"throughput_pct", margins.throughput}, {"tpot_pct", margins.tpot}, {"ttft_pct", margins.ttft}};
  return document;
}

Json changelog_metadata(const io::SweepRequest& request) {
  if (request.changelog) return *request.changelog;
  return {{"base_ref", ""}, {"head_ref", request.head}, {"entries", Json::array()}};
}

std::string preview_comment(const RunPicture& picture, const Json& comparison) {
  std::string text = fmt::format(
      "see unofficial run visualizer at /inference?unofficialRun={0}\nsee unofficial run visualizer at /evaluation?unofficialRun={0}\n", picture.run.id.value);
  if (!comparison.is_object()) return text + "\nNothing was collected.\n";
  text += "\n| point | metric | baseline | now | change | verdict |\n| --- | --- | ---: | ---: | ---: | --- |\n";
  const auto shown = [](const Json& value, const char* unit) {
    return value.is_number() ? fmt::format("{:.4g}{}", value.get<double>(), unit) : std::string("N/A");
  };
  for (const Json& row : comparison.value("rows", Json::array())) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", row.value("label", ""), row.value("metric", ""), shown(row["baseline"], ""), shown(row["current"], ""),
                    row["pct"].is_number() ? fmt::format("{:+.1f} %", row["pct"].get<double>()) : std::string("N/A"), row.value("verdict", ""));
  }
  return text;
}

Json sweep_manifest(const io::Files& files, const RunPicture& picture) {
  const io::SweepRequest& request = picture.request;
  Json jobs = Json::array(), points = Json::array();
  const auto add_step = [&](const GraphStep& step) {
    const auto found = std::ranges::find(picture.steps, step.name, &StepState::name);
    Json entry{{"job", step.name}, {"kind", codec::enum_text(step.kind)}, {"measures", false}};
    if (found != picture.steps.end()) {
      entry["state"] = found->state;
      if (!found->note.empty()) entry["note"] = found->note;
    }
    jobs.push_back(std::move(entry));
  };
  double hours = 0;
  std::int64_t ok = 0, failed = 0, missing = 0;
  add_step(graph_steps().front());
  for (const MeasuredJob& job : picture.jobs) {
    std::optional<model::JobResult> result;
    if (job.state == "succeeded") {
      if (auto read = result_of(files, job)) result = std::move(*read);
    }
    const std::string status = status_of(job, result);
    const double job_hours = gpu_hours(job);
    hours += job_hours;
    Json entry{{"job", job.spec.job},
               {"kind", codec::enum_text(kind_of(job.spec))},
               {"measures", true},
               {"family", family_of(job.spec)},
               {"name", display_name(job.spec)},
               {"label", label_of(job.spec)},
               {"state", job.state},
               {"attempt", job.spec.attempt},
               {"point_key", model::point_key(job.spec.row)},
               {"gpu_hours", job_hours}};
    if (auto log = files.read(job.folder / "server.log")) entry["log_complaints"] = log_complaints(*log);
    if (result) {
      entry["node"] = result->node;
      entry["engine_version"] = result->engine_version;
    }
    jobs.push_back(std::move(entry));

    Json attempts = Json::array(), artifacts = Json::object();
    for (const Try& one : job.tries) {
      Json tried{{"try", one.number}, {"outcome", one.outcome}, {"node", one.node}, {"gpus", one.gpus}, {"gpu_hours", one.gpu_hours()}};
      if (!one.failure_class.empty()) tried["failure_class"] = one.failure_class;
      if (auto native = codec::parse_json(one.native, "native"); native && native->is_object() && native->contains("slurm_job")) {
        tried["slurm_job"] = (*native)["slurm_job"];
      }
      attempts.push_back(std::move(tried));
    }
    std::string result_sha;
    if (job.state != "queued" && job.state != "skipped") {
      for (const char* name : kJobArtifacts) {
        if (auto bytes = files.read(job.folder / name)) {
          artifacts[name] = sha256_hex(*bytes);
          if (std::string_view(name) == "result.json") result_sha = artifacts[name];
        }
      }
    }
    Json point{{"point_id", model::point_key(job.spec.row)},
               {"job", job.spec.job},
               {"family", family_of(job.spec)},
               {"kind", job.spec.kind == JobKind::kEval ? "eval" : "bench"},
               {"recipe_fingerprint", model::recipe_fingerprint(job.spec.row)},
               {"config_key", request.recipe},
               {"runner", job.spec.row.value("runner", std::string())},
               {"status", status},
               {"attempts", std::move(attempts)},
               {"artifacts", std::move(artifacts)}};
    if (job.spec.row.contains("conc")) point["conc"] = job.spec.row["conc"];
    if (job.spec.fingerprint) point["fingerprint"] = *job.spec.fingerprint;
    if (!result_sha.empty()) point["result_sha256"] = result_sha;
    points.push_back(std::move(point));
    ok += status == "ok" ? 1 : 0;
    failed += status == "failed" || status == "invalid" ? 1 : 0;
    missing += status == "ok" || status == "failed" || status == "invalid" ? 0 : 1;
  }
  for (std::size_t i = 1; i < graph_steps().size(); ++i) add_step(graph_steps()[i]);
  return {{"schema", "pawl.sweep-manifest/1"},
          {"schema_version", 1},
          {"run", picture.run.id.value},
          {"attempt", picture.run.attempt},
          {"marker", picture.run.marker},
          {"recipe", request.recipe},
          {"purpose", request.purpose},
          {"head", request.head},
          {"full_sweep", request.purpose != "smoke"},
          {"scale", request.scale.text()},
          {"state", codec::enum_text(picture.run.state)},
          {"policy", {{"canary", request.canary.value_or(false)}, {"fail_fast", request.fail_fast}, {"trimmed", request.purpose == "smoke"}}},
          {"executor", picture.executor},
          {"gpu_hours", hours},
          {"totals", {{"expected", picture.jobs.size()}, {"ok", ok}, {"failed", failed}, {"missing", missing}}},
          {"jobs", std::move(jobs)},
          {"points", std::move(points)},
          {"artifacts", picture.artifacts}};
}

Json bot_manifest(const RunPicture& picture) {
  Json matrix = Json::array();
  for (const MeasuredJob& job : picture.jobs) matrix.push_back(job.spec.row);
  return {{"head", picture.request.head},
          {"run", picture.run.id.value},
          {"attempt", picture.run.attempt},
          {"full-sweep", picture.request.purpose != "smoke"},
          {"matrix", std::move(matrix)}};
}

}  // namespace pawl::runner
