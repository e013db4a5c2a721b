#include "delayed.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "base/exit_status.h"

extern "C" std::atomic<void*> pawl_delayed_slots[];  // delayed.S

namespace {

/// Nothing of this process is of use without the function: its caller cannot be told.
[[noreturn]] void leave(const char* what) {
  std::fprintf(
      stderr,
      "pawl: a library that this command needs cannot be loaded: %s\n  install the package that holds it; the archive of pawl brings every library along\n",
      what);
  std::fflush(nullptr);
  ::_exit(static_cast<int>(pawl::ExitStatus::kMachine));
}

}  // namespace

extern "C" void* pawl_delayed_load(std::size_t index) {
  const pawl::delayed::Function& function = pawl::delayed::kFunctions[index];
  // Loading twice gives the same handle, so threads need not wait for one another.
  void* library = ::dlopen(pawl::delayed::kLibraries[function.library], RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) leave(::dlerror());
  void* address = ::dlsym(library, function.name);
  if (address == nullptr) leave(::dlerror());
  pawl_delayed_slots[index].store(address, std::memory_order_release);
  return address;
}
