#include "backend/internal/facts.h"

namespace pawl::backend {

using codec::JsonScan;

std::optional<std::int64_t> read_count(JsonScan& scan) {
  const auto value = scan.integer();
  return value && *value >= 0 ? value : std::nullopt;
}

void read_usage(JsonScan& scan, EventFacts& facts) {
  facts.usage = false;  // of a repeated key the last counts (edge case 35)
  facts.usage_input = facts.usage_output = facts.usage_cached = facts.usage_reasoning = std::nullopt;
  if (!scan.enter_object()) return;
  facts.usage = true;
  for (std::string_view key; scan.next_key(key);) {
    if (key == "prompt_tokens") {
      facts.usage_input = read_count(scan);
    } else if (key == "completion_tokens") {
      facts.usage_output = read_count(scan);
    } else if (key == "prompt_tokens_details") {
      facts.usage_cached = std::nullopt;
      if (!scan.enter_object()) continue;
      for (std::string_view inner; scan.next_key(inner);) {
        if (inner == "cached_tokens") {
          facts.usage_cached = read_count(scan);
        } else {
          scan.skip();
        }
      }
    } else if (key == "completion_tokens_details") {
      facts.usage_reasoning = std::nullopt;
      if (!scan.enter_object()) continue;
      for (std::string_view inner; scan.next_key(inner);) {
        if (inner == "reasoning_tokens") {
          facts.usage_reasoning = read_count(scan);
        } else {
          scan.skip();
        }
      }
    } else {
      scan.skip();
    }
  }
}

void read_error(JsonScan& scan, EventFacts& facts) {
  const bool null = scan.peek() == JsonScan::Kind::kNull;
  const std::string_view value = scan.skip();
  facts.error = null ? std::string_view{} : value;
}

std::optional<std::int64_t> count_elements(JsonScan& scan) {
  if (!scan.enter_array()) return std::nullopt;
  std::int64_t n = 0;
  for (; scan.next_element(); ++n) scan.skip();
  return n;
}

std::string_view read_finish(JsonScan& scan) {
  if (scan.peek() != JsonScan::Kind::kObject) return scan.raw_string().value_or(std::string_view{});
  std::string_view reason = "object";
  scan.enter_object();
  for (std::string_view key; scan.next_key(key);) {
    if (key == "type") {
      reason = scan.raw_string().value_or(reason);
    } else {
      scan.skip();
    }
  }
  return reason;
}

}  // namespace pawl::backend
