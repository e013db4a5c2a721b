#include "evals/engine_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/client.h"

namespace pawl::evals {
namespace {

using codec::Json;

constexpr std::size_t kAnswerMax = 8u << 20;

Json ask(const std::string& url, std::stop_token stop) {
  http::ClientRequest request;
  request.url = url;
  request.timeout = Seconds{10};
  request.answer_max = kAnswerMax;
  const auto response = http::fetch(request, stop);
  if (!response || response->status != 200) return nullptr;
  auto json = codec::parse_json(response->body, url, kAnswerMax);
  return json && json->is_object() ? std::move(*json) : Json(nullptr);
}

}  // namespace

Claims read_claims(const Json& server_info, const Json& models) {
  Claims out;
  if (server_info.is_object()) {
    for (const auto& [theirs, ours] : {std::pair{"tp_size", "tp"}, std::pair{"ep_size", "ep"}, std::pair{"pp_size", "pp"}}) {
      if (const auto found = server_info.find(theirs); found != server_info.end() && found->is_number_integer()) out[ours] = *found;
    }
    if (const auto found = server_info.find("enable_dp_attention"); found != server_info.end() && found->is_boolean()) out["dp_attention"] = *found;
    if (const auto found = server_info.find("speculative_algorithm"); found != server_info.end()) {
      if (found->is_null()) out["spec_decoding"] = "none";
      if (found->is_string()) out["spec_decoding"] = *found;
    }
  }
  if (models.is_object() && models.contains("data") && models["data"].is_array()) {
    Json names = Json::array();
    for (const Json& one : models["data"]) {
      if (one.is_object() && one.contains("id") && one["id"].is_string()) names.push_back(one["id"]);
    }
    if (!names.empty()) out["models"] = std::move(names);
  }
  return out;
}

Claims ask_claims(const std::string& url, std::stop_token stop) {
  Json info = ask(url + "/server_info", stop);
  if (info.is_null()) info = ask(url + "/get_server_info", stop);
  return read_claims(info, ask(url + "/v1/models", stop));
}

std::vector<std::string> contradictions(const Json& row, const std::string& served, const Claims& claims) {
  std::vector<std::string> out;
  const auto say = [&](const char* what, const std::string& ours, const std::string& theirs) {
    out.push_back(fmt::format("{}: the row says {}, the engine {}", what, ours, theirs));
  };
  for (const char* name : {"tp", "ep", "pp"}) {
    const auto claim = claims.find(name);
    const auto said = row.find(name);
    if (claim == claims.end() || said == row.end() || !said->is_number_integer() || *said == claim->second) continue;
    // A row without expert parallelism may say 0 or 1.
    if (said->get<std::int64_t>() <= 1 && claim->second.get<std::int64_t>() <= 1) continue;
    say(name, said->dump(), claim->second.dump());
  }
  if (const auto claim = claims.find("dp_attention"); claim != claims.end()) {
    const auto said = row.find("dp-attn");
    if (said != row.end() && said->is_boolean() && *said != claim->second) say("dp-attn", said->dump(), claim->second.dump());
  }
  if (const auto claim = claims.find("spec_decoding"); claim != claims.end()) {
    const auto said = row.find("spec-decoding");
    const bool theirs = claim->second != "none";
    if (said != row.end() && said->is_string() && !said->get_ref<const std::string&>().empty() && (*said != "none") != theirs) {
      say("spec-decoding", said->get<std::string>(), claim->second.get<std::string>());
    }
  }
  if (const auto claim = claims.find("models"); claim != claims.end() && !served.empty()) {
    // Engines that take any name list the file that they loaded.
    const bool named = std::ranges::any_of(claim->second, [&](const Json& one) { return one == served; });
    const bool file = std::ranges::any_of(claim->second, [](const Json& one) { return one.get_ref<const std::string&>().ends_with(".gguf"); });
    if (!named && !file) say("model", served, claim->second.dump());
  }
  return out;
}

void invalidate(model::EvalResult& result, const std::vector<std::string>& contradictions) {
  if (contradictions.empty()) return;
  result.contradictions = contradictions;
  result.passed = false;
}

}  // namespace pawl::evals
