#pragma once

#include "backend/backend.h"

namespace pawl::backend {

/// The native `/completion` of llama.cpp. Every event counts tokens; the last one says `stop` and no `[DONE]` follows.
class LlamaCpp final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "llamacpp"; }
  [[nodiscard]] std::string_view about() const override { return "llama.cpp's own /completion: token ids or text, a token count in every event"; }
  [[nodiscard]] std::string path(const BodyOptions&) const override { return "/completion"; }
  [[nodiscard]] workload::Form prompt_form() const override { return workload::Form::kIds; }
  [[nodiscard]] bool takes(workload::Form form) const override { return form != workload::Form::kMessages; }
  [[nodiscard]] bool has_done_marker() const override { return false; }
  void write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const override;
  void read(std::string_view json, EventFacts& facts) const override;
};

}  // namespace pawl::backend
