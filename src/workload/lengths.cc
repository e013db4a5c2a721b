#include "workload/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pawl::workload {
namespace {

constexpr std::int64_t kLongest = 1'000'000'000;

std::int64_t scaled_down(std::int64_t length, double factor) { return static_cast<std::int64_t>(static_cast<double>(length) * factor); }

}  // namespace

double fixed_ratio(RangeProfile profile) { return profile == RangeProfile::kInferencex || profile == RangeProfile::kSglang ? 1 : 0; }

Result<LengthRanges> length_ranges(const LengthRule& rule) {
  const double r = rule.ratio;
  if (rule.isl < 1 || rule.osl < 1 || rule.isl > kLongest || rule.osl > kLongest) {
    return bad_input(fmt::format("lengths {} and {}: between 1 and {} tokens each", rule.isl, rule.osl, kLongest));
  }
  if (!(r >= 0 && r <= 1)) return bad_input(fmt::format("range ratio {} is not between 0 and 1", r));
  if (rule.profile == RangeProfile::kVllm && r >= 1) {
    return bad_input("range ratio 1 under the vllm profile reaches length 0", "give a ratio below 1; 0 means fixed lengths there");
  }
  const std::int64_t m = rule.isl - rule.overhead;
  if (rule.overhead < 0 || m < 1) {
    return bad_input(fmt::format("an input of {} tokens, of which {} are special or template tokens, leaves no prompt", rule.isl, rule.overhead),
                     "ask for a longer input");
  }
  const auto around = [r](std::int64_t length, std::int64_t least) {
    const auto l = static_cast<double>(length);
    return LengthRange{std::max(least, static_cast<std::int64_t>(std::floor(l * (1 - r)))), std::max(least, static_cast<std::int64_t>(std::ceil(l * (1 + r))))};
  };
  switch (rule.profile) {
    case RangeProfile::kInferencex:
      return LengthRanges{{scaled_down(m, r), m}, {scaled_down(rule.osl, r), rule.osl}};
    case RangeProfile::kVllm:
      return LengthRanges{around(m, 0), around(rule.osl, 1)};
    case RangeProfile::kSglang:
      return LengthRanges{
          {std::max<std::int64_t>(1, scaled_down(rule.isl, r)), rule.isl}, {std::max<std::int64_t>(1, scaled_down(rule.osl, r)), rule.osl}, rule.overhead};
    case RangeProfile::kAiperf:
      return LengthRanges{around(m, 1), around(rule.osl, 1)};
  }
  return internal_error("a range profile without a rule");
}

}  // namespace pawl::workload
