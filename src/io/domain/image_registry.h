#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "images/image_choice.h"
#include "model/image.h"

namespace pawl::io {

/// A whole listing of a repository, or of the versions of a package.
struct TagListing {
  std::string repository;  ///< as the registry knows it
  std::vector<images::ListedTag> tags;
  std::int64_t requests = 0;  ///< pages asked for
  std::string read_from;      ///< "registry", "mirror HOST", "oci layout", "package index", "cache (unchanged)"
};

/// One platform of an image.
struct PlatformImage {
  std::string platform;       ///< "linux/amd64", with a variant "linux/arm64/v8"; empty when a single manifest's config tells none
  std::string digest;         ///< of the platform's manifest
  std::string config_digest;  ///< of its config blob: equal when only the packaging changed
  std::int64_t layers = 0, bytes = 0;
  std::string created;  ///< ISO 8601 as the builder wrote it; empty when absent
  std::map<std::string, std::string> labels, environment;
  std::vector<std::string> history;        ///< commands that made the layers, oldest first
  std::vector<std::string> layer_digests;  ///< in order
};
BOOST_DESCRIBE_STRUCT(PlatformImage, (), (platform, digest, config_digest, layers, bytes, created, labels, environment, history, layer_digests))

/// What a registry says of one image without running it.
struct ImageFacts {
  std::string digest;                    ///< of the index or manifest that the tag names
  bool index = false;                    ///< several platforms
  std::vector<PlatformImage> platforms;  ///< attestations are left out
};
BOOST_DESCRIBE_STRUCT(ImageFacts, (), (digest, index, platforms))

/// Where images come from. Every answer is complete or an error: a listing that was cut, or a page that could not be read,
/// is never a shorter list. Errors: kNotFound for a repository or tag that is not there, kInvalid when a person must act
/// (no access), kTransient (exit 5) after the retries are used up.
class ImageRegistry {
 public:
  virtual ~ImageRegistry() = default;
  virtual Result<TagListing> tags(const std::string& name, std::stop_token stop) = 0;
  /// The digest of what a tag or digest names, by HEAD.
  virtual Result<std::string> digest(const model::ImageRef& image, std::stop_token stop) = 0;
  /// Manifest and configs.
  virtual Result<ImageFacts> facts(const model::ImageRef& image, std::stop_token stop) = 0;
  /// The digests of blobs of these platforms that cannot be pulled (yet). A digest can be visible before its layers are.
  virtual Result<std::vector<std::string>> missing_blobs(const model::ImageRef& image, const ImageFacts& facts, std::stop_token stop) = 0;
  /// Whether somebody without an account can pull it.
  virtual Result<bool> anonymous(const model::ImageRef& image, std::stop_token stop) = 0;
};

}  // namespace pawl::io
