#pragma once

#include <string>

#include "codec/json.h"

namespace pawl::codec {

/// `write_json` at the end of `out`: for texts of many values, written piece by piece.
void append_json(std::string& out, const Json& value, JsonForm form);

/// A text with its quotes and escapes, as `kCompactUtf8` has it.
void append_json_text(std::string& out, const std::string& text);

}  // namespace pawl::codec
