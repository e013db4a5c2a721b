#include "runner/job_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "codec/describe.h"
#include "runner/job_graph.h"

namespace pawl::runner {
namespace {

std::string job_name(const char* kind, std::size_t number, const model::Point& p) {
  std::string topology = p.topology();
  for (char& c : topology) c = c == '/' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fmt::format("{}-{:02}-{}-c{}", kind, number, topology, p.conc);
}

constexpr const char* kCanary = "canary";

/// The point that goes first: single-node, 1k1k before 8k1k, without an eval, of the smallest concurrency; the first
/// of those. Nothing: there is none, and the sweep goes without (sweep-run-results 1.6).
Result<std::optional<std::size_t>> choose_canary(const std::vector<codec::Json>& points) {
  std::optional<std::size_t> best;
  std::int64_t best_conc = 0;
  for (const std::int64_t isl : {1024, 8192}) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      PAWL_ASSIGN(const model::Point p, model::point_of_row(points[i]));
      if (p.prefill || p.isl != isl || p.osl != 1024 || points[i].value("run-eval", false)) continue;
      if (best && p.conc >= best_conc) continue;
      best = i;
      best_conc = p.conc;
    }
  }
  return best;
}

}  // namespace

std::string job_fingerprint(const codec::Json& row, const io::SweepRequest& request) {
  const codec::Json all{{"row", model::recipe_fingerprint(row)},
                        {"launch_script", request.launch_script ? request.launch_script->text : std::string()},
                        {"package", request.package ? codec::to_json(*request.package) : codec::Json()}};
  return sha256_hex(codec::write_json(all, codec::JsonForm::kCompactUtf8));
}

EngineSource twin_engines(std::string self) {
  return [self = std::move(self)](const model::Point& p, const io::SweepRequest& request) -> Result<model::EngineSpec> {
    if (p.prefill) {
      return bad_input(fmt::format("the simulated engine cannot run the multi-node point {}", p.label()), "choose a recipe with multinode: false");
    }
    model::EngineSpec engine;
    engine.kind = "twin";
    engine.served_model = p.model;
    engine.argv = {self,
                   "twin",
                   "--port",
                   "{port}",
                   "--image",
                   p.image,
                   "--model-prefix",
                   p.model_prefix,
                   "--runner",
                   p.runner,
                   "--tp",
                   std::to_string(p.tp),
                   "--ep",
                   std::to_string(p.ep),
                   "--served-model-name",
                   p.model};
    if (!request.launch_flags.empty()) {
      engine.argv.emplace_back("--");
      engine.argv.insert(engine.argv.end(), request.launch_flags.begin(), request.launch_flags.end());
    }
    return engine;
  };
}

Result<std::vector<model::JobSpec>> plan_jobs(const io::SweepRequest& request, RunId run, std::int64_t attempt, const EngineSource& engines) {
  std::vector<model::JobSpec> jobs;
  const auto add = [&](const codec::Json& row, model::JobKind kind, std::size_t number, const char* name) -> Status {
    PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
    model::JobSpec job;
    job.run = run.value;
    job.attempt = attempt;
    job.kind = kind;
    job.row = row;
    job.scale = request.scale;
    job.fingerprint = job_fingerprint(row, request);
    PAWL_ASSIGN(job.engine, engines(p, request));
    if (const auto file = job.engine.env.find("RESULT_FILENAME"); file != job.engine.env.end()) {
      file->second = result_filename(row);
      job.engine.env["RECIPE_FINGERPRINT"] = model::recipe_fingerprint(row);
    }
    if (kind == model::JobKind::kBenchmark) {
      if (!p.isl || !p.osl) return bad_input(fmt::format("the point {} has no fixed lengths; this runner measures fixed-seq-len only", p.label()));
      job.job = job_name(name, number, p);
      model::LoadSpec load;
      load.isl = request.scale.length(*p.isl);
      load.osl = request.scale.length(*p.osl);
      load.range_ratio = kRangeRatio;
      load.concurrency = p.conc;
      load.requests = request.scale.prompts(kRequestsPerConcurrency * p.conc, p.conc);
      const std::int64_t warmups = kWarmupsPerConcurrency * p.conc;
      load.warmups = std::max<std::int64_t>(1, (warmups * request.scale.numerator + request.scale.denominator - 1) / request.scale.denominator);
      job.load = load;
    } else {
      job.job = job_name(name, number, p);
      const std::int64_t conc = row.contains("eval-conc") ? row["eval-conc"].get<std::int64_t>() : p.conc;
      job.eval = model::EvalSpec{request.eval_task, conc, std::nullopt};
    }
    jobs.push_back(std::move(job));
    return {};
  };
  std::optional<std::size_t> canary;
  if (request.canary.value_or(false)) {
    PAWL_ASSIGN(canary, choose_canary(request.points));
    if (canary) PAWL_TRY(add(request.points[*canary], model::JobKind::kBenchmark, *canary + 1, kCanary));
  }
  for (std::size_t i = 0; i < request.points.size(); ++i) {
    if (canary != i) PAWL_TRY(add(request.points[i], model::JobKind::kBenchmark, i + 1, "bench"));
  }
  for (std::size_t i = 0; i < request.evals.size(); ++i) PAWL_TRY(add(request.evals[i], model::JobKind::kEval, i + 1, "eval"));
  if (jobs.empty()) return bad_input(fmt::format("the sweep of {} has no job", request.recipe));
  return jobs;
}

}  // namespace pawl::runner
