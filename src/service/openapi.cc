#include "service/openapi.h"

#include "base/assert.h"
#include "codec/json.h"
#include "results/api.h"

namespace pawl::service {
namespace {

using codec::Json;

Json schema(const char* text) {
  auto parsed = codec::parse_json(text, "a schema of the route table");
  PAWL_ASSERT(parsed.has_value());
  return std::move(*parsed);
}

// Ids are 64 bits wide: texts on the wire; clients take numbers too (api-dashboard 1.0).
constexpr const char* kComponents = R"json({
 "Id":{"oneOf":[{"type":"string","pattern":"^[1-9][0-9]*$"},{"type":"integer"}]},
 "RunId":{"oneOf":[{"type":"string","pattern":"^-?[0-9]+$"},{"type":"integer"}]},
 "Error":{"type":"object","required":["error"],"properties":{"error":{"type":"string"}}},
 "Metrics":{"type":"object","additionalProperties":{"type":["number","string"]}},
 "Config":{"type":"object","required":["hardware","framework","model","precision","spec_method","disagg","is_multinode","prefill_tp","decode_tp","num_prefill_gpu","num_decode_gpu"],
  "properties":{"hardware":{"type":"string"},"framework":{"type":"string"},"model":{"type":"string"},"precision":{"type":"string"},"spec_method":{"type":"string"},
   "disagg":{"type":"boolean"},"is_multinode":{"type":"boolean"},"prefill_tp":{"type":"integer"},"prefill_ep":{"type":"integer"},"prefill_dp_attention":{"type":"boolean"},
   "prefill_num_workers":{"type":"integer"},"decode_tp":{"type":"integer"},"decode_ep":{"type":"integer"},"decode_dp_attention":{"type":"boolean"},
   "decode_num_workers":{"type":"integer"},"num_prefill_gpu":{"type":"integer"},"num_decode_gpu":{"type":"integer"}}},
 "BenchmarkRow":{"allOf":[{"$ref":"#/components/schemas/Config"}],"type":"object","required":["id","conc","metrics","date","image"],
  "properties":{"id":{"$ref":"#/components/schemas/Id"},"benchmark_type":{"type":"string"},"offload_mode":{"type":"string","enum":["on","off"]},
   "isl":{"type":["integer","null"]},"osl":{"type":["integer","null"]},"conc":{"type":"integer"},"image":{"type":["string","null"]},
   "recipe_fingerprint":{"type":["string","null"]},"metrics":{"$ref":"#/components/schemas/Metrics"},"workers":{"type":["array","null"]},
   "power_invalid_reasons":{"type":["array","null"]},"power_audit":{"type":["object","null"]},"date":{"type":"string","format":"date"},
   "run_url":{"type":["string","null"]},"curve_date":{"type":"string"},"curve_workflow_run_id":{"$ref":"#/components/schemas/RunId"},"pawl":{"type":"object"}}},
 "EvaluationRow":{"allOf":[{"$ref":"#/components/schemas/Config"}],"type":"object","required":["id","config_id","task","date","metrics","timestamp"],
  "properties":{"id":{"$ref":"#/components/schemas/Id"},"config_id":{"type":"integer"},"task":{"type":"string"},"date":{"type":"string"},"conc":{"type":["integer","null"]},
   "metrics":{"$ref":"#/components/schemas/Metrics"},"timestamp":{"type":"string"},"run_url":{"type":["string","null"]}}},
 "AvailabilityRow":{"type":"object","required":["model","isl","osl","precision","hardware","framework","spec_method","disagg","benchmark_type","date"]},
 "ReliabilityRow":{"type":"object","required":["hardware","date","n_success","total"],
  "properties":{"hardware":{"type":"string"},"date":{"type":"string"},"n_success":{"type":"integer"},"total":{"type":"integer"}}},
 "ImageRow":{"type":"object","required":["model","hardware","framework","precision","spec_method","disagg","isl","osl","benchmark_type","image","date"]},
 "WorkflowInfo":{"type":"object","required":["runs","changelogs","configs","runConfigs"],
  "properties":{"runs":{"type":"array"},"changelogs":{"type":"array"},"configs":{"type":"array"},"runConfigs":{"type":"array"}}},
 "Submissions":{"type":"object","required":["summary","volume"],"properties":{"summary":{"type":"array"},"volume":{"type":"array"}}},
 "TcoFeed":{"type":"object","required":["model","db_model_keys","date","workloads","tiers","rows"]},
 "Pareto":{"type":"object","required":["source_url","selection","counts","frontier","hinterland"]}
})json";

}  // namespace

std::string openapi_document(const std::string& version) {
  Json paths = Json::object();
  const Json error{{"$ref", "#/components/schemas/Error"}};
  for (const results::ApiRoute& route : results::ResultsApi::routes()) {
    Json parameters = Json::array();
    for (const results::ApiParameter& p : route.parameters) {
      parameters.push_back({{"name", p.name}, {"in", "query"}, {"required", p.required}, {"description", p.what}, {"schema", schema(p.schema)}});
    }
    Json content{{"application/json", {{"schema", schema(route.answer)}}}};
    for (const results::ApiParameter& p : route.parameters) {
      if (std::string_view(p.name) == "format") content["text/csv"] = Json{{"schema", {{"type", "string"}}}};
      if (std::string_view(p.name) == "view" && std::string_view(p.schema).find("columns") != std::string_view::npos) {
        content["application/vnd.pawl.columns+json"] = Json{{"schema", {{"type", "object"}, {"required", {"schema", "rows", "words", "numbers", "metrics"}}}}};
      }
    }
    const auto failure = [&](const char* what) { return Json{{"description", what}, {"content", {{"application/json", {{"schema", error}}}}}}; };
    paths[route.path] = {{"get",
                          {{"summary", route.summary},
                           {"x-stability", route.stability},
                           {"parameters", parameters},
                           {"responses",
                            {{"200", {{"description", "OK"}, {"content", content}}},
                             {"304", {{"description", "The ETag is still that of the newest answer"}}},
                             {"400", failure("A parameter is wrong")},
                             {"404", failure("Not found")}}}}}};
  }
  const Json document{{"openapi", "3.1.0"},
                      {"info", {{"title", "pawl results API"}, {"version", version}}},
                      {"paths", paths},
                      {"components", {{"schemas", schema(kComponents)}}}};
  return codec::write_json(document, codec::JsonForm::kCompactUtf8);
}

}  // namespace pawl::service
