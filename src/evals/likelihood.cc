#include "evals/likelihood.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/json.h"
#include "http/client.h"

namespace pawl::evals {
namespace {

constexpr std::size_t kAnswerMax = 64u << 20;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Error not_told(const std::string& why) {
  return bad_input("this engine does not tell how likely it finds a text: " + why,
                   "a task with choices needs completions with echo and logprobs, as vLLM has them");
}

}  // namespace

Result<double> continuation_log_likelihood(const std::string& answer, std::size_t prompt_characters, std::size_t all_characters) {
  PAWL_ASSIGN(const codec::Json json, codec::parse_json(answer, "answer of the engine", kAnswerMax));
  const codec::Json::json_pointer values_at("/choices/0/logprobs/token_logprobs"), offsets_at("/choices/0/logprobs/text_offset");
  if (!json.is_object() || !json.contains(values_at) || !json.contains(offsets_at))
    return not_told("the answer has no log probabilities of tokens with their places");
  const codec::Json &values = json.at(values_at), &offsets = json.at(offsets_at);
  if (!values.is_array() || !offsets.is_array() || values.size() != offsets.size()) return not_told("probabilities and places do not belong together");
  double sum = 0;
  std::size_t seen = 0;
  bool begins = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!offsets[i].is_number_integer()) return not_told("a place is no number");
    const auto at = offsets[i].get<std::int64_t>();
    if (at == 0) begins = true;
    // Behind the prompt and before what the engine wrote itself. A token that reaches over the border counts for the continuation.
    if (at < static_cast<std::int64_t>(prompt_characters) || at >= static_cast<std::int64_t>(all_characters)) continue;
    if (!values[i].is_number()) return not_told("a token of the continuation has no probability");
    sum += values[i].get<double>();
    ++seen;
  }
  if (!begins || seen == 0) return not_told("the prompt is not repeated in it");
  return sum;
}

Result<std::vector<double>> log_likelihoods(const EvalOptions& options, const std::string& prompt, const std::vector<std::string>& continuations,
                                            std::stop_token stop) {
  std::vector<double> out;
  for (const std::string& continuation : continuations) {
    const codec::Json body{{"model", options.model}, {"prompt", prompt + continuation}, {"max_tokens", 1}, {"temperature", 0}, {"echo", true}, {"logprobs", 1},
                           {"stream", false}};
    http::ClientRequest request;
    request.method = "POST";
    request.url = options.url + "/v1/completions";
    request.fields = {{"Content-Type", "application/json"}};
    if (options.bearer) request.fields.emplace_back("Authorization", "Bearer " + *options.bearer);
    for (const auto& [name, value] : options.headers) request.fields.emplace_back(name, value);
    request.body = codec::write_json(body, codec::JsonForm::kCompactUtf8);
    request.timeout = Nanos(static_cast<std::int64_t>(options.answer_limit_s * 1e9));
    request.answer_max = kAnswerMax;
    PAWL_ASSIGN(const http::Response response, http::fetch(request, stop));
    if (response.status == 400 || response.status == 422) return not_told(fmt::format("it answered {}: {}", response.status, response.body.substr(0, 200)));
    if (response.status != 200) return peer_error(fmt::format("the engine answered {}: {}", response.status, response.body.substr(0, 200)));
    PAWL_ASSIGN(const double sum, continuation_log_likelihood(response.body, characters(prompt), characters(prompt) + characters(continuation)));
    out.push_back(sum);
  }
  return out;
}

}  // namespace pawl::evals
