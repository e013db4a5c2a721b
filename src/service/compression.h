#pragma once

#include <string>
#include <string_view>

namespace pawl::service {

enum class Encoding { kIdentity, kGzip, kZstd };

/// What an Accept-Encoding field allows, best first: zstd, gzip, identity. Names with q=0 are not allowed.
[[nodiscard]] Encoding encoding_for(std::string_view accept);
[[nodiscard]] const char* encoding_name(Encoding encoding);
[[nodiscard]] std::string compress(std::string_view bytes, Encoding encoding);

}  // namespace pawl::service
