#pragma once

#include <string>

#include "io/domain/image_registry.h"
#include "registry/web_session.h"

namespace pawl::registry {

/// A Python package index (PEP 503 and 691) seen as a registry, for engines that are pinned as packages: `pypi:NAME==VERSION`.
/// A version is a tag; its push time is that of its first file; yanked versions and those without any file are left out.
class PackageIndex final : public io::ImageRegistry {
 public:
  /// `base`: the simple index, e.g. what pip is configured to use. `session` must outlive it.
  PackageIndex(std::string base, WebSession& session);

  /// `name`: "pypi:NAME". Error: kNotFound when the index has no such package.
  Result<io::TagListing> tags(const std::string& name, std::stop_token stop) override;
  /// The digest of a version: over the sorted sha256 of its files, so that it changes when a file is added or replaced.
  Result<std::string> digest(const model::ImageRef& image, std::stop_token stop) override;
  /// No platforms: a package is no image.
  Result<io::ImageFacts> facts(const model::ImageRef& image, std::stop_token stop) override;
  Result<std::vector<std::string>> missing_blobs(const model::ImageRef&, const io::ImageFacts&, std::stop_token) override { return std::vector<std::string>(); }
  Result<bool> anonymous(const model::ImageRef&, std::stop_token) override { return true; }

  struct Version {
    std::string version, uploaded, digest;  ///< uploaded: ISO 8601, empty when the index does not tell
    std::string yanked;                     ///< why, "yanked" when no reason was given, empty when it was not
    std::int64_t files = 0;
  };
  /// Every version that the index lists, yanked ones included, oldest first.
  Result<std::vector<Version>> versions(const std::string& name, std::stop_token stop);

 private:
  std::string base_;
  WebSession& session_;
};

/// The version that a file of a package is of, from its name (PEP 427, PEP 625); empty when it is not to be told.
[[nodiscard]] std::string version_of_file(std::string_view file, std::string_view package);

/// The spelling under which an index keeps a package (PEP 503).
[[nodiscard]] std::string normal_package_name(std::string_view name);

}  // namespace pawl::registry
