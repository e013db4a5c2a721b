#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::model {

/// A sweep made smaller for a machine without GPUs: `--scale 1/32`. Stands in the row, the manifest and the report, so
/// that a scaled number is never taken for a full one.
struct Scale {
  std::int64_t numerator = 1, denominator = 1;

  [[nodiscard]] bool full() const { return numerator == denominator; }
  [[nodiscard]] std::string text() const { return std::to_string(numerator) + "/" + std::to_string(denominator); }
  /// A length in tokens: rounded up, at least 16 (never more than the unscaled one).
  [[nodiscard]] std::int64_t length(std::int64_t tokens) const;
  /// A number of prompts: rounded up, at least 2 × concurrency (never more than the unscaled one).
  [[nodiscard]] std::int64_t prompts(std::int64_t count, std::int64_t concurrency) const;
  bool operator==(const Scale&) const = default;
};
BOOST_DESCRIBE_STRUCT(Scale, (), (numerator, denominator))

/// "1/32", "1"; a fraction of at most 1.
[[nodiscard]] Result<Scale> parse_scale(std::string_view text);

}  // namespace pawl::model
