#include "model/scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pawl::model {

std::int64_t Scale::length(std::int64_t tokens) const {
  const std::int64_t scaled = (tokens * numerator + denominator - 1) / denominator;
  return std::min(tokens, std::max<std::int64_t>(16, scaled));
}

std::int64_t Scale::prompts(std::int64_t count, std::int64_t concurrency) const {
  const std::int64_t scaled = (count * numerator + denominator - 1) / denominator;
  return std::min(count, std::max(2 * concurrency, scaled));
}

Result<Scale> parse_scale(std::string_view text) {
  const auto slash = text.find('/');
  const auto over = parse_int(text.substr(0, slash));
  const auto under = slash == std::string_view::npos ? std::optional<std::int64_t>(1) : parse_int(text.substr(slash + 1));
  constexpr std::int64_t kMax = 1'000'000;
  if (!over || !under || *over < 1 || *under < *over || *under > kMax) {
    return usage_error(fmt::format("--scale {}: not a fraction between 0 and 1", text), "write it as 1/32, or 1 for the full lengths");
  }
  return Scale{*over, *under};
}

}  // namespace pawl::model
