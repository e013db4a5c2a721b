#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/image.h"

namespace pawl::io {

struct ImageFacts {
  std::string digest;                 ///< of the index or manifest that the tag names
  std::optional<std::string> pushed;  ///< ISO 8601; absent when the registry does not tell
};

/// Where images come from. An incomplete listing is an error, never a short list.
class ImageRegistry {
 public:
  virtual ~ImageRegistry() = default;
  virtual Result<std::vector<std::string>> tags(const std::string& name) = 0;
  /// kNotFound when the tag does not exist.
  virtual Result<ImageFacts> look_up(const model::ImageRef& image) = 0;
};

}  // namespace pawl::io
