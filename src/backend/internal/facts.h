#pragma once

#include "backend/backend.h"
#include "codec/json_scan.h"

/// Members that several protocols share, read off a JsonScan that stands before their value.
namespace pawl::backend {

/// `usage` of the OpenAI protocols: prompt_tokens, completion_tokens and their details. Null: there is none.
void read_usage(codec::JsonScan& scan, EventFacts& facts);
/// A value that is an error unless it is null (BC-4.10).
void read_error(codec::JsonScan& scan, EventFacts& facts);
/// The number of elements of an array; nothing for another kind.
[[nodiscard]] std::optional<std::int64_t> count_elements(codec::JsonScan& scan);
/// A finish reason: a text, or an object with `type`; null gives an empty view.
[[nodiscard]] std::string_view read_finish(codec::JsonScan& scan);
/// A count: an integer that is not negative.
[[nodiscard]] std::optional<std::int64_t> read_count(codec::JsonScan& scan);

/// The whole event: calls `member(key, scan)` for each member of the object, which takes its value. Marks what is no
/// JSON object as malformed.
template <class Member>
void read_object(std::string_view json, EventFacts& facts, Member&& member) {
  facts.clear();
  codec::JsonScan scan(json);
  const bool object = scan.peek() == codec::JsonScan::Kind::kObject;
  if (scan.enter_object()) {
    for (std::string_view key; scan.next_key(key);) member(key, scan);
  }
  if (!scan.finish() || !object) {
    facts.clear();
    facts.malformed = true;
  }
}

}  // namespace pawl::backend
