#pragma once

// What every fuzz target shares. A target is one file, NAME_fuzz.cc, that defines `pawl::fuzz::one_input`: it takes any bytes, checks what must hold for them,
// and calls PAWL_FUZZ_CHECK. CMake makes two programs of it: with `--preset fuzz` a libFuzzer driver (fuzz_NAME), in the ordinary test build a replay of
// the kept corpus and of mutations of it by a fixed seed (fuzz_replay_NAME).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace pawl::fuzz {

/// Checks one input. Returns whether it was worth keeping (false: the target did not understand its form).
bool one_input(std::string_view input);

/// Longest input that a target takes; longer ones are cut. Small, because speed finds more than size here.
extern const std::size_t kInputMax;

[[noreturn]] inline void failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: must hold: %s\n", file, line, what);
  std::abort();
}

}  // namespace pawl::fuzz

#define PAWL_FUZZ_CHECK(condition) ((condition) ? (void)0 : ::pawl::fuzz::failed(#condition, __FILE__, __LINE__))
