#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace pawl::registry {

/// One package inside an image.
struct BundledPackage {
  std::string kind;  ///< "python", "debian", "node"
  std::string name, version;
  std::string read_from;  ///< "layer 3: usr/lib/python3/dist-packages/torch-2.9.1.dist-info/METADATA"
};
BOOST_DESCRIBE_STRUCT(BundledPackage, (), (kind, name, version, read_from))

struct LayerLimits {
  std::uint64_t bytes_max = std::uint64_t{64} << 30;  ///< of one layer, unpacked: a bomb ends here
  std::uint64_t entries_max = 5'000'000;              ///< of one layer
  std::uint64_t file_max = 64u << 20;                 ///< of one file that is looked into
};

/// What an image holds, read from the archives of its layers without running it and without writing anything. Layers are given
/// bottom first; a later one hides what it removes or replaces (whiteouts, OCI image-spec layer.md).
class LayerPackages {
 public:
  explicit LayerPackages(LayerLimits limits = {}) : limits_(limits) {}
  /// Reads a layer: tar, plain or packed with gzip or zstd. Errors: kInvalid for a broken archive or one over the limits (the image is hostile or
  /// damaged), kCancelled.
  Status add_layer(const std::filesystem::path& archive, std::stop_token stop);
  /// By kind and name.
  [[nodiscard]] std::vector<BundledPackage> packages() const;

 private:
  void remove_below(const std::string& folder);
  void take(const std::string& path, const std::string& text);

  LayerLimits limits_;
  int layer_ = 0;
  std::map<std::string, std::vector<BundledPackage>> by_file_;  ///< path in the image → what it tells
};

/// The packages of a `dist-info/METADATA` or `PKG-INFO` text, of `var/lib/dpkg/status`; empty when it is neither.
[[nodiscard]] std::vector<BundledPackage> read_python_metadata(const std::string& text);
[[nodiscard]] std::vector<BundledPackage> read_dpkg_status(const std::string& text);

}  // namespace pawl::registry
