#include "backend/llamacpp.h"

#include "backend/internal/body_writer.h"
#include "backend/internal/facts.h"

namespace pawl::backend {

using codec::JsonScan;

void LlamaCpp::write_body(const workload::Prompt& prompt, const BodyOptions& options, std::string& out) const {
  BodyWriter body(out, options.extra);
  if (!prompt.ids.empty()) {
    body.ids("prompt", prompt.ids);
  } else {
    body.text("prompt", prompt.text);
  }
  body.length("n_predict", prompt.osl, {"n_predict", "max_tokens"});
  if (options.temperature) body.number("temperature", *options.temperature);
  if (options.ignore_eos) body.boolean("ignore_eos", true);
  if (options.logprobs) body.integer("n_probs", *options.logprobs);
  body.boolean("stream", options.stream);
  body.finish();
}

void LlamaCpp::read(std::string_view json, EventFacts& facts) const {
  ChoiceFacts choice;
  std::string_view stop_type;
  bool carries = false;
  read_object(json, facts, [&](std::string_view key, JsonScan& scan) {
    if (key == "content") {
      const auto text = scan.raw_string();
      carries = carries || text.has_value();
      choice.text = text.value_or(std::string_view{});
    } else if (key == "index") {
      choice.index = read_count(scan).value_or(0);
    } else if (key == "stop") {
      facts.last = scan.boolean().value_or(false);
    } else if (key == "stop_type") {
      stop_type = read_finish(scan);
    } else if (key == "tokens_predicted") {
      facts.meta_output = read_count(scan);
    } else if (key == "tokens_evaluated") {
      facts.meta_input = read_count(scan);
    } else if (key == "timings") {
      if (!scan.enter_object()) return;
      for (std::string_view inner; scan.next_key(inner);) {
        if (inner == "cache_n") {
          facts.meta_cached = read_count(scan);
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
  if (facts.malformed) return;
  if (facts.last) choice.finish = stop_type.empty() || stop_type == "none" ? std::string_view("stop") : stop_type;
  if (carries || facts.last) facts.choices.push_back(choice);
}

}  // namespace pawl::backend
