#pragma once

#include "backend/backend.h"

namespace pawl::backend {

/// The native `/generate` of SGLang. Text is cumulative unless the server runs with incremental output; `meta_info`
/// counts tokens in every event.
class SglangGenerate final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "sglang"; }
  [[nodiscard]] std::string_view about() const override { return "SGLang's own /generate: token ids or text, a token count in every event"; }
  [[nodiscard]] std::string path(const BodyOptions&) const override { return "/generate"; }
  [[nodiscard]] workload::Form prompt_form() const override { return workload::Form::kIds; }
  [[nodiscard]] bool takes(workload::Form form) const override { return form != workload::Form::kMessages; }
  [[nodiscard]] TextMode text_mode() const override { return TextMode::kCumulative; }
  void write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const override;
  void read(std::string_view json, EventFacts& facts) const override;
};

}  // namespace pawl::backend
