// The entry points of libFuzzer; its runtime brings `main`.
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t length = size < pawl::fuzz::kInputMax ? size : pawl::fuzz::kInputMax;
  return pawl::fuzz::one_input({reinterpret_cast<const char*>(data), length}) ? 0 : -1;
}
