#pragma once

#include <cstdint>
#include <optional>

#include "codec/json.h"

namespace pawl::changelog {

// Lax typing (recipes-matrix-changelog 3): what the reference's schema takes for a type, beyond the type itself.

/// Integers, booleans, integral floats, and quoted decimal texts such as "8", "+1_000" and "8.0".
[[nodiscard]] std::optional<std::int64_t> lax_int(const codec::Json& value);
/// Booleans, the numbers 0 and 1, and the words `1 0 true false t f yes no y n on off` in any case.
[[nodiscard]] std::optional<bool> lax_bool(const codec::Json& value);

/// Equal as Python compares parsed data: the order of keys does not matter, `true`, `1` and `1.0` are one value.
[[nodiscard]] bool same_data(const codec::Json& a, const codec::Json& b);
/// A text that two values share exactly when they are `same_data`.
[[nodiscard]] std::string data_key(const codec::Json& value);

}  // namespace pawl::changelog
