#pragma once

#include <boost/describe.hpp>
#include <cstdint>

#include "base/result.h"

namespace pawl::workload {

/// How tools turn a target length and a range ratio into a range (BC-10.4).
enum class RangeProfile {
  kInferencex,  ///< [int(m·r), m], output [int(L·r), L]; r = 1 is fixed
  kVllm,        ///< [floor(m(1−r)), ceil(m(1+r))], output the same of L, at least 1; r = 0 is fixed, r < 1
  kSglang,      ///< [max(1, int(L·r)), L], then the special tokens are taken off the input; r = 1 is fixed
  kAiperf,      ///< [max(1, floor(m(1−r))), max(1, ceil(m(1+r)))], output the same of L; r = 0 is fixed
};
BOOST_DESCRIBE_ENUM(RangeProfile, kInferencex, kVllm, kSglang, kAiperf)

/// Lengths in tokens, both ends included, uniform over the integers between.
struct LengthRange {
  std::int64_t low = 1, high = 1;
  [[nodiscard]] double mean() const { return (static_cast<double>(low) + static_cast<double>(high)) / 2; }
  bool operator==(const LengthRange&) const = default;
};

struct LengthRule {
  RangeProfile profile = RangeProfile::kInferencex;
  std::int64_t isl = 1024, osl = 128;  ///< tokens, the targets L
  double ratio = 1;                    ///< r
  std::int64_t overhead = 0;           ///< special or template tokens that count as input: m = isl − overhead
};

/// The ratio that means "fixed lengths" under a profile.
[[nodiscard]] double fixed_ratio(RangeProfile profile);

/// The ranges exactly as the tool has them: a range of the reference may begin at 0. Native prompts are never empty
/// (BC-10.2), so users of the range raise a length of 0 to 1 where that matters.
struct LengthRanges {
  LengthRange input, output;
  std::int64_t removed = 0;  ///< taken off each drawn input length, down to 1 (sglang)
};
/// Errors: kInvalid for a length below 1, an overhead that leaves no input, a ratio outside of [0, 1] (vllm: of [0, 1)).
[[nodiscard]] Result<LengthRanges> length_ranges(const LengthRule& rule);

}  // namespace pawl::workload
