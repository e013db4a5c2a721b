#include "loadgen/token_rules.h"

#include <array>

namespace pawl::loadgen {
namespace {

using codec::Json;

bool has_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() && !found->get_ref<const std::string&>().empty();
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool tool_call_has_text(const Json& call) {
  const Json* function = member(call, "function");
  return function != nullptr && function->is_object() && (has_text(*function, "name") || has_text(*function, "arguments"));
}

/// A part of a chat answer: a delta of a stream or a whole message.
bool delta_has_text(const Json& delta) {
  if (!delta.is_object()) return false;
  for (const char* key : std::array{"content", "reasoning_content", "reasoning", "refusal"}) {
    if (has_text(delta, key)) return true;
  }
  const Json* calls = member(delta, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return false;
  for (const Json& call : *calls) {
    if (tool_call_has_text(call)) return true;
  }
  return false;
}

std::optional<std::int64_t> count_in(const Json& usage, const char* key) {
  const Json* value = member(usage, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<std::int64_t>();
}

}  // namespace

bool TokenReader::read_error(const Json& json, RequestRecord& record) {
  const Json* error = member(json, "error");
  if (error == nullptr) return false;
  record.fail("inband_error", codec::write_json(*error, codec::JsonForm::kCompactUtf8).substr(0, 4096));
  return true;
}

TokenReader::Choices TokenReader::read_choices(const Json& json, RequestRecord& record) {
  Choices out;
  const Json* choices = member(json, "choices");
  if (choices == nullptr || !choices->is_array()) return out;
  for (const Json& choice : *choices) {
    if (!choice.is_object()) continue;
    out.any = true;
    if (protocol_ == Protocol::kCompletions) {
      out.text = out.text || has_text(choice, "text");
    } else {
      for (const char* key : std::array{"delta", "message"}) {
        if (const Json* delta = member(choice, key)) out.text = out.text || delta_has_text(*delta);
      }
    }
    if (const Json* reason = member(choice, "finish_reason"); reason != nullptr && reason->is_string()) {
      out.finish = true;
      const auto& word = reason->get_ref<const std::string&>();
      if (word == "abort" || word == "error" || word == "nan" || word == "NaN") record.fail("bad_finish", "finish reason " + word);
    }
  }
  return out;
}

void TokenReader::read_usage(const Json& json, bool at_the_end, RequestRecord& record) {
  const Json* usage = member(json, "usage");
  if (usage == nullptr || !usage->is_object()) return;
  if (const auto n = count_in(*usage, "prompt_tokens")) record.usage_input = n;
  if (const auto n = count_in(*usage, "completion_tokens")) {
    if (record.usage_output && *n < *record.usage_output) ++record.flags["usage_fell"];
    record.usage_output = n;
    record.usage_final = record.usage_final || at_the_end;
  }
  if (const Json* details = member(*usage, "prompt_tokens_details")) {
    if (const auto n = count_in(*details, "cached_tokens")) record.usage_cached = n;
  }
}

void TokenReader::take(const wire::SseEvent& event, MonoTime at, RequestRecord& record) {
  if (done_ || !record.failure.empty()) return;
  if (event.done) {
    done_ = true;
    return;
  }
  if (!record.first_event) record.first_event = at;
  if (event.name == "error") {
    record.fail("inband_error", event.data.substr(0, 4096));
    return;
  }
  const auto parsed = codec::parse_json(event.data, "event");
  if (!parsed || !parsed->is_object()) {
    // A body that ended in the middle of an event is a cut, not a fault of the text.
    record.fail(event.terminated ? "json" : "early_eof", parsed ? "an event is not an object" : parsed.error().message);
    return;
  }
  if (read_error(*parsed, record)) return;

  const Choices choices = read_choices(*parsed, record);
  finished_ = finished_ || choices.finish;
  read_usage(*parsed, !choices.any || finished_, record);

  const Json* usage = member(*parsed, "usage");
  const auto counter = choices.any && usage != nullptr ? count_in(*usage, "completion_tokens") : std::nullopt;
  // Only a count that runs through the stream can tell of tokens without text: a first count that comes with the last
  // choice is the total of what was delivered before.
  const bool textless = !choices.text && counter && counter_seen_ && *counter > counted_;
  if (choices.text || textless) {
    TokenEvent token{.at = at, .tokens = std::nullopt, .coalesced = !record.tokens.empty() && record.tokens.back().at == at};
    if (counter) {
      token.tokens = std::max<std::int64_t>(0, *counter - counted_);
      counted_ = *counter;
    }
    record.tokens.push_back(token);
    if (textless) ++record.flags["textless"];
    has_output_ = true;
  }
  counter_seen_ = counter_seen_ || counter.has_value();
}

void TokenReader::take_body(std::string_view body, RequestRecord& record) {
  const auto parsed = codec::parse_json(body, "body");
  if (!parsed || !parsed->is_object()) {
    record.fail("json", parsed ? "the body is not an object" : parsed.error().message);
    return;
  }
  if (read_error(*parsed, record)) return;
  const Choices choices = read_choices(*parsed, record);
  finished_ = choices.finish;
  has_output_ = choices.text;
  read_usage(*parsed, true, record);
}

}  // namespace pawl::loadgen
