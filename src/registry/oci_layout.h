#pragma once

#include <filesystem>

#include "io/domain/image_registry.h"
#include "io/files.h"

namespace pawl::registry {

/// A folder in the OCI image layout (`index.json`, `blobs/sha256/…`), as skopeo and buildah write it: the same answers as a
/// registry, without a network. Images are named `oci:FOLDER:TAG`; the tag is the annotation org.opencontainers.image.ref.name.
class OciLayout final : public io::ImageRegistry {
 public:
  explicit OciLayout(const io::Files& files) : files_(files) {}

  Result<io::TagListing> tags(const std::string& name, std::stop_token stop) override;
  Result<std::string> digest(const model::ImageRef& image, std::stop_token stop) override;
  Result<io::ImageFacts> facts(const model::ImageRef& image, std::stop_token stop) override;
  Result<std::vector<std::string>> missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token stop) override;
  /// Whoever can read the folder can read the image.
  Result<bool> anonymous(const model::ImageRef&, std::stop_token) override { return true; }

  /// Where a blob of the layout lies.
  [[nodiscard]] static std::filesystem::path blob_path(const std::string& name, const std::string& digest);

 private:
  struct Named {
    std::string tag, digest;
  };
  Result<std::vector<Named>> index(const std::string& name) const;
  Result<std::string> find(const model::ImageRef& image) const;
  Result<std::string> blob(const std::string& name, const std::string& digest, std::uint64_t bytes_max) const;

  const io::Files& files_;
};

}  // namespace pawl::registry
