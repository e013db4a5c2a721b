#pragma once

#include <boost/describe.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pawl::model {

/// A container image as recipes write it: `[registry/]repository[:tag][@sha256:…]`. `#` after the registry host (the
/// spelling of enroot) reads as `/`. Or one of pawl's own sources: `pypi:NAME==VERSION`, `dir:/absolute/path`.
struct ImageRef {
  std::string name;    ///< registry and repository, as written; "pypi:NAME"; "dir:/absolute/path"
  std::string tag;     ///< empty when none; of a package its version
  std::string digest;  ///< "sha256:<64 hex>", empty when not pinned
  bool operator==(const ImageRef&) const = default;

  [[nodiscard]] std::string text() const;
};
BOOST_DESCRIBE_STRUCT(ImageRef, (), (name, tag, digest))

/// kInvalid for an empty name, blanks, control characters, or a digest that is none.
[[nodiscard]] Result<ImageRef> parse_image(std::string_view text);

/// Whether two spellings name the same image (`/` and `#` after the host compare equal).
[[nodiscard]] bool same_image(std::string_view a, std::string_view b);

}  // namespace pawl::model
