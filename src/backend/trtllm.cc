#include "backend/trtllm.h"

#include "backend/internal/body_writer.h"
#include "backend/internal/facts.h"

namespace pawl::backend {
namespace {

/// No vocabulary reaches this id, so the end of text never comes.
constexpr std::int64_t kUnreachableId = 1 << 20;

}  // namespace

std::string TrtllmGenerate::path(const BodyOptions& options) const {
  return "/v2/models/" + options.model + (options.stream ? "/generate_stream" : "/generate");
}

void TrtllmGenerate::write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const {
  BodyWriter body(out, options.extra);
  body.text("text_input", prompt.text);
  body.length("max_tokens", prompt.osl, {"max_tokens"});
  if (options.temperature) body.number("temperature", *options.temperature);
  if (options.profile == BodyProfile::kVllm) {
    body.boolean("accumulate_tokens", true);
    if (!options.temperature) body.raw("temperature", "0.0");
    body.raw("top_p", "1.0");
  }
  if (options.ignore_eos) {
    body.integer("min_length", prompt.osl);
    body.integer("end_id", kUnreachableId);
  }
  body.boolean("stream", options.stream);
  body.finish();
}

void TrtllmGenerate::read(std::string_view json, EventFacts& facts) const {
  std::optional<std::string_view> text;
  read_object(json, facts, [&](std::string_view key, codec::JsonScan& scan) {
    if (key == "text_output") {
      text = scan.raw_string();
    } else if (key == "error") {
      read_error(scan, facts);
    } else {
      scan.skip();
    }
  });
  if (text && !facts.malformed) facts.choices.emplace_back().text = *text;
}

}  // namespace pawl::backend
