#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::twin {

/// A well-spread 64-bit value that depends on both inputs only (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t position) {
  std::uint64_t z = seed * 0x9e3779b97f4a7c15u + position + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// 0 to below 1.
[[nodiscard]] constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace pawl::twin
