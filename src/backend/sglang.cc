#include "backend/sglang.h"

#include "backend/internal/body_writer.h"
#include "backend/internal/facts.h"

namespace pawl::backend {

using codec::JsonScan;

void SglangGenerate::write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const {
  BodyWriter body(out, options.extra);
  if (!prompt.ids.empty()) {
    body.ids("input_ids", prompt.ids);
  } else {
    body.text("text", prompt.text);
  }
  body.object("sampling_params", [&](BodyWriter& inner) {
    inner.number("temperature", options.temperature.value_or(0));
    inner.length("max_new_tokens", prompt.osl, {"max_new_tokens"});
    inner.boolean("ignore_eos", options.ignore_eos);
    if (options.choices != 1) inner.integer("n", options.choices);
  });
  body.boolean("stream", options.stream);
  body.boolean("return_logprob", options.logprobs.has_value());
  body.integer("logprob_start_len", -1);
  if (options.logprobs && *options.logprobs > 0) body.integer("top_logprobs_num", *options.logprobs);
  if (options.lora.empty()) {
    body.null("lora_path");
  } else {
    body.text("lora_path", options.lora);
  }
  body.finish();
}

void SglangGenerate::read(std::string_view json, EventFacts& facts) const {
  ChoiceFacts choice;
  bool carries = false;
  read_object(json, facts, [&](std::string_view key, JsonScan& scan) {
    if (key == "text") {
      const auto text = scan.raw_string();
      carries = carries || text.has_value();
      choice.text = text.value_or(std::string_view{});
    } else if (key == "index") {
      choice.index = read_count(scan).value_or(0);
    } else if (key == "output_ids") {
      carries = true;
      scan.skip();
    } else if (key == "meta_info") {
      facts.meta_input = facts.meta_output = facts.meta_cached = std::nullopt;
      if (!scan.enter_object()) return;
      carries = true;
      for (std::string_view inner; scan.next_key(inner);) {
        if (inner == "prompt_tokens") {
          facts.meta_input = read_count(scan);
        } else if (inner == "completion_tokens") {
          facts.meta_output = read_count(scan);
        } else if (inner == "cached_tokens") {
          facts.meta_cached = read_count(scan);
        } else if (inner == "finish_reason") {
          choice.finish = read_finish(scan);
        } else {
          scan.skip();
        }
      }
    } else if (key == "error") {
      read_error(scan, facts);
    } else {
      scan.skip();
    }
  });
  if (carries && !facts.malformed) facts.choices.push_back(choice);
}

}  // namespace pawl::backend
