#include "backend/openai.h"

#include <array>

#include "backend/internal/body_writer.h"
#include "backend/internal/facts.h"

namespace pawl::backend {
namespace {

using codec::JsonScan;

/// A text that counts: the raw string, empty for anything else.
std::string_view text_of(JsonScan& scan) { return scan.raw_string().value_or(std::string_view{}); }

/// tool_calls: a name or a piece of arguments is output (BC-5.2). Gives the last non-empty piece.
std::string_view read_tool_calls(JsonScan& scan) {
  std::string_view piece;
  if (!scan.enter_array()) return piece;
  while (scan.next_element()) {
    if (!scan.enter_object()) continue;
    for (std::string_view key; scan.next_key(key);) {
      if (key != "function") {
        scan.skip();
        continue;
      }
      if (!scan.enter_object()) continue;
      for (std::string_view inner; scan.next_key(inner);) {
        if (inner == "name" || inner == "arguments") {
          if (const auto text = text_of(scan); !text.empty()) piece = text;
        } else {
          scan.skip();
        }
      }
    }
  }
  return piece;
}

/// A part of a chat answer: a delta of a stream or a whole message.
void read_delta(JsonScan& scan, ChoiceFacts& choice) {
  choice.text = choice.reasoning = choice.other = {};
  if (!scan.enter_object()) return;
  std::string_view refusal, tool;
  for (std::string_view key; scan.next_key(key);) {
    if (key == "content") {
      choice.text = text_of(scan);
    } else if (key == "reasoning_content" || key == "reasoning") {
      // Servers send one or the other, or both with the same text: it counts once (edge case 17).
      if (const auto text = text_of(scan); !text.empty()) choice.reasoning = text;
    } else if (key == "refusal") {
      refusal = text_of(scan);
    } else if (key == "tool_calls") {
      tool = read_tool_calls(scan);
    } else {
      scan.skip();
    }
  }
  choice.other = tool.empty() ? refusal : tool;
}

/// logprobs: of completions {"tokens":[…]}, of chat {"content":[…]}.
std::optional<std::int64_t> read_logprobs(JsonScan& scan) {
  std::optional<std::int64_t> n;
  if (!scan.enter_object()) return n;
  for (std::string_view key; scan.next_key(key);) {
    if (key == "tokens" || key == "content") {
      if (const auto found = count_elements(scan)) n = found;
    } else {
      scan.skip();
    }
  }
  return n;
}

void read_choice(JsonScan& scan, ChoiceFacts& choice) {
  std::optional<std::int64_t> ids, logprobs;
  for (std::string_view key; scan.next_key(key);) {
    if (key == "index") {
      choice.index = read_count(scan).value_or(0);
    } else if (key == "text") {
      choice.text = text_of(scan);
    } else if (key == "delta" || key == "message") {
      read_delta(scan, choice);
    } else if (key == "finish_reason") {
      choice.finish = read_finish(scan);
    } else if (key == "token_ids") {
      ids = count_elements(scan);
    } else if (key == "logprobs") {
      logprobs = read_logprobs(scan);
    } else {
      scan.skip();
    }
  }
  choice.ids = ids ? ids : logprobs;
}

void read_choices(JsonScan& scan, EventFacts& facts) {
  facts.choices.clear();
  if (!scan.enter_array()) return;
  while (scan.next_element()) {
    if (!scan.enter_object()) continue;
    read_choice(scan, facts.choices.emplace_back());
  }
}

void write_messages(const std::vector<workload::Message>& messages, bool parts, std::string& out) {
  out += '[';
  for (std::size_t i = 0; i < messages.size(); ++i) {
    out += i == 0 ? R"({"role":)" : R"(,{"role":)";
    append_json_text(out, messages[i].role);
    out += R"(,"content":)";
    if (parts) out += R"([{"type":"text","text":)";
    append_json_text(out, messages[i].content);
    out += parts ? "}]}" : "}";
  }
  out += ']';
}

}  // namespace

std::string OpenAi::path(const BodyOptions&) const { return chat_ ? "/v1/chat/completions" : "/v1/completions"; }

void OpenAi::write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const {
  const BodyProfile profile = options.profile;
  BodyWriter body(out, options.extra);
  body.text("model", options.lora.empty() ? options.model : options.lora);
  if (chat_) {
    std::string messages;
    const std::vector<workload::Message> alone{{"user", prompt.text}};
    write_messages(prompt.messages.empty() ? alone : prompt.messages, profile == BodyProfile::kVllm, messages);
    body.raw("messages", messages);
  } else if (!prompt.ids.empty()) {
    body.ids("prompt", prompt.ids);
  } else {
    body.text("prompt", prompt.text);
  }
  // InferenceX's chat client still asks with the older name.
  const bool old_name = !chat_ || profile == BodyProfile::kInferencex;
  body.length(old_name ? "max_tokens" : "max_completion_tokens", prompt.osl, {"max_tokens", "max_completion_tokens"});
  const bool wants_zero = profile == BodyProfile::kSglang || profile == BodyProfile::kInferencex;
  if (options.temperature || wants_zero) body.number("temperature", options.temperature.value_or(0));
  if (profile == BodyProfile::kVllm && !chat_) body.raw("repetition_penalty", "1.0");
  if (profile == BodyProfile::kInferencex && !chat_) body.integer("best_of", 1);
  if (options.choices != 1) body.integer("n", options.choices);
  if (chat_) {
    if (options.logprobs) {
      body.boolean("logprobs", true);
      body.integer("top_logprobs", *options.logprobs);
    }
  } else if (options.logprobs) {
    body.integer("logprobs", *options.logprobs);
  } else if (profile == BodyProfile::kVllm || profile == BodyProfile::kInferencex) {
    body.null("logprobs");
  }
  if (!options.tools.is_null()) body.raw("tools", codec::write_json(options.tools, codec::JsonForm::kCompactUtf8));
  if (options.ignore_eos) {
    body.boolean("ignore_eos", true);
    if (min_tokens_ && profile == BodyProfile::kNative && !body.is_given("max_tokens") && !body.is_given("max_completion_tokens")) {
      body.integer("min_tokens", prompt.osl);
    }
  } else if (profile == BodyProfile::kSglang) {
    body.boolean("ignore_eos", false);
  }
  body.boolean("stream", options.stream);
  if (options.stream && options.ask_usage) {
    body.object("stream_options", [&](BodyWriter& inner) {
      inner.boolean("include_usage", true);
      if (options.usage_per_chunk) inner.boolean("continuous_usage_stats", true);
    });
  }
  body.finish();
}

void OpenAi::read(std::string_view json, EventFacts& facts) const {
  if (std::string_view text; facts.shape.fits(json, text)) {
    facts.clear();
    ChoiceFacts& choice = facts.choices.emplace_back();
    choice.index = facts.shape_index;
    (facts.shape_reasoning ? choice.reasoning : choice.text) = text;
    return;
  }
  std::array<std::string_view, 2> own;  // what differs from request to request
  std::size_t n = 0;
  read_object(json, facts, [&](std::string_view key, JsonScan& scan) {
    if (key == "choices") {
      read_choices(scan, facts);
    } else if (key == "usage") {
      read_usage(scan, facts);
    } else if (key == "error") {
      read_error(scan, facts);
    } else {
      std::string_view value = scan.skip();
      if (n == own.size() || (key != "id" && key != "created")) return;
      if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
      own[n++] = value;
    }
  });
  if (facts.malformed || facts.usage || !facts.error.empty() || facts.choices.size() != 1) return;
  const ChoiceFacts& choice = facts.choices.front();
  if (!choice.finish.empty() || choice.ids || !choice.other.empty() || choice.text.empty() == choice.reasoning.empty()) return;
  facts.shape_index = choice.index;
  facts.shape_reasoning = choice.text.empty();
  facts.shape.learn(json, facts.shape_reasoning ? choice.reasoning : choice.text, own.data(), n);
}

}  // namespace pawl::backend
