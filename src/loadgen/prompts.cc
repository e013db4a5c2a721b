#include "loadgen/prompts.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/assert.h"
#include "codec/json.h"
#include "workload/random_workload.h"

namespace pawl::loadgen {
namespace {

/// The random workload that a request describes by its lengths alone. Its lengths were checked with the request.
std::shared_ptr<const workload::Workload> random_prompts(const LoadRequest& load, bool chat) {
  workload::RandomOptions options;
  options.form = chat ? workload::Form::kMessages : workload::Form::kIds;
  options.lengths = {workload::RangeProfile::kInferencex, load.isl, load.osl, load.range_ratio, 0};
  options.seed = load.seed;
  options.vocabulary = load.vocabulary;
  auto made = workload::make_random_workload(options);
  PAWL_ASSERT(made.has_value());
  return std::move(*made);
}

std::string json_text(const std::string& text) { return codec::write_json(codec::Json(text), codec::JsonForm::kCompactUtf8); }

}  // namespace

RequestBuilder::RequestBuilder(const LoadRequest& load, const Target& target)
    : load_(load),
      workload_(load.workload ? load.workload : random_prompts(load, load.backend == "openai-chat")),
      protocol_(load.backend == "openai-chat" ? Protocol::kChat : Protocol::kCompletions),
      endpoint_(target.prefix + (protocol_ == Protocol::kChat ? "/v1/chat/completions" : "/v1/completions")),
      model_(codec::write_json(codec::Json(load.model), codec::JsonForm::kCompactUtf8)) {
  head_start_ = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: pawl-bench\r\nAccept: text/event-stream, application/json\r\nAccept-Encoding: identity\r\n"
      "Content-Type: application/json\r\n",
      endpoint_, target.authority);
  if (load.bearer) head_start_ += "Authorization: Bearer " + *load.bearer + "\r\n";
}

PlannedRequest RequestBuilder::build(Phase phase, std::int64_t index) const {
  const workload::Prompt prompt = phase == Phase::kWarmup ? workload_->warmup(index) : workload_->prompt(index);
  PlannedRequest planned;
  planned.record.asked_input = prompt.isl;
  planned.record.asked_output = prompt.osl;
  planned.record.input_exact = prompt.input_exact;
  planned.record.ignores_eos = load_.ignore_eos;

  std::string body;
  body.reserve(prompt.ids.size() * 7 + prompt.text.size() + 512);
  auto out = std::back_inserter(body);
  fmt::format_to(out, R"({{"model":{},)", model_);
  if (protocol_ == Protocol::kCompletions) {
    if (prompt.ids.empty()) {
      fmt::format_to(out, R"("prompt":{},"max_tokens":{})", json_text(prompt.text), prompt.osl);
    } else {
      body += R"("prompt":[)";
      for (std::size_t i = 0; i < prompt.ids.size(); ++i) fmt::format_to(out, "{}{}", i == 0 ? "" : ",", prompt.ids[i]);
      fmt::format_to(out, R"(],"max_tokens":{})", prompt.osl);
    }
  } else {
    body += R"("messages":[)";
    if (prompt.messages.empty()) fmt::format_to(out, R"({{"role":"user","content":{}}})", json_text(prompt.text));
    for (std::size_t i = 0; i < prompt.messages.size(); ++i) {
      const workload::Message& message = prompt.messages[i];
      fmt::format_to(out, R"({}{{"role":{},"content":{}}})", i == 0 ? "" : ",", json_text(message.role), json_text(message.content));
    }
    fmt::format_to(out, R"(],"max_completion_tokens":{})", prompt.osl);
  }
  body += R"(,"temperature":0,"stream":true,"stream_options":{"include_usage":true})";
  if (load_.ignore_eos) body += R"(,"ignore_eos":true)";
  body += '}';
  planned.bytes = fmt::format("{}X-Request-Id: pawl-{}-{}-{}\r\nContent-Length: {}\r\n\r\n{}", head_start_, load_.seed, phase == Phase::kWarmup ? "w" : "m",
                              index, body.size(), body);
  return planned;
}

}  // namespace pawl::loadgen
