#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/json.h"
#include "http/message.h"
#include "twin/answers.h"

namespace pawl::twin {

/// What a request for text can be sent to, and so the shape of its answer.
enum class Endpoint {
  kCompletions,  ///< /v1/completions
  kChat,         ///< /v1/chat/completions
  kSglang,       ///< /generate
  kTriton,       ///< /v2/models/ensemble/generate(_stream), TensorRT-LLM behind Triton
  kLlama,        ///< /completion
};

/// A request for text, understood.
struct GenerationRequest {
  Endpoint endpoint = Endpoint::kCompletions;
  std::string model;
  std::string prompt;  ///< text; empty for token ids
  std::int64_t prompt_tokens = 1;
  std::uint64_t prompt_hash = 0;
  std::vector<std::uint64_t> blocks;  ///< chained hashes of the whole blocks of the prompt, when RequestLimits asks for them
  std::int64_t max_tokens = 16;
  std::vector<std::string> stop;
  bool stream = false;
  bool include_usage = false;
};

/// What a request is refused with, in the OpenAI shape.
struct Refusal {
  int status = 400;
  std::string type;  ///< "BadRequestError"
  std::string message;
};

/// Limits that a request is checked against.
struct RequestLimits {
  std::string served_model;
  std::int64_t context_length = 0;  ///< tokens, prompt and output
  std::int64_t block_tokens = 0;    ///< 0: no hashes of blocks
};

/// Reads the body of a request. Unknown keys are ignored, as the engines do; what cannot be simulated is refused.
[[nodiscard]] std::variant<GenerationRequest, Refusal> read_generation_request(Endpoint endpoint, const std::string& body, const RequestLimits& limits);

[[nodiscard]] http::Response refusal_response(const Refusal& refusal);

/// What an event carries when events are stamped.
struct Stamp {
  std::int64_t sequence = 0;
  std::int64_t sent_ns = 0;  ///< CLOCK_MONOTONIC
};

/// Writes the answer to one request, whole or as server-sent events.
class AnswerText {
 public:
  AnswerText(const GenerationRequest& request, const std::string& id, std::int64_t created);

  /// The event before the first token: the role for chat, else empty.
  [[nodiscard]] std::string opening() const;
  /// Appends the event of one token. `produced` counts it; `last` and `finish_reason` matter to the shapes whose last token
  /// event says that it is the last.
  void token(std::string& out, std::string_view piece, std::int64_t produced, bool last, const char* finish_reason, const std::optional<Stamp>& stamp);
  /// What follows the last token: the finish event, the usage event if the request wants it, and `[DONE]`, as the shape has them.
  [[nodiscard]] std::string closing(const std::string& finish_reason, std::int64_t completion_tokens) const;
  /// The whole answer to a request that does not stream.
  [[nodiscard]] std::string document(const std::string& text, const std::string& finish_reason, std::int64_t completion_tokens) const;
  void set_cached(std::int64_t tokens) { cached_ = tokens; }

 private:
  [[nodiscard]] codec::Json usage(std::int64_t completion_tokens) const;
  [[nodiscard]] codec::Json base(const char* object) const;
  [[nodiscard]] codec::Json sglang(const std::string& text, const char* finish_reason, std::int64_t completion_tokens) const;
  [[nodiscard]] codec::Json llama_end(const std::string& text, std::int64_t completion_tokens, const std::string& finish_reason) const;

  Endpoint endpoint_;
  bool include_usage_;
  std::int64_t prompt_tokens_, cached_ = 0;
  std::string id_, model_;
  std::int64_t created_;
  std::string before_, after_;  ///< of a token event, around the JSON text of its piece; after_ without its closing brace
  std::string so_far_;          ///< SGLang's events hold the whole text so far
};

}  // namespace pawl::twin
