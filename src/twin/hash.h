#pragma once

#include <cstdint>
#include <string_view>

#include "engine_law/law.h"

namespace pawl::twin {

using engine_law::mix;
using engine_law::unit;

/// FNV-1a.
[[nodiscard]] constexpr std::uint64_t hash_text(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace pawl::twin
