#include "runner/job_graph.h"

#include <fmt/format.h>

#include "model/point.h"

namespace pawl::runner {
namespace {

using codec::Json;

constexpr const char* kCanaryName = "canary";

/// "1k1k" for 1024/1024: how families are called; other lengths stand as they are.
std::string lengths(std::int64_t isl, std::int64_t osl) {
  const auto one = [](std::int64_t tokens) { return fmt::format("{}k", tokens / 1024); };
  const bool whole = isl % 1024 == 0 && osl % 1024 == 0;
  return whole ? one(isl) + one(osl) : fmt::format("{}-{}", isl, osl);
}

std::string text_of(const Json& row, const char* key, const char* otherwise = "") {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return otherwise;
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string worker_name(const char* role, const model::Worker& w) {
  return fmt::format("{}-tp{}-pp{}-dcp{}-pcp{}-ep{}-dp{}-nw{}", role, w.tp, w.pp, w.dcp_size, w.pcp_size, w.ep, w.dp_attn, w.num_worker);
}

}  // namespace

const std::vector<GraphStep>& graph_steps() {
  static const std::vector<GraphStep> steps{{kSetupStep, GraphKind::kSetup},
                                            {kCollectResults, GraphKind::kCollector},
                                            {kCollectEvals, GraphKind::kCollector},
                                            {kCompareResults, GraphKind::kCompare},
                                            {kSuccessRate, GraphKind::kSuccessRate},
                                            {kChangelogMetadata, GraphKind::kChangelogMetadata},
                                            {kPreviewComment, GraphKind::kPreviewComment},
                                            {kManifestStep, GraphKind::kManifest}};
  return steps;
}

GraphKind kind_of(const model::JobSpec& spec) {
  if (spec.job.starts_with(kCanaryName)) return GraphKind::kCanary;
  return spec.kind == model::JobKind::kEval ? GraphKind::kEval : GraphKind::kBenchmark;
}

std::string family_of(const model::JobSpec& spec) {
  if (spec.job.starts_with(kCanaryName)) return kCanaryName;
  const bool multinode = spec.row.contains("prefill");
  if (spec.kind == model::JobKind::kEval) return multinode ? "multi-node eval" : "eval";
  const auto length = [&](const char* key) { return spec.row.contains(key) && spec.row[key].is_number_integer() ? spec.row[key].get<std::int64_t>() : 0; };
  return (multinode ? "multi-node " : "single-node ") + lengths(length("isl"), length("osl"));
}

std::string display_name(const model::JobSpec& spec) {
  std::string name = family_of(spec) + " / ";
  if (spec.row.contains("priority")) name += fmt::format("p{} | ", text_of(spec.row, "priority"));
  const auto p = model::point_of_row(spec.row);
  if (!p) return name + spec.job;
  name += fmt::format("{} {} {} {} {} {} c{}", p->model_prefix, p->precision, p->runner, p->framework, p->topology(), p->spec_decoding, p->conc);
  return spec.kind == model::JobKind::kEval ? name + " | eval-only" : name;
}

std::string result_filename(const Json& row) {
  const auto p = model::point_of_row(row);
  if (!p) return "result";
  std::string name = fmt::format("{}_{}_{}_", p->exp_name.empty() ? p->model_prefix : p->exp_name, p->precision, p->framework);
  if (p->prefill) {
    std::string concs;
    if (const auto conc = row.find("conc"); conc != row.end() && conc->is_array()) {
      for (const Json& one : *conc) concs += (concs.empty() ? "" : "x") + one.dump();
    }
    name += worker_name("prefill", *p->prefill) + "_" + (p->decode ? worker_name("decode", *p->decode) : std::string("decode-none")) +
            fmt::format("_disagg-{}_spec-{}_conc{}", p->disagg, p->spec_decoding, concs.empty() ? std::to_string(p->conc) : concs);
  } else {
    name += fmt::format("tp{}-pp{}-dcp{}-pcp{}-ep{}-dpa{}_disagg-{}_spec-{}_conc{}", p->tp, p->pp, p->dcp_size, p->pcp_size, p->ep, p->dp_attn, p->disagg,
                        p->spec_decoding, p->conc);
  }
  name += fmt::format("_{}_recipe-{}", p->runner, model::recipe_fingerprint(row).substr(0, 16));
  for (char& c : name) c = c == '/' || c == ' ' ? '-' : c;  // it names files
  return name;
}

}  // namespace pawl::runner
