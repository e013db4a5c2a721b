#pragma once

namespace pawl {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

/// A condition that only a defect of ours can break; on in release. Never reachable from input, file or network.
#define PAWL_ASSERT(cond) ((cond) ? static_cast<void>(0) : ::pawl::assertion_failed(#cond, __FILE__, __LINE__))
