#include "twin/protocol.h"

#include <fmt/format.h>

#include "base/text.h"

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

std::optional<Refusal> read_prompt(const Json& json, GenerationRequest& out) {
  if (out.endpoint == Endpoint::kChat) {
    const auto messages = json.find("messages");
    if (messages == json.end() || !messages->is_array() || messages->empty()) return bad("messages: a list with at least one message is needed");
    for (const Json& message : *messages) {
      if (!message.is_object() || !message.contains("role")) return bad("messages: every message needs a role");
      out.prompt += (out.prompt.empty() ? "" : "\n") + (message.contains("content") ? content_text(message["content"]) : std::string());
    }
    out.prompt_tokens = count_tokens(out.prompt);
    return std::nullopt;
  }
  const auto prompt = json.find("prompt");
  if (prompt == json.end()) return bad("prompt: missing");
  const Json* one = &*prompt;
  if (one->is_array() && one->size() == 1 && (one->front().is_string() || one->front().is_array())) one = &one->front();
  if (one->is_string()) {
    out.prompt = one->get<std::string>();
    out.prompt_tokens = count_tokens(out.prompt);
    return std::nullopt;
  }
  if (!one->is_array() || one->empty()) return bad("prompt: a text or a list of token ids is needed");
  for (const Json& token : *one) {
    if (!token.is_number_integer()) return bad("prompt: the twin takes one prompt a request: a text or a list of token ids");
    if (token.is_number_unsigned() ? token.get<std::uint64_t>() > 0x7fffffff : true) return bad("prompt: a token id is out of range");
  }
  out.prompt_tokens = static_cast<std::int64_t>(one->size());
  return std::nullopt;
}

std::optional<Refusal> read_options(const Json& json, GenerationRequest& out) {
  out.max_tokens = out.endpoint == Endpoint::kChat ? 128 : 16;
  for (const char* key : {"max_tokens", "max_completion_tokens"}) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) continue;
    if (!found->is_number_integer() || found->get<std::int64_t>() < 1) return bad(fmt::format("{} must be at least 1, got {}", key, compact(*found)));
    out.max_tokens = found->get<std::int64_t>();
  }
  for (const char* key : {"n", "best_of"}) {
    if (json.contains(key) && !json[key].is_null() && json[key] != 1) return bad(fmt::format("{}: the twin makes one answer a request", key));
  }
  if (const auto stream = json.find("stream"); stream != json.end() && !stream->is_null()) {
    if (!stream->is_boolean()) return bad("stream: true or false is needed");
    out.stream = stream->get<bool>();
  }
  if (const auto options = json.find("stream_options"); options != json.end() && options->is_object()) {
    const auto usage = options->find("include_usage");
    out.include_usage = usage != options->end() && usage->is_boolean() && usage->get<bool>();
  }
  if (const auto stop = json.find("stop"); stop != json.end() && !stop->is_null()) {
    if (stop->is_string()) {
      out.stop.push_back(stop->get<std::string>());
    } else if (stop->is_array()) {
      for (const Json& text : *stop) {
        if (!text.is_string()) return bad("stop: a text or a list of texts is needed");
        out.stop.push_back(text.get<std::string>());
      }
    } else {
      return bad("stop: a text or a list of texts is needed");
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
  if (const auto model = parsed->find("model"); model != parsed->end() && !model->is_null()) {
    if (!model->is_string()) return bad("model: a text is needed");
    if (*model != limits.served_model) {
      return Refusal{404, "NotFoundError", fmt::format("The model `{}` does not exist.", model->get_ref<const std::string&>())};
    }
  }
  if (auto refusal = read_prompt(*parsed, out)) return *refusal;
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
    : endpoint_(request.endpoint),
      include_usage_(request.include_usage),
      prompt_tokens_(request.prompt_tokens),
      id_((request.endpoint == Endpoint::kChat ? "chatcmpl-" : "cmpl-") + id),
      model_(request.model),
      created_(created) {
  // Everything but the piece is the same for every token of an answer: written once.
  const char* kMark = "@PIECE@";
  Json json = base(endpoint_ == Endpoint::kChat ? "chat.completion.chunk" : "text_completion");
  if (endpoint_ == Endpoint::kChat) {
    json["choices"] = {{{"index", 0}, {"delta", {{"content", kMark}}}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
  } else {
    json["choices"] = {{{"index", 0}, {"text", kMark}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
  }
  const std::string text = event(json);
  const std::string quoted = "\"" + std::string(kMark) + "\"";
  const std::size_t at = text.rfind(quoted);
  before_ = text.substr(0, at);
  after_ = text.substr(at + quoted.size());
}

Json AnswerText::base(const char* object) const { return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}}; }

Json AnswerText::usage(std::int64_t completion_tokens) const {
  return {{"prompt_tokens", prompt_tokens_},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens_ + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", 0}}}};
}

std::string AnswerText::opening() const {
  if (endpoint_ != Endpoint::kChat) return {};
  Json json = base("chat.completion.chunk");
  json["choices"] = {{{"index", 0}, {"delta", {{"role", "assistant"}, {"content", ""}}}, {"logprobs", nullptr}, {"finish_reason", nullptr}}};
  return event(json);
}

std::string AnswerText::token(const std::string& piece) const { return before_ + compact(Json(piece)) + after_; }

std::string AnswerText::closing(const std::string& finish_reason, std::int64_t completion_tokens) const {
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
