#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pawl::http {

/// A request target, decoded.
struct Target {
  std::string path;  ///< starts with '/'
  std::vector<std::pair<std::string, std::string>> query;
};

/// Decodes `/path?a=b` or `http://host/path?a=b`. In the query `+` is a blank; a name without `=` has an empty value.
/// kInvalid: a broken escape, a NUL or a control character, a fragment, a target that does not start with '/'.
[[nodiscard]] Result<Target> parse_target(std::string_view text);

/// `text` as one component of a path or query: everything but letters, digits and `-._~` is escaped.
[[nodiscard]] std::string escape_component(std::string_view text);

}  // namespace pawl::http
