#include "service/openapi.h"

#include <set>

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

/// What is no reading of the store.
void add_own_routes(Json& paths) {
  const auto answer = [](const char* what, const char* type, Json of) {
    return Json{{"description", what}, {"content", {{type, {{"schema", std::move(of)}}}}}};
  };
  const Json error{{"$ref", "#/components/schemas/Error"}}, text{{"type", "string"}}, object{{"type", "object"}};
  const auto failure = [&](const char* what) { return answer(what, "application/json", error); };
  const auto bad_request = [&](const char* what) {
    Json out = failure(what);
    out["content"]["text/plain"] = Json{{"schema", text}};
    return out;
  };
  const auto parameter = [](const char* name, bool required, const char* what, const char* of) {
    return Json{{"name", name}, {"in", "query"}, {"required", required}, {"description", what}, {"schema", schema(of)}};
  };
  const Json security = Json::array({Json{{"token", Json::array()}}});
  constexpr const char* kDigits = R"({"type":"string","pattern":"^[1-9][0-9]{0,17}$"})";
  paths["/api/unofficial-run"] = {
      {"get",
       {{"summary", "Rows of runs that are not in the store, from their artifacts"},
        {"x-stability", "page-owned"},
        {"parameters", Json::array({parameter("runId", true, "Up to 8 run numbers, comma-separated",
                                              R"({"type":"string","pattern":"^[1-9][0-9]{0,17}(,[1-9][0-9]{0,17}){0,7}$"})")})},
        {"responses",
         {{"200", answer("OK", "application/json", Json{{"type", "object"}, {"required", {"runInfos", "benchmarks", "evaluations"}}})},
          {"400", bad_request("runId is wrong")},
          {"404", failure("No artifacts of such a run")},
          {"502", failure("The artifacts cannot be read")},
          {"503", failure("Artifacts of another run are being read")}}}}}};
  paths["/api/v1/events"] = {{"get",
                              {{"summary", "Server-sent events: writes to the store, jobs of sweeps (ours)"},
                               {"x-stability", "beta"},
                               {"responses", {{"200", answer("A stream without end", "text/event-stream", text)}, {"503", failure("Too many listeners")}}}}}};
  paths["/api/v1/ingest"] = {
      {"post",
       {{"summary", "Takes in an archive of a run's artifacts (ours)"},
        {"x-stability", "beta"},
        {"security", security},
        {"parameters", Json::array({parameter("run", false, "Number of the run, where its artifacts do not say", kDigits),
                                    parameter("attempt", false, "Attempt of the run", kDigits),
                                    parameter("date", false, "Day of publication", R"({"type":"string","format":"date"})"),
                                    parameter("name", false, "Name of the run", R"({"type":"string","pattern":"^[^\\u0000]*$"})")})},
        {"requestBody",
         {{"required", true},
          {"content", {{"application/octet-stream", {{"schema", {{"type", "string"}, {"contentMediaType", "application/octet-stream"}}}}}}}}},
        {"responses",
         {{"200", answer("Stored", "application/json", object)},
          {"400", bad_request("A parameter or the archive is wrong")},
          {"401", answer("No token with the scope ingest", "text/plain", text)},
          {"413", answer("The archive is larger than 64 MiB", "text/plain", text)},
          {"503", failure("Artifacts of another run are being read")}}}}}};
  paths["/api/v1/invalidate"] = {
      {"post",
       {{"summary", "Drops the answers that are kept ready"},
        {"x-stability", "admin"},
        {"security", security},
        {"parameters", Json::array({parameter("scope", false, "Of the reference; we have none", R"({"type":"string","pattern":"^[^\\u0000]*$"})")})},
        {"responses",
         {{"200", answer("Dropped", "application/json", object)},
          {"400", bad_request("Unknown scope")},
          {"401", answer("No token with the scope admin", "text/plain", text)}}}}}};
}

}  // namespace

std::string openapi_document(const std::string& version, const results::ModelNames& names) {
  Json paths = Json::object();
  const Json error{{"$ref", "#/components/schemas/Error"}};
  for (const results::ApiRoute& route : results::ResultsApi::routes()) {
    Json parameters = Json::array();
    for (const results::ApiParameter& p : route.parameters) {
      parameters.push_back({{"name", p.name}, {"in", "query"}, {"required", p.required}, {"description", p.what}, {"schema", schema(p.schema)}});
      // Lists are one value with commas.
      if (parameters.back()["schema"].value("type", "") == "array") parameters.back()["style"] = "form", parameters.back()["explode"] = false;
    }
    Json content{{"application/json", {{"schema", schema(route.answer)}}}};
    for (const results::ApiParameter& p : route.parameters) {
      if (std::string_view(p.name) == "format") content["text/csv"] = Json{{"schema", {{"type", "string"}}}};
      if (std::string_view(p.name) == "view" && std::string_view(p.schema).find("columns") != std::string_view::npos) {
        content["application/vnd.pawl.columns+json"] = Json{{"schema", {{"type", "object"}, {"required", {"schema", "rows", "words", "numbers", "metrics"}}}}};
      }
    }
    if (route.other_type != nullptr) content[route.other_type] = Json{{"schema", {{"type", "string"}}}};
    const auto failure = [&](const char* what) { return Json{{"description", what}, {"content", {{"application/json", {{"schema", error}}}}}}; };
    Json bad_request = failure("A parameter is wrong; as plain text: the request line cannot be read");
    bad_request["content"]["text/plain"] = Json{{"schema", {{"type", "string"}}}};
    paths[route.path] = {{"get",
                          {{"summary", route.summary},
                           {"x-stability", route.stability},
                           {"parameters", parameters},
                           {"responses",
                            {{"200", {{"description", "OK"}, {"content", content}}},
                             {"304", {{"description", "The ETag is still that of the newest answer"}}},
                             {"400", bad_request},
                             {"404", failure("Not found")}}}}}};
  }
  add_own_routes(paths);
  Json components = schema(kComponents), displays = Json::array(), keys = Json::array();
  std::set<std::string> seen;
  for (const results::ModelName& name : names.all()) {
    keys.push_back(name.key);
    if (seen.insert(name.display).second) displays.push_back(name.display);
  }
  components["ModelName"] = Json{{"type", "string"}, {"description", "Display name of a model"}, {"enum", displays}};
  components["ModelKey"] = Json{{"type", "string"}, {"description", "Raw key of a model, as rows carry it"}, {"enum", keys}};
  const Json document{{"openapi", "3.1.0"},
                      {"info", {{"title", "pawl results API"}, {"version", version}}},
                      {"paths", paths},
                      {"components", {{"schemas", components}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
  return codec::write_json(document, codec::JsonForm::kCompactUtf8);
}

}  // namespace pawl::service
