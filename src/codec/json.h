#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::codec {

/// A JSON tree that keeps the order of keys.
using Json = nlohmann::ordered_json;

/// Parses one JSON document. `name` says in errors what was being read ("result.json", "answer of the registry").
/// Refuses text over `max_bytes`, nesting over 300, invalid UTF-8, NaN and Infinity. A repeated key: the last wins.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const std::string& name, std::size_t max_bytes = 256u << 20);

/// The three text forms of recipes-matrix-changelog 1.4. None appends a line end.
enum class JsonForm {
  kPySpaced,     ///< `", "` and `": "`, non-ASCII escaped: Python's json.dumps as it comes
  kCompactUtf8,  ///< `,` and `:`, UTF-8 as it is
  kPyCompact,    ///< `,` and `:`, non-ASCII escaped
};
[[nodiscard]] std::string write_json(const Json& value, JsonForm form);

/// PY-COMPACT with keys sorted by code point at every depth: what fingerprints and keys hash.
[[nodiscard]] std::string write_json_sorted(const Json& value);

/// Two blanks a level, UTF-8 as it is, one line end: for files and screens that people read.
[[nodiscard]] std::string write_json_pretty(const Json& value);

/// A finite double the way Python's repr writes it: shortest text that reads back exactly, always with a dot or an
/// exponent ("2.0", "0.1", "1e-05", "1e+16").
[[nodiscard]] std::string python_float(double value);

}  // namespace pawl::codec
