#pragma once

#include <string_view>

#include "codec/json.h"

namespace pawl::codec {

/// The member of this name; null where there is none, or where the value is no object. Quicker than `find` with a literal: names of other lengths are
/// passed over without a look at their letters.
[[nodiscard]] inline const Json* member(const Json& value, std::string_view name) {
  if (!value.is_object()) return nullptr;
  for (const auto& [key, held] : value.get_ref<const Json::object_t&>()) {
    if (std::string_view(key) == name) return &held;
  }
  return nullptr;
}

}  // namespace pawl::codec
