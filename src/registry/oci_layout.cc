#include "registry/oci_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "codec/json.h"
#include "registry/manifest.h"

namespace pawl::registry {
namespace {

using codec::Json;

std::filesystem::path folder_of(const std::string& name) { return name.starts_with("oci:") ? name.substr(4) : name; }

}  // namespace

std::filesystem::path OciLayout::blob_path(const std::string& name, const std::string& digest) {
  return folder_of(name) / "blobs" / "sha256" / digest.substr(7);
}

Result<std::string> OciLayout::blob(const std::string& name, const std::string& digest, std::uint64_t bytes_max) const {
  const auto path = blob_path(name, digest);
  PAWL_ASSIGN(std::string bytes, files_.read(path, bytes_max));
  if ("sha256:" + sha256_hex(bytes) != digest)
    return bad_input(fmt::format("{}: the bytes have another digest", path.string()), "the layout is damaged: copy the image again");
  return bytes;
}

Result<std::vector<OciLayout::Named>> OciLayout::index(const std::string& name) const {
  const auto path = folder_of(name) / "index.json";
  auto text = files_.read(path, 4u << 20);
  if (!text) return std::move(text).error().advise("an OCI layout is a folder with index.json; skopeo copy docker://IMAGE oci:FOLDER:TAG makes one");
  PAWL_ASSIGN(const Json json, codec::parse_json(*text, path.string()));
  if (!json.is_object() || !json.contains("manifests") || !json["manifests"].is_array()) return bad_input(path.string() + ": not the index of an OCI layout");
  std::vector<Named> all;
  for (const Json& entry : json["manifests"]) {
    if (!entry.is_object()) continue;
    const Json digest = entry.value("digest", Json()), annotations = entry.value("annotations", Json::object());
    if (!digest.is_string() || !is_digest(digest.get<std::string>())) return bad_input(path.string() + ": an entry without a valid digest");
    std::string tag;
    if (annotations.is_object() && annotations.contains("org.opencontainers.image.ref.name") && annotations["org.opencontainers.image.ref.name"].is_string()) {
      tag = annotations["org.opencontainers.image.ref.name"].get<std::string>();
    }
    all.push_back({tag, digest.get<std::string>()});
  }
  return all;
}

Result<std::string> OciLayout::find(const model::ImageRef& image) const {
  PAWL_ASSIGN(const auto all, index(image.name));
  for (const Named& named : all) {
    if (image.digest.empty() ? named.tag == image.tag : named.digest == image.digest) return named.digest;
  }
  return not_found(fmt::format("{} has no image {}", image.name, image.digest.empty() ? image.tag : image.digest));
}

Result<io::TagListing> OciLayout::tags(const std::string& name, std::stop_token) {
  PAWL_ASSIGN(const auto all, index(name));
  io::TagListing listing{name, {}, 0, "oci layout"};
  for (const Named& named : all) {
    if (!named.tag.empty()) listing.tags.push_back({named.tag, std::nullopt, named.digest});
  }
  return listing;
}

Result<std::string> OciLayout::digest(const model::ImageRef& image, std::stop_token) { return find(image); }

Result<io::ImageFacts> OciLayout::facts(const model::ImageRef& image, std::stop_token stop) {
  constexpr std::uint64_t kManifestMax = 4u << 20, kConfigMax = 16u << 20;
  io::ImageFacts facts;
  PAWL_ASSIGN(facts.digest, find(image));
  const std::string what = fmt::format("manifest of {}", image.text());
  PAWL_ASSIGN(const std::string text, blob(image.name, facts.digest, kManifestMax));
  PAWL_ASSIGN(const Manifest top, parse_manifest(text, what));
  facts.index = top.index;
  std::vector<IndexEntry> entries = top.entries;
  if (!top.index) entries = {{"", facts.digest}};
  for (const IndexEntry& entry : entries) {
    if (stop.stop_requested()) return cancelled();
    io::PlatformImage platform{.platform = entry.platform, .digest = entry.digest};
    Manifest own = top;
    if (top.index) {
      PAWL_ASSIGN(const std::string inner, blob(image.name, entry.digest, kManifestMax));
      PAWL_ASSIGN(own, parse_manifest(inner, what));
      if (own.index) return bad_input(what + ": an index within an index");
    }
    platform.config_digest = own.config_digest;
    platform.layer_digests = own.layer_digests;
    platform.layers = static_cast<std::int64_t>(own.layer_digests.size());
    platform.bytes = own.bytes;
    PAWL_ASSIGN(const std::string config, blob(image.name, own.config_digest, kConfigMax));
    PAWL_TRY(add_config(config, fmt::format("config of {}", image.text()), platform));
    facts.platforms.push_back(std::move(platform));
  }
  return facts;
}

Result<std::vector<std::string>> OciLayout::missing_blobs(const model::ImageRef& image, const io::ImageFacts& facts, std::stop_token) {
  std::set<std::string> missing;
  for (const io::PlatformImage& platform : facts.platforms) {
    if (!files_.exists(blob_path(image.name, platform.config_digest))) missing.insert(platform.config_digest);
    for (const std::string& digest : platform.layer_digests) {
      if (!files_.exists(blob_path(image.name, digest))) missing.insert(digest);
    }
  }
  return std::vector(missing.begin(), missing.end());
}

}  // namespace pawl::registry
