#include "twin/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "twin/hash.h"

namespace pawl::twin {
namespace {

using codec::Json;

std::string compact(const Json& json) { return codec::write_json(json, codec::JsonForm::kCompactUtf8); }
std::string event(const Json& json) { return "data: " + compact(json) + "\n\n"; }
Refusal bad(std::string message) { return {400, "BadRequestError", std::move(message)}; }

/// The text of a message: a string, or the text parts of a list.
std::string content_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& part : content) {
    if (part.is_object() && part.contains("text") && part["text"].is_string()) text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

/// Chained hashes of a prompt's whole blocks. Tokens of a text are not known: equal shares of its bytes stand for them, so
/// that equal beginnings give equal blocks only where the number of bytes a token is fixed: four.
std::vector<std::uint64_t> text_blocks(std::string_view text, std::int64_t prompt_tokens, std::int64_t block_tokens) {
  std::vector<std::uint64_t> blocks;
  const auto bytes = static_cast<std::size_t>(block_tokens) * 4;
  std::uint64_t chain = 1;
  for (std::size_t at = 0; at + bytes <= text.size() && static_cast<std::int64_t>(blocks.size() + 1) * block_tokens <= prompt_tokens; at += bytes) {
    blocks.push_back(chain = mix(chain, hash_text(text.substr(at, bytes))));
  }
  return blocks;
}

std::optional<Refusal> read_ids(const Json& list, const RequestLimits& limits, GenerationRequest& out) {
  if (!list.is_array() || list.empty()) return bad("prompt: a text or a list of token ids is needed");
  std::uint64_t hash = 3, chain = 1;
  std::int64_t count = 0;
  for (const Json& token : list) {
    if (!token.is_number_integer()) return bad("prompt: the twin takes one prompt a request: a text or a list of token ids");
    if (token.is_number_unsigned() ? token.get<std::uint64_t>() > 0x7fffffff : true) return bad("prompt: a token id is out of range");
    const auto id = token.get<std::uint64_t>();
    hash = mix(hash, id);
    chain = mix(chain, id);
    if (limits.block_tokens > 0 && ++count % limits.block_tokens == 0) out.blocks.push_back(chain);
  }
  out.prompt_hash = hash;
  out.prompt_tokens = static_cast<std::int64_t>(list.size());
  return std::nullopt;
}

void read_text(std::string text, const RequestLimits& limits, GenerationRequest& out) {
  out.prompt = std::move(text);
  out.prompt_tokens = count_tokens(out.prompt);
  out.prompt_hash = hash_text(out.prompt);
  if (limits.block_tokens > 0) out.blocks = text_blocks(out.prompt, out.prompt_tokens, limits.block_tokens);
}

std::optional<Refusal> read_prompt(const Json& json, const RequestLimits& limits, GenerationRequest& out) {
  if (out.endpoint == Endpoint::kChat) {
    const auto messages = json.find("messages");
    if (messages == json.end() || !messages->is_array() || messages->empty()) return bad("messages: a list with at least one message is needed");
    for (const Json& message : *messages) {
      if (!message.is_object() || !message.contains("role")) return bad("messages: every message needs a role");
      out.prompt += (out.prompt.empty() ? "" : "\n") + (message.contains("content") ? content_text(message["content"]) : std::string());
    }
    read_text(std::string(out.prompt), limits, out);
    return std::nullopt;
  }
  const char* key = out.endpoint == Endpoint::kSglang   ? (json.contains("input_ids") ? "input_ids" : "text")
                    : out.endpoint == Endpoint::kTriton ? "text_input"
                                                        : "prompt";
  const auto prompt = json.find(key);
  if (prompt == json.end()) return bad(std::string(key) + ": missing");
  const Json* one = &*prompt;
  if (one->is_array() && one->size() == 1 && (one->front().is_string() || one->front().is_array())) one = &one->front();
  if (!one->is_string()) return read_ids(*one, limits, out);
  read_text(one->get<std::string>(), limits, out);
  return std::nullopt;
}

std::optional<Refusal> read_stops(const Json& json, GenerationRequest& out) {
  if (json.is_null()) return std::nullopt;
  if (json.is_string()) {
    out.stop.push_back(json.get<std::string>());
    return std::nullopt;
  }
  if (!json.is_array()) return bad("stop: a text or a list of texts is needed");
  for (const Json& text : json) {
    if (!text.is_string()) return bad("stop: a text or a list of texts is needed");
    out.stop.push_back(text.get<std::string>());
  }
  return std::nullopt;
}

std::optional<Refusal> read_options(const Json& whole, GenerationRequest& out) {
  // SGLang keeps its options in an object of their own; only `stream` stands outside.
  static const Json kNone = Json::object();
  const bool inner = out.endpoint == Endpoint::kSglang;
  const Json& json = !inner ? whole : whole.contains("sampling_params") && whole["sampling_params"].is_object() ? whole["sampling_params"] : kNone;
  out.max_tokens = out.endpoint == Endpoint::kCompletions || out.endpoint == Endpoint::kTriton ? 16 : 128;
  for (const char* key : {"max_tokens", "max_completion_tokens", "max_new_tokens", "n_predict"}) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) continue;
    if (!found->is_number_integer() || found->get<std::int64_t>() < 1) return bad(fmt::format("{} must be at least 1, got {}", key, compact(*found)));
    out.max_tokens = found->get<std::int64_t>();
  }
  for (const char* key : {"n", "best_of"}) {
    if (json.contains(key) && !json[key].is_null() && json[key] != 1) return bad(fmt::format("{}: the twin makes one answer a request", key));
  }
  if (const auto stream = whole.find("stream"); stream != whole.end() && !stream->is_null()) {
    if (!stream->is_boolean()) return bad("stream: true or false is needed");
    out.stream = stream->get<bool>();
  }
  if (const auto options = json.find("stream_options"); options != json.end() && options->is_object()) {
    const auto usage = options->find("include_usage");
    out.include_usage = usage != options->end() && usage->is_boolean() && usage->get<bool>();
  }
  for (const char* key : {"stop", "stop_words"}) {
    if (const auto stop = json.find(key); stop != json.end()) {
      if (auto refusal = read_stops(*stop, out)) return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace

std::variant<GenerationRequest, Refusal> read_generation_request(Endpoint endpoint, const std::string& body, const RequestLimits& limits) {
  const auto parsed = codec::parse_json(body, "request");
  if (!parsed) return bad(parsed.error().message);
  if (!parsed->is_object()) return bad("request: a JSON object is needed");
  GenerationRequest out;
  out.endpoint = endpoint;
  out.model = limits.served_model;
  const bool named = endpoint == Endpoint::kCompletions || endpoint == Endpoint::kChat;
  if (const auto model = parsed->find("model"); named && model != parsed->end() && !model->is_null()) {
    if (!model->is_string()) return bad("model: a text is needed");
    if (*model != limits.served_model) {
      return Refusal{404, "NotFoundError", fmt::format("The model `{}` does not exist.", model->get_ref<const std::string&>())};
    }
  }
  if (auto refusal = read_prompt(*parsed, limits, out)) return *refusal;
  if (auto refusal = read_options(*parsed, out)) return *refusal;
  if (out.max_tokens > limits.context_length || out.prompt_tokens + out.max_tokens > limits.context_length) {
    return bad(fmt::format("Requested token count exceeds the model's maximum context length of {} tokens: {} tokens of input and {} for the completion.",
                           limits.context_length, out.prompt_tokens, out.max_tokens));
  }
  return out;
}

http::Response refusal_response(const Refusal& refusal) {
  const Json body{{"object", "error"},      {"message", refusal.message},
                  {"type", refusal.type},   {"param", nullptr},
                  {"code", refusal.status}, {"error", {{"message", refusal.message}, {"type", refusal.type}, {"param", nullptr}, {"code", refusal.status}}}};
  return {refusal.status, {{"content-type", "application/json"}}, compact(body)};
}

AnswerText::AnswerText(const GenerationRequest& request, const std::string& id, std::int64_t created)
    : endpoint_(request.endpoint), include_usage_(request.include_usage), prompt_tokens_(request.prompt_tokens), model_(request.model), created_(created) {
  constexpr const char* kMark = "\x01";  // no text of the envelope holds it; written as its escape
  Json json;
  switch (endpoint_) {
    case Endpoint::kChat:
      id_ = "chatcmpl-" + id;
      json = base("chat.completion.chunk");
      json["choices"] = {{{"index", 0}, {"delta", {{"content", kMark}}}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
      break;
    case Endpoint::kCompletions:
      id_ = "cmpl-" + id;
      json = base("text_completion");
      json["choices"] = {{{"index", 0}, {"text", kMark}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
      break;
    case Endpoint::kTriton:
      json = {{"model_name", "ensemble"}, {"model_version", "1"},    {"sequence_end", false},
              {"sequence_id", 0},         {"sequence_start", false}, {"text_output", kMark}};
      break;
    case Endpoint::kSglang:
    case Endpoint::kLlama:
      id_ = id;  // their events count, so each is written anew
      return;
  }
  const std::string text = event(json);
  const std::string quoted = codec::write_json(Json(kMark), codec::JsonForm::kCompactUtf8);
  const std::size_t at = text.rfind(quoted);
  before_ = text.substr(0, at);
  after_ = text.substr(at + quoted.size());
  after_.resize(after_.size() - 3);  // "}\n\n": a stamp may stand before it
}

Json AnswerText::base(const char* object) const { return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}}; }

Json AnswerText::usage(std::int64_t completion_tokens) const {
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens_ + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cached_}}}};
}

Json AnswerText::sglang(const std::string& text, const char* finish_reason, std::int64_t completion_tokens) const {
  Json reason;
  if (finish_reason != nullptr) {
    reason =
        std::string_view(finish_reason) == "length" ? Json{{"type", "length"}, {"length", completion_tokens}} : Json{{"type", "stop"}, {"matched", nullptr}};
  }
  return {{"text", text},
          {"meta_info",
           {{"id", id_},
            {"finish_reason", reason},
            {"prompt_tokens", prompt_tokens_},
            {"weight_version", "default"},
            {"completion_tokens", completion_tokens},
            {"cached_tokens", cached_}}}};
}

Json AnswerText::llama_end(const std::string& text, std::int64_t completion_tokens, const std::string& finish_reason) const {
  return {{"index", 0},
          {"content", text},
          {"stop", true},
          {"id_slot", -1},
          {"model", model_},
          {"tokens_predicted", completion_tokens},
          {"tokens_evaluated", prompt_tokens_},
          {"stop_type", finish_reason == "length" ? "limit" : "word"},
          {"truncated", false},
          {"tokens_cached", cached_},
          {"timings", {{"cache_n", cached_}, {"prompt_n", prompt_tokens_ - cached_}, {"predicted_n", completion_tokens}}}};
}

std::string AnswerText::opening() const {
  if (endpoint_ != Endpoint::kChat) return {};
  Json json = base("chat.completion.chunk");
  json["choices"] = {{{"index", 0}, {"delta", {{"role", "assistant"}, {"content", ""}}}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
  return event(json);
}

void AnswerText::token(std::string& out, std::string_view piece, std::int64_t produced, bool last, const char* finish_reason,
                       const std::optional<Stamp>& stamp) {
  if (endpoint_ == Endpoint::kSglang) {
    so_far_ += piece;
    Json json = sglang(so_far_, last ? finish_reason : nullptr, produced);
    if (stamp) json["twin"] = {{"seq", stamp->sequence}, {"sent_ns", stamp->sent_ns}};
    out += event(json);
    return;
  }
  if (endpoint_ == Endpoint::kLlama) {
    Json json{{"index", 0},
              {"content", piece},
              {"tokens", Json::array()},
              {"stop", false},
              {"id_slot", -1},
              {"tokens_predicted", produced},
              {"tokens_evaluated", prompt_tokens_}};
    if (stamp) json["twin"] = {{"seq", stamp->sequence}, {"sent_ns", stamp->sent_ns}};
    out += event(json);
    return;
  }
  out += before_;
  const bool plain = std::ranges::all_of(piece, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
  if (plain) {
    out += '"';
    out += piece;
    out += '"';
  } else {
    out += compact(Json(piece));
  }
  out += after_;
  if (stamp) out += fmt::format(R"(,"twin":{{"seq":{},"sent_ns":{}}})", stamp->sequence, stamp->sent_ns);
  out += "}\n\n";
}

std::string AnswerText::closing(const std::string& finish_reason, std::int64_t completion_tokens) const {
  if (endpoint_ == Endpoint::kSglang) return "data: [DONE]\n\n";
  if (endpoint_ == Endpoint::kTriton) return {};
  if (endpoint_ == Endpoint::kLlama) return event(llama_end("", completion_tokens, finish_reason));
  const bool chat = endpoint_ == Endpoint::kChat;
  const char* object = chat ? "chat.completion.chunk" : "text_completion";
  Json last = base(object);
  if (chat) {
    last["choices"] = {{{"index", 0}, {"delta", Json::object()}, {"logprobs", nullptr}, {"finish_reason", finish_reason}}};
  } else {
    last["choices"] = {{{"index", 0}, {"text", ""}, {"logprobs", nullptr}, {"finish_reason", finish_reason}}};
  }
  std::string text = event(last);
  if (include_usage_) {
    Json json = base(object);
    json["choices"] = Json::array();
    json["usage"] = usage(completion_tokens);
    text += event(json);
  }
  return text + "data: [DONE]\n\n";
}

std::string AnswerText::document(const std::string& text, const std::string& finish_reason, std::int64_t completion_tokens) const {
  switch (endpoint_) {
    case Endpoint::kSglang:
      return compact(sglang(text, finish_reason.c_str(), completion_tokens));
    case Endpoint::kTriton:
      return compact(Json{
          {"model_name", "ensemble"}, {"model_version", "1"}, {"sequence_end", false}, {"sequence_id", 0}, {"sequence_start", false}, {"text_output", text}});
    case Endpoint::kLlama:
      return compact(llama_end(text, completion_tokens, finish_reason));
    case Endpoint::kChat:
    case Endpoint::kCompletions:
      break;
  }
  const bool chat = endpoint_ == Endpoint::kChat;
  Json json = base(chat ? "chat.completion" : "text_completion");
  if (chat) {
    json["choices"] = {{{"index", 0}, {"message", {{"role", "assistant"}, {"content", text}}}, {"logprobs", nullptr}, {"finish_reason", finish_reason}}};
  } else {
    json["choices"] = {{{"index", 0}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", finish_reason}}};
  }
  json["usage"] = usage(completion_tokens);
  return compact(json);
}

}  // namespace pawl::twin
