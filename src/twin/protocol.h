#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codec/json.h"
#include "http/message.h"
#include "twin/answers.h"

namespace pawl::twin {

/// The two OpenAI endpoints that the twin answers.
enum class Endpoint { kCompletions, kChat };

/// A request for text, understood.
struct GenerationRequest {
  Endpoint endpoint = Endpoint::kCompletions;
  std::string model;
  std::string prompt;  ///< text; empty for token ids
  std::int64_t prompt_tokens = 1;
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
};

/// Reads the body of a request. Unknown keys are ignored, as the engines do; what cannot be simulated is refused.
[[nodiscard]] std::variant<GenerationRequest, Refusal> read_generation_request(Endpoint endpoint, const std::string& body, const RequestLimits& limits);

[[nodiscard]] http::Response refusal_response(const Refusal& refusal);

/// Writes the answer to one request, whole or as server-sent events.
class AnswerText {
 public:
  AnswerText(const GenerationRequest& request, const std::string& id, std::int64_t created);

  /// The event before the first token: the role for chat, else empty.
  [[nodiscard]] std::string opening() const;
  /// The event of one token.
  [[nodiscard]] std::string token(const std::string& piece) const;
  /// The finish event, the usage event if the request wants it, and `[DONE]`.
  [[nodiscard]] std::string closing(const std::string& finish_reason, std::int64_t completion_tokens) const;
  /// The whole answer to a request that does not stream.
  [[nodiscard]] std::string document(const std::string& text, const std::string& finish_reason, std::int64_t completion_tokens) const;

 private:
  [[nodiscard]] codec::Json usage(std::int64_t completion_tokens) const;
  [[nodiscard]] codec::Json base(const char* object) const;

  Endpoint endpoint_;
  bool include_usage_;
  std::int64_t prompt_tokens_;
  std::string id_, model_;
  std::int64_t created_;
  std::string before_, after_;  ///< of a token event, around the JSON text of its piece
};

}  // namespace pawl::twin
