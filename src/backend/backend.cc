#include "backend/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/llamacpp.h"
#include "backend/openai.h"
#include "backend/sglang.h"
#include "backend/trtllm.h"

namespace pawl::backend {

void EventFacts::clear() {
  choices.clear();
  usage = last = malformed = false;
  usage_input = usage_output = usage_cached = usage_reasoning = std::nullopt;
  meta_input = meta_output = meta_cached = std::nullopt;
  error = {};
}

std::span<const Backend* const> all_backends() {
  static const OpenAi openai("openai", "OpenAI completions (/v1/completions) with token ids", false, false);
  static const OpenAi chat("openai-chat", "OpenAI chat completions (/v1/chat/completions) with text", true, false);
  static const OpenAi vllm("vllm", "completions of vLLM: also asks for a minimum length", false, true);
  static const OpenAi vllm_chat("vllm-chat", "chat completions of vLLM: also asks for a minimum length", true, true);
  static const OpenAi dynamo("dynamo", "completions of NVIDIA Dynamo", false, true);
  static const OpenAi dynamo_chat("dynamo-chat", "chat completions of NVIDIA Dynamo", true, true);
  static const SglangGenerate sglang;
  static const TrtllmGenerate trtllm;
  static const LlamaCpp llamacpp;
  static const std::array<const Backend*, 9> all{&openai, &chat, &vllm, &vllm_chat, &dynamo, &dynamo_chat, &sglang, &trtllm, &llamacpp};
  return all;
}

const Backend* find_backend(std::string_view name) {
  const auto all = all_backends();
  const auto found = std::ranges::find(all, name, &Backend::name);
  return found == all.end() ? nullptr : *found;
}

Status check_options(const Backend& backend, const BodyOptions& options) {
  if (options.model.empty()) return bad_input("no model name");
  if (options.choices < 1 || options.choices >= 64) return bad_input(fmt::format("{} choices a request: between 1 and 63", options.choices));
  if (!options.extra.is_null() && !options.extra.is_object()) {
    return bad_input("the extra body is not a JSON object", R"(write it as {"key": value, …})");
  }
  if (!options.tools.is_null()) {
    if (!options.tools.is_array()) return bad_input("the tools are not a JSON array");
    if (!backend.takes_tools()) return bad_input(fmt::format("back end {} takes no tools", backend.name()), "use a chat back end");
  }
  return {};
}

}  // namespace pawl::backend
