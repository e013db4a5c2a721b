#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::io {

/// The files of the project's `data/`: embedded in the binary, each replaceable by one of the same name under `--data`.
class Assets {
 public:
  virtual ~Assets() = default;
  /// `name` is relative to data/, with slashes: "twins/b200.yaml". kNotFound when there is none.
  [[nodiscard]] virtual Result<std::string> read(std::string_view name) const = 0;
  /// Names that start with `prefix`, sorted.
  [[nodiscard]] virtual std::vector<std::string> list(std::string_view prefix) const = 0;
};

}  // namespace pawl::io
