#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "io/domain/image_registry.h"

namespace pawl::registry {

/// The media types that a manifest may have, for `Accept`: without the index types some registries answer with one platform's
/// manifest, and so with another digest.
inline constexpr const char* kManifestTypes =
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

/// One entry of an index.
struct IndexEntry {
  std::string platform;  ///< "linux/amd64"
  std::string digest;
};

/// What a manifest text is.
struct Manifest {
  bool index = false;
  std::vector<IndexEntry> entries;         ///< of an index: images only; attestations and unknown platforms are left out
  std::string config_digest;               ///< of an image
  std::vector<std::string> layer_digests;  ///< of an image, in order
  std::int64_t bytes = 0;                  ///< of an image: sum of the layers as they travel
};

/// Reads an index or an image manifest, OCI or Docker. Errors: anything else, digests that are none, over 64 entries, over
/// 1,000 layers. `name` says in errors what was being read.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, const std::string& name);

/// Adds what a config blob tells (platform, created, labels, environment, history) to a platform. Labels and variables over
/// 4 KiB are cut.
[[nodiscard]] Status add_config(std::string_view text, const std::string& name, io::PlatformImage& image);

/// Whether the image of `platform` ("linux/amd64") is another one than before. An index gets another digest when a platform
/// or an attestation is added, which is no update for the others.
struct PlatformChange {
  bool changed = false;
  std::string reason;
};
[[nodiscard]] PlatformChange platform_change(const io::ImageFacts& was, const io::ImageFacts& now, const std::string& platform);

/// "sha256:" and 64 small hexadecimal digits.
[[nodiscard]] bool is_digest(std::string_view text);

}  // namespace pawl::registry
