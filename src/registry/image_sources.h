#pragma once

#include <memory>
#include <optional>
#include <string>

#include "registry/oci_layout.h"
#include "registry/oci_registry.h"
#include "registry/package_index.h"

namespace pawl::registry {

/// Reads the name of an image as recipes and commands write it: an image of a registry, `oci:FOLDER[:TAG]`, or
/// `pypi:NAME[==VERSION]`. Of the latter two the name keeps its prefix, and the version is the tag.
[[nodiscard]] Result<model::ImageRef> parse_image_name(const std::string& text);

/// How such a name is written: the counterpart of `parse_image_name`.
[[nodiscard]] std::string image_name_text(const model::ImageRef& image);

/// All kinds of sources behind one seam: the prefix of a name decides.
class ImageSources final : public io::ImageRegistry {
 public:
  /// `package_index`: address of the simple index, asked for when the first package is; it may fail. All must outlive it.
  ImageSources(const RegistryBook& book, WebSession& session, const io::Files& files, std::function<Result<std::string>()> package_index)
      : registry_(book, session), layout_(files), session_(session), package_index_(std::move(package_index)) {}

  Result<io::TagListing> tags(const std::string& name, std::stop_token stop) override;
  Result<std::string> digest(const model::ImageRef& image, std::stop_token stop) override;
  Result<io::ImageFacts> facts(const model::ImageRef& image, std::stop_token stop) override;
  Result<std::vector<std::string>> missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token stop) override;
  Result<bool> anonymous(const model::ImageRef& image, std::stop_token stop) override;

  /// The archive of one layer: the blob of a layout, or a download into `folder` (at most `bytes_max`).
  Result<std::filesystem::path> layer(const model::ImageRef& image, const std::string& digest, const std::filesystem::path& folder, std::uint64_t bytes_max,
                                      std::stop_token stop);

 private:
  Result<io::ImageRegistry*> source(const std::string& name);

  OciRegistry registry_;
  OciLayout layout_;
  WebSession& session_;
  std::function<Result<std::string>()> package_index_;
  std::unique_ptr<PackageIndex> packages_;
};

}  // namespace pawl::registry
