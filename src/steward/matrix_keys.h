#pragma once

#include <string>
#include <vector>

#include "codec/json.h"
#include "model/point.h"

namespace pawl::steward {

/// `model::point_key` of every row.
[[nodiscard]] inline std::vector<std::string> keys_of(const std::vector<codec::Json>& rows) {
  std::vector<std::string> keys;
  for (const codec::Json& row : rows) keys.push_back(model::point_key(row));
  return keys;
}

}  // namespace pawl::steward
