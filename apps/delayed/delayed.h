#pragma once

#include <cstddef>

/// Libraries that are loaded when one of their functions is called for the first time, not when the program starts.
///
/// `pawl` uses fifty libraries, most of them through libcurl, libgit2 and libarchive. Loading them takes ten milliseconds, and a command that expands a
/// catalogue calls none of them. So the build finds out which functions of the libraries named in CMakeLists.txt the program calls
/// (cmake/delayed_symbols.sh), and links a stub for each one: a jump through a slot. A slot leads at first to `pawl_delayed_load`, which loads the library,
/// writes the function's address into the slot, and goes on there. Callers know nothing of it, and linking a library in the ordinary way gives the same
/// program; that is what other processors than x86-64, and all builds but the release build, do.
namespace pawl::delayed {

/// File names of the libraries, as the loader looks them up. Ends with a null.
extern const char* const kLibraries[];

struct Function {
  const char* name;
  std::size_t library;  ///< index into kLibraries
};
/// All stubs, in the order of their slots. Ends with a null name.
extern const Function kFunctions[];

}  // namespace pawl::delayed

/// Called by a stub: the address of function number `index`, which is in its slot from then on. Any thread may call. Where the library is missing or has no
/// such function, the process says so and ends with the exit status for "this machine".
extern "C" void* pawl_delayed_load(std::size_t index);
