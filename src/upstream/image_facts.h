#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/files.h"

namespace pawl::upstream {

/// A package that lies in an image, and how that is known.
struct PackageFact {
  std::string name;  ///< normalised
  std::string version;
  std::string kind;   ///< "python" (dist-info), "debian" (dpkg status), "cuda" (version.json)
  std::string path;   ///< in the image
  std::string layer;  ///< digest of the layer, or the name of the folder
};
BOOST_DESCRIBE_STRUCT(PackageFact, (), (name, version, kind, path, layer))

/// What an image says about itself, read without running it. A registry client fills the first part from a manifest and its
/// config; `packages` comes from layers.
struct ImageFacts {
  std::string digest;    ///< of the platform's manifest; empty when not known
  std::string platform;  ///< "linux/amd64"
  std::string created;   ///< as the config says it; empty when it does not
  std::map<std::string, std::string> labels, environment;
  std::vector<PackageFact> packages;  ///< as the last layer leaves them, sorted by kind and name
  std::vector<std::string> notes;     ///< what could not be read
};
BOOST_DESCRIBE_STRUCT(ImageFacts, (), (digest, platform, created, labels, environment, packages, notes))

/// The commit that an image was built from, and which label says so: labels that hold a commit id, the standard one first.
/// Two labels with different commits: `agree` is false, and nothing may be assumed (upgrade-loop 5.2).
struct SourceCommit {
  std::string commit, label;
  bool agree = true;
};
[[nodiscard]] std::optional<SourceCommit> source_commit(const ImageFacts& facts);

/// Reads an OCI layout (a folder with index.json and blobs/): the manifest of `reference` (a tag or digest; empty: the only
/// one) for `platform`, its config, and the packages of its layers in order, with whiteouts obeyed. Blobs of configs and
/// manifests must have their digest; layers are streamed, never unpacked onto the disk.
[[nodiscard]] Result<ImageFacts> read_oci_layout(const io::Files& files, const std::filesystem::path& folder, const std::string& reference,
                                                 const std::string& platform);

/// Adds the packages of one layer archive (tar, also compressed), named `layer`. Call it from the lowest layer upwards.
/// Errors: no archive, cut short. Limits: 5,000,000 entries, 4 MiB of one file that is read.
Status add_layer(const std::filesystem::path& archive, const std::string& layer, ImageFacts& facts);

/// The same from a folder that holds the unpacked root of an image.
Status add_unpacked(const io::Files& files, const std::filesystem::path& root, ImageFacts& facts);

/// One line a package that differs: "torch 2.11.0 → 2.13.0 (dist-info in the layers)". Both sides must have packages.
[[nodiscard]] std::vector<std::string> identity_lines(const ImageFacts& before, const ImageFacts& after, const std::vector<std::string>& names);

}  // namespace pawl::upstream
