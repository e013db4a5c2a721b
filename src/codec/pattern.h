#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::codec {

/// A regular expression with named groups (PCRE2). Cheap to copy; thread-safe after it was made.
class Pattern {
 public:
  /// Error: kInvalid with the place in the expression.
  [[nodiscard]] static Result<Pattern> compile(std::string_view expression);

  /// The named groups that took part in a match of the whole text; nothing when it does not match. A match that takes more
  /// than a million steps counts as none: a pattern is data, and its text may be hostile.
  [[nodiscard]] std::optional<std::map<std::string, std::string>> match(std::string_view text) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace pawl::codec
