#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  /// An expression that is looked for anywhere in a text. `characters`: a dot and a class mean a character of UTF-8, not a byte (bytes that are
  /// no UTF-8 match nothing). Error: as `compile`.
  [[nodiscard]] static Result<Pattern> compile_search(std::string_view expression, bool characters = false);
  /// Where an expression made by `compile_search` first stands, at byte `from` or behind: false when nowhere. What stands before `from` is
  /// seen by `^`, `\b` and look-behinds. `groups` becomes the whole match and then each numbered group, empty where one took no part;
  /// they are views into `text`. Many times as fast as `match`; the same limit of steps.
  [[nodiscard]] bool find(std::string_view text, std::vector<std::string_view>& groups, std::size_t from = 0) const;
  /// How many groups there are, without the whole match.
  [[nodiscard]] std::size_t groups() const;
  /// The number of a named group; nothing when there is none of that name.
  [[nodiscard]] std::optional<std::size_t> group(const std::string& name) const;

 private:
  struct Code;
  [[nodiscard]] static Result<Pattern> compile_with(std::string_view expression, std::uint32_t options);
  std::shared_ptr<const Code> code_;
};

}  // namespace pawl::codec
