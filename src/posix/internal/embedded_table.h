#pragma once

#include <cstddef>

namespace pawl::posix {

struct Embedded {
  const char* name;
  const char* begin;
  const char* end;
};

/// Written by cmake/embed.cmake from the files under data/.
extern const Embedded kEmbedded[];
extern const std::size_t kEmbeddedCount;

}  // namespace pawl::posix
