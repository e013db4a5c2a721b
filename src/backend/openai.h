#pragma once

#include "backend/backend.h"

namespace pawl::backend {

/// The completions and chat completions of OpenAI, as vLLM, SGLang, llama.cpp, TensorRT-LLM and Dynamo speak them.
class OpenAi final : public Backend {
 public:
  /// `min_tokens`: the server is known to understand that key, the second belt against an early end (BC-11.2).
  OpenAi(std::string_view name, std::string_view about, bool chat, bool min_tokens) : name_(name), about_(about), chat_(chat), min_tokens_(min_tokens) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view about() const override { return about_; }
  [[nodiscard]] std::string path(const BodyOptions& options) const override;
  [[nodiscard]] workload::Form prompt_form() const override { return chat_ ? workload::Form::kMessages : workload::Form::kIds; }
  [[nodiscard]] bool takes(workload::Form form) const override { return chat_ ? form != workload::Form::kIds : form != workload::Form::kMessages; }
  [[nodiscard]] bool takes_tools() const override { return chat_; }
  void write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const override;
  void read(std::string_view json, EventFacts& facts) const override;

 private:
  std::string_view name_, about_;
  bool chat_, min_tokens_;
};

}  // namespace pawl::backend
