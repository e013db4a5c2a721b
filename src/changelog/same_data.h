#pragma once

#include <string>

#include "codec/json.h"

namespace pawl::changelog {

/// Equal as Python compares parsed data: the order of keys does not matter, `true`, `1` and `1.0` are one value.
[[nodiscard]] bool same_data(const codec::Json& a, const codec::Json& b);
/// A text that two values share exactly when they are `same_data`.
[[nodiscard]] std::string data_key(const codec::Json& value);

}  // namespace pawl::changelog
