#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace pawl {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "pawl: defect: %s does not hold (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace pawl
