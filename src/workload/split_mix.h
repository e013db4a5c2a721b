#pragma once

#include <cstdint>

namespace pawl::workload {

/// A small generator of 64-bit numbers (splitmix64): the same seed gives the same numbers on every machine.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  /// Uniform over [low, high], both included; low ≤ high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    if (span == 0) return static_cast<std::int64_t>(next());  // the whole range
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + high_half(next(), span));
  }

  /// Uniform over [0, 1), 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  /// The upper 64 bits of a product.
  static constexpr std::uint64_t high_half(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t a_low = a & 0xFFFFFFFFu, a_high = a >> 32, b_low = b & 0xFFFFFFFFu, b_high = b >> 32;
    const std::uint64_t middle = a_high * b_low + ((a_low * b_low) >> 32);
    const std::uint64_t carry = a_low * b_high + (middle & 0xFFFFFFFFu);
    return a_high * b_high + (middle >> 32) + (carry >> 32);
  }

  std::uint64_t state_;
};

/// An independent generator for number `index` of the stream `stream` under `seed`. Three draws decorrelate neighbours.
[[nodiscard]] constexpr SplitMix64 generator_at(std::uint64_t seed, std::uint64_t stream, std::int64_t index) {
  std::uint64_t mixed = SplitMix64(seed).next();
  mixed = SplitMix64(mixed ^ stream).next();
  return SplitMix64(SplitMix64(mixed + static_cast<std::uint64_t>(index)).next());
}

}  // namespace pawl::workload
