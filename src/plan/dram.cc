#include "plan/dram.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace pawl::plan {
namespace {

constexpr std::int64_t kMibMax = 2861022;
constexpr std::int64_t kBytesPerMib = 1048576;
constexpr std::int64_t kExponentMax = 10000;

__extension__ using Wide = unsigned __int128;

/// A whole number of any size: decimal digits, the lowest first.
using Digits = std::vector<unsigned char>;

void multiply(Digits& digits, std::uint64_t factor) {
  Wide carry = 0;
  for (unsigned char& digit : digits) {
    carry += static_cast<Wide>(digit) * factor;
    digit = static_cast<unsigned char>(carry % 10);
    carry /= 10;
  }
  for (; carry > 0; carry /= 10) digits.push_back(static_cast<unsigned char>(carry % 10));
}

/// The whole part of the quotient; nothing beyond 64 bits.
std::optional<std::int64_t> divide(const Digits& digits, std::uint64_t divisor) {
  Wide rest = 0, quotient = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    rest = rest * 10 + *digit;
    quotient = quotient * 10 + rest / divisor;
    rest %= divisor;
    if (quotient > static_cast<Wide>(INT64_MAX)) return std::nullopt;
  }
  return static_cast<std::int64_t>(quotient);
}

}  // namespace

std::optional<std::int64_t> dram_gigabytes(std::int64_t mib, std::string_view utilization, std::int64_t gpus, std::int64_t per_node) {
  // utilization = mantissa × 10^-scale
  std::string text = replace_all(std::string(trim(utilization)), "_", "");
  if (text.starts_with('+')) text.erase(0, 1);
  std::int64_t exponent = 0;
  if (const auto e = text.find_first_of("eE"); e != std::string::npos) {
    const auto written = parse_int(std::string_view(text).substr(e + 1));
    if (!written || *written > kExponentMax || *written < -kExponentMax) return std::nullopt;
    exponent = *written;
    text.resize(e);
  }
  std::int64_t scale = -exponent;
  if (const auto dot = text.find('.'); dot != std::string::npos) {
    scale += static_cast<std::int64_t>(text.size() - dot - 1);
    text.erase(dot, 1);
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;

  Digits digits;
  for (auto c = text.rbegin(); c != text.rend(); ++c) digits.push_back(static_cast<unsigned char>(*c - '0'));
  multiply(digits, static_cast<std::uint64_t>(std::min(mib, kMibMax)));
  multiply(digits, static_cast<std::uint64_t>(kBytesPerMib));
  multiply(digits, static_cast<std::uint64_t>(gpus));
  scale += 9;
  for (; scale < 0; ++scale) multiply(digits, 10);
  digits.erase(digits.begin(), digits.begin() + std::min<std::ptrdiff_t>(scale, static_cast<std::ptrdiff_t>(digits.size())));
  return divide(digits, static_cast<std::uint64_t>(per_node));
}

}  // namespace pawl::plan
