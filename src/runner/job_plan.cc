#include "runner/job_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::runner {
namespace {

std::string job_name(const char* kind, std::size_t number, const model::Point& p) {
  std::string topology = p.topology();
  for (char& c : topology) c = c == '/' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return fmt::format("{}-{:02}-{}-c{}", kind, number, topology, p.conc);
}

}  // namespace

EngineSource twin_engines(std::string self) {
  return [self = std::move(self)](const model::Point& p, const std::vector<std::string>& launch_flags) -> Result<model::EngineSpec> {
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
    if (!launch_flags.empty()) {
      engine.argv.emplace_back("--");
      engine.argv.insert(engine.argv.end(), launch_flags.begin(), launch_flags.end());
    }
    return engine;
  };
}

Result<std::vector<model::JobSpec>> plan_jobs(const io::SweepRequest& request, RunId run, std::int64_t attempt, const EngineSource& engines) {
  std::vector<model::JobSpec> jobs;
  const auto add = [&](const codec::Json& row, model::JobKind kind, std::size_t number) -> Status {
    PAWL_ASSIGN(const model::Point p, model::point_of_row(row));
    model::JobSpec job;
    job.run = run.value;
    job.attempt = attempt;
    job.kind = kind;
    job.row = row;
    job.scale = request.scale;
    PAWL_ASSIGN(job.engine, engines(p, request.launch_flags));
    if (kind == model::JobKind::kBenchmark) {
      if (!p.isl || !p.osl) return bad_input(fmt::format("the point {} has no fixed lengths; this runner measures fixed-seq-len only", p.label()));
      job.job = job_name("bench", number, p);
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
      job.job = job_name("eval", number, p);
      const std::int64_t conc = row.contains("eval-conc") ? row["eval-conc"].get<std::int64_t>() : p.conc;
      job.eval = model::EvalSpec{request.eval_task, conc, std::nullopt};
    }
    jobs.push_back(std::move(job));
    return {};
  };
  for (std::size_t i = 0; i < request.points.size(); ++i) PAWL_TRY(add(request.points[i], model::JobKind::kBenchmark, i + 1));
  for (std::size_t i = 0; i < request.evals.size(); ++i) PAWL_TRY(add(request.evals[i], model::JobKind::kEval, i + 1));
  if (jobs.empty()) return bad_input(fmt::format("the sweep of {} has no job", request.recipe));
  return jobs;
}

}  // namespace pawl::runner
