#pragma once

#include "backend/backend.h"

namespace pawl::backend {

/// `generate_stream` of Triton with the TensorRT-LLM back end. The model name is part of the path. It names no finish
/// reason, no usage and no terminal marker.
class TrtllmGenerate final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "trtllm"; }
  [[nodiscard]] std::string_view about() const override { return "generate_stream of Triton with TensorRT-LLM: text only, no token counts"; }
  [[nodiscard]] std::string path(const BodyOptions& options) const override;
  [[nodiscard]] workload::Form prompt_form() const override { return workload::Form::kText; }
  [[nodiscard]] bool takes(workload::Form form) const override { return form == workload::Form::kText; }
  [[nodiscard]] bool has_done_marker() const override { return false; }
  [[nodiscard]] bool has_finish_reason() const override { return false; }
  void write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const override;
  void read(std::string_view json, EventFacts& facts) const override;
};

}  // namespace pawl::backend
